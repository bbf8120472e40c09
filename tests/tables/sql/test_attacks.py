"""A query can access only its tables: no files, network, settings or variables."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
from helpers.sql_logs import open_logdir

import runfold as rf
from runfold.errors import BadQuery


@pytest.fixture
def runs(tmp_path: Path) -> rf.Runs:
    return open_logdir(tmp_path / "logs")


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('{}')",
        "select * from '{}'",
        "from '{}'",
        "select * from read_text('{}')",
        "select * from read_blob('{}')",
        "select * from read_json('{}')",
        "select * from read_parquet('{}')",
        "select * from sniff_csv('{}')",
        "select * from parquet_metadata('{}')",
        "select * from glob('{}*')",
        "select (select content from read_text('{}'))",
        "with x as (from read_text('{}')) from x",
        "select * from query('from read_text(''{}'')')",
        "select * from query_table('{}')",
        "select * from json_execute_serialized_sql(json_serialize_sql('from read_text(''{}'')'))",
        "select * from read_csv('https://example.org/a.csv')",
        "from 'https://example.org/a.parquet'",
        "from 's3://bucket/a.parquet'",
    ],
)
def test_files_and_urls_cannot_be_read(query: str, runs: rf.Runs, tmp_path: Path):
    secret = tmp_path / "secret.csv"
    secret.write_text("secret-content\n1\n")
    with pytest.raises(BadQuery) as raised:
        runs.sql(query.format(secret))
    assert "secret-content" not in str(raised.value)


def test_table_functions_cannot_read_files(runs: rf.Runs, tmp_path: Path):
    secret = tmp_path / "secret.csv"
    secret.write_text("secret-content\n1\n")
    functions = "select distinct function_name as name from duckdb_functions()"
    names = list(runs.sql(f"{functions} where function_type like 'table%'")["name"])
    assert "read_csv" in names
    for name in names:
        for arguments in (f"'{secret}'", f"['{secret}']"):
            try:
                shown = runs.sql(f"select columns(*)::varchar from {name}({arguments})").to_csv()
            except BadQuery as error:
                shown = str(error)
            assert "secret-content" not in shown, f"{name}({arguments})"


def test_settings_and_messages_reveal_no_path(runs: rf.Runs):
    functions = """select distinct function_name as name from duckdb_functions()
                   where function_type like 'table%'"""
    queries = [f"select columns(*)::varchar from {name}()" for name in runs.sql(functions)["name"]]
    assert "select columns(*)::varchar from duckdb_settings()" in queries
    paths = "select name from duckdb_settings() where regexp_matches(name, 'path|director|file')"
    settings = runs.sql(paths)["name"]
    queries += [f"select current_setting('{name}')" for name in settings]
    shown = []
    for query in queries:
        try:
            shown.append(runs.sql(query).to_csv())
        except BadQuery as error:
            shown.append(str(error))
    assert len(shown) > 80
    for path in (os.getcwd(), os.path.expanduser("~")):
        assert not [text for text in shown if path in text]


@pytest.mark.parametrize(
    "statement",
    [
        "copy (select 1) to '{}'",
        "attach '{}' as other",
        "export database '{}'",
        "install httpfs",
        "load httpfs",
        "load '{}'",
        "set enable_external_access = true",
        "set lock_configuration = false",
        "reset memory_limit",
        "pragma memory_limit = '90GB'",
        "pragma version",
        "call enable_logging(storage := 'file', storage_path := '{}')",
        "create table t (a int)",
        "create secret (type s3)",
        "insert into scalars values (1)",
        "update scalars set value = 0",
        "delete from scalars",
        "drop view scalars",
        "explain analyze copy (select 1) to '{}'",
        "prepare p as select 1",
        "checkpoint",
        "begin",
        "use memory",
        "select 1; copy (select 1) to '{}'",
    ],
)
def test_only_a_single_statement_that_reads_is_allowed(
    statement: str, runs: rf.Runs, tmp_path: Path
):
    with pytest.raises(BadQuery, match=r"can only read|Expected one statement"):
        runs.sql(statement.format(tmp_path / "written"))
    assert os.listdir(tmp_path) == ["logs"]


@pytest.mark.parametrize(
    "query",
    [
        "select * from enable_logging(storage := 'file', storage_path := '{}')",
        "select * from enable_profiling(save_location := '{}')",
        "select * from create_external_resource('{}')",
        "select getenv('HOME')",
        "select * from arrow_scan(1, 2, 3)",
        "select * from pandas_scan(1)",
        "select * from pandas_scan(1::pointer)",
        "select * from duckdb_secrets()",
        "select * from duckdb_extensions()",
    ],
)
def test_functions_with_side_effects_are_disabled(query: str, runs: rf.Runs, tmp_path: Path):
    with pytest.raises(BadQuery):
        runs.sql(query.format(tmp_path / "written"))
    assert os.listdir(tmp_path) == ["logs"]


private_table = pa.table({"a": [1]})


def test_python_variables_are_not_tables(runs: rf.Runs):
    own = pa.table({"a": [1]})
    assert own == private_table
    for name in ("own", "private_table", "runs_sql", "os"):
        with pytest.raises(BadQuery, match=f"no table '{name}'"):
            runs.sql(f"select * from {name}")
