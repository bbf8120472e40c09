"""A query cannot leave its tables, last longer or take more than it may; a wrong one says where."""

import os
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from sql_logs import open_logdir

import runfold as rf
from runfold.errors import BadQuery, QueryStopped, RunfoldError


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
def test_no_file_and_no_address_can_be_read(query: str, runs: rf.Runs, tmp_path: Path):
    secret = tmp_path / "secret.csv"
    secret.write_text("secret-content\n1\n")
    with pytest.raises(BadQuery) as raised:
        runs.sql(query.format(secret))
    assert "secret-content" not in str(raised.value)


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
def test_only_one_statement_that_reads_is_answered(statement: str, runs: rf.Runs, tmp_path: Path):
    with pytest.raises(BadQuery, match=r"only reads|One statement"):
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
def test_functions_that_act_or_tell_are_shut(query: str, runs: rf.Runs, tmp_path: Path):
    with pytest.raises(BadQuery):
        runs.sql(query.format(tmp_path / "written"))
    assert os.listdir(tmp_path) == ["logs"]


private_table = pa.table({"a": [1]})


def test_variables_of_the_program_are_not_tables(runs: rf.Runs):
    own = pa.table({"a": [1]})
    assert own == private_table
    for name in ("own", "private_table", "runs_sql", "os"):
        with pytest.raises(BadQuery, match=f"no table '{name}'"):
            runs.sql(f"select * from {name}")


@pytest.mark.parametrize(
    "query",
    [
        "with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t",
        "with recursive t(n) as (select 1 union all select n + 1 from t) select * from t",
        "select sum(a.range + b.range) from range(100000000) a, range(100000000) b",
        "select count(*) from scalars a, scalars b, range(100000000) c, range(100000000) d"
        " where a.value + b.value + c.range + d.range < 0",
    ],
)
def test_an_endless_query_ends_at_the_time_limit(query: str, runs: rf.Runs):
    before = threading.active_count()
    with pytest.raises(QueryStopped, match=r"stopped after 0\.2 s.*limit_seconds"):
        runs.sql(query, limit_seconds=0.2)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    "query",
    [
        "select list(a) from range(1000000000) t(a)",
        "select count(*) from (select a, random() r from range(1000000000) t(a) order by r)",
        "select a, count(*) from range(1000000000) t(a) group by a",
        "select * from range(1000000000)",
        "select repeat('x', 10000) from range(100000)",
    ],
)
def test_a_greedy_query_ends_at_the_memory_limit(
    query: str, runs: rf.Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryStopped, match="limit_memory"):
        runs.sql(query, limit_memory=50_000_000)
    assert os.listdir(tmp_path) == ["logs"]


def test_limits_leave_a_small_query_alone(runs: rf.Runs):
    found = runs.sql("select count(*) n from runs", limit_seconds=60, limit_memory=100_000_000)
    assert found["n"].tolist() == [3]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "select tga from scalars",
            "Line 1 of the query: There is no column 'tga' in the tables of the query."
            " Did you mean 'tag'?\n  select tga from scalars\n         ^^^",
        ),
        (
            "select 1\nfrom sclars",
            "Line 2 of the query: There is no table 'sclars'. Did you mean 'scalars'?\n"
            "  from sclars\n       ^^^^^^",
        ),
        (
            "select s.valu from scalars s",
            "Line 1 of the query: There is no column 'valu' in the tables of the query."
            " Did you mean 'value'?\n  select s.valu from scalars s\n         ^^^^^^",
        ),
        (
            "from zzz",
            "Line 1 of the query: There is no table 'zzz'. There are runs, scalars, hparams,"
            " text, images, histograms, problems.\n  from zzz\n       ^^^",
        ),
        (
            "select\t'\x1b[31m' frm scalars x y",
            'Line 1 of the query: syntax error at or near "scalars".\n'
            "  select'[31m' frm scalars x y\n                   ^^^^^^^",
        ),
        ("", "One statement is answered at a time, and this is none."),
        ("select 1; select 2", "One statement is answered at a time, and this is 2."),
        ("select ?", "Values were not provided for the following parameters: 1."),
        (
            "select 'a'::int",
            "Line 1 of the query: Could not convert string 'a' to INT32.\n"
            "  select 'a'::int\n            ^^^^^",
        ),
    ],
)
def test_a_wrong_query_says_what_and_where(query: str, message: str, runs: rf.Runs):
    with pytest.raises(RunfoldError) as raised:
        runs.sql(query)
    assert str(raised.value) == message
    assert isinstance(raised.value, BadQuery)


def test_arguments_of_a_wrong_kind_are_refused(runs: rf.Runs):
    with pytest.raises(TypeError, match="A query is a str, not int"):
        runs.sql(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="limit_memory is a number of bytes"):
        runs.sql("select 1", limit_memory=0)
