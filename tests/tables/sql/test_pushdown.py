"""A query reads and decodes only what it needs, and returns the same rows as if it had read all."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from helpers.logs import scalars, write
from helpers.sql_logs import PICTURE, open_logdir

import runfold as rf
from runfold._tables.sql.database import run_query
from runfold._tables.sql.engine import EMPTY_TABLES
from runfold._tables.sql.pushdown import Need, Parameters, find_needs, make_plans
from runfold._tables.sql.relations import Source
from runfold._tables.sql.schema import TABLES
from runfold.errors import FileChanged

ODD = "odd 'run'\n😀"


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"disabled_optimizers": "statistics_propagation"}) as connection:
        connection.execute(EMPTY_TABLES)
        yield connection


def test_only_named_columns_of_named_tables_are_needed(connection: duckdb.DuckDBPyConnection):
    query = "select width from images i join scalars s using (run) where s.value > 3"
    needs = find_needs(*make_plans(connection, query))
    assert {name: need.columns for name, need in needs.items()} == {
        "images": {"run", "width"},
        "scalars": {"run", "value"},
    }


@pytest.mark.parametrize(
    ("condition", "parameters", "kept"),
    [
        ("tag = 'a/b'", None, ["a/b"]),
        ("tag in ('a/b', 'x')", None, ["a/b", "x"]),
        ("tag = 'a/b' or tag = 'x'", None, ["a/b", "x"]),
        ("tag like 'a/%'", None, ["a/b", "a/c"]),
        ("tag like '%b'", None, ["a/b", "b"]),
        ("tag like '%/%'", None, ["a/b", "a/c"]),
        ("tag like '%_b'", None, ["a/b"]),
        ("starts_with(tag, 'a/') and tag <> 'a/b'", None, ["a/b", "a/c"]),
        ("tag >= 'b' and tag < 'c'", None, ["b"]),
        ("tag = ? and step > ?", ["x", 3], ["x"]),
        ("tag in ($one, $two)", {"one": "b", "two": "x"}, ["b", "x"]),
        ("tag = 'x' or step = 1", None, ["a/b", "a/c", "b", "x"]),
        ("not (tag = 'x')", None, ["a/b", "a/c", "b", "x"]),
        ("lower(tag) = 'x'", None, ["a/b", "a/c", "b", "x"]),
        ("tag ilike 'X'", None, ["a/b", "a/c", "b", "x"]),
    ],
)
def test_filters_restrict_tags(
    connection: duckdb.DuckDBPyConnection, condition: str, parameters: Parameters, kept: list[str]
):
    query = f"select count(*) from scalars where {condition}"
    need = find_needs(*make_plans(connection, query), parameters)["scalars"]
    assert [tag for tag in ("a/b", "a/c", "b", "x") if need.keeps("tag", tag)] == kept


def test_table_named_twice_is_read_for_both_scans(connection: duckdb.DuckDBPyConnection):
    query = """
        select a.value - b.value from scalars a join scalars b using (run, step)
        where a.tag = 'x' and b.tag = 'y'
    """
    need = find_needs(*make_plans(connection, query))["scalars"]
    assert [tag for tag in "xyz" if need.keeps("tag", tag)] == ["x", "y"]


@pytest.mark.parametrize("query", ["selec", "summarize scalars", "pivot scalars on tag"])
def test_query_without_a_plan_restricts_nothing(connection: duckdb.DuckDBPyConnection, query: str):
    need = find_needs(*make_plans(connection, query)).get("scalars", Need())
    assert need.keeps("tag", "anything")
    assert all(map(need.has, TABLES["scalars"]))


@pytest.mark.parametrize(
    ("query", "read"),
    [
        ("select max(value) from scalars where run = 'seed-1'", ["seed-1"]),
        ("select max(value) from scalars where run in ('seed-0', 'no')", ["seed-0"]),
        ("select 1 from runs join scalars using (run) where runs.run = 'seed-1'", ["seed-1"]),
        ("with s as (from scalars) select tag from s where run = 'seed-0'", ["seed-0"]),
        ("select run from scalars where tag = 'x'", [ODD, "seed-0", "seed-1"]),
        ("select 1", []),
        ("describe scalars", []),
    ],
)
def test_other_runs_are_not_read(query: str, read: list[str], tmp_path: Path):
    runs = open_logdir(tmp_path)
    runs.sql(query)
    assert sorted(name for name in runs if runs[name]._unread.is_loaded) == read


def test_images_are_read_only_if_needed(tmp_path: Path):
    runs = open_logdir(tmp_path).load()
    runs.sql("select sum(width) from images")
    for name in ("seed-0", "seed-1"):
        file = next((tmp_path / name).iterdir())
        damaged = file.read_bytes().replace(PICTURE, b"?" * len(PICTURE))
        file.write_bytes(damaged)
    query = "select {} from images where run = 'seed-0'"
    assert runs.sql(query.format("width, height")).to_numpy().tolist() == [[4, 2]]
    with pytest.raises(FileChanged):
        runs.sql(query.format("data"))


QUERIES = [
    "select run, tag, count(*), min(step), max(value) from scalars group by all",
    "select * from scalars where tag like '%loss' and run <> 'seed-0'",
    "select * from scalars where tag in ('train/loss', 'step') or run = 'seed-1'",
    "select * from scalars where (tag = 'step' and run like 'odd%') or (tag = 'val/loss')",
    "select a.run, a.value, b.value from scalars a left join scalars b on a.run = b.run"
    " and a.step = b.step and b.tag = 'val/loss' where a.tag = 'train/loss'",
    "select * from scalars where run not in (select run from scalars where tag = 'val/loss')",
    "select run, (select count(*) from scalars t where t.run = s.run and t.tag = 'step') n"
    " from scalars s where tag like '%s%'",
    "select tag from scalars where run = 'seed-0' except select tag from scalars where step > 0",
    "with a as (from scalars where tag = 'step'), b as (from scalars where run = 'seed-0')"
    " select * from a union all select * from b where tag = 'val/loss'",
    "select distinct on (run) * from scalars where tag = 'train/loss' order by run, step desc",
    "select *, row_number() over (partition by run order by step) from scalars where run > 'p'",
    "select run, max(value) from scalars group by run having max(tag) = 'val/loss'",
    "select * from scalars where tag = 'x' and tag = 'y'",
    "with recursive t(n, r) as (select 0, 'seed-0' union all select n + 1, 'seed-1' from t where"
    " n < 1) select t.n, s.* from t join scalars s on s.run = t.r where s.tag = 'val/loss'",
    "select * from scalars where run = 'seed-0' or exists (select 1 from scalars where tag = 'no')",
    "select * from scalars s full join (from scalars where tag = 'step') o using (run, tag)",
    "select * from scalars where tag = any(['step', 'val/loss'])",
    "select * from scalars where tag between 'train' and 'trainz' and run like '%_d-_'",
    "select * from scalars where case when tag = 'step' then run > 'a' else run = 'seed-0' end",
    "select * from scalars order by value desc, step limit 2",
    "select run, step from scalars where value = 'nan'::double",
    "select run, step from scalars where tag = 'step' and value < 'inf'::double",
    "select run, step, (bitstring '101')::varchar from scalars",
]


@pytest.mark.parametrize("query", QUERIES)
def test_rows_equal_those_of_a_database_with_all_data(query: str, tmp_path: Path):
    runs = open_logdir(tmp_path)
    source = Source(list(runs), runs._logs, runs._logdir.list_problems)
    found = map(tuple, map(dict.values, run_query(source, query).to_pylist()))
    with duckdb.connect() as whole:
        whole.register("everything", _to_arrow(runs.scalars()))
        whole.execute("create table scalars as from everything")
        whole.execute(query)
        expected = whole.fetchall()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def _to_arrow(table: pd.DataFrame) -> pa.Table:
    """Return the table as Arrow, because DuckDB treats NaN in a DataFrame as missing."""
    columns = {name: column.astype(object).tolist() for name, column in table.items()}
    return pa.table({name: pa.array(column) for name, column in columns.items()})


def test_names_are_compared_as_in_duckdb(tmp_path: Path):
    names = ["é", "e\u0301", "e", "ee", "😀", "a\nb", "A", "", "*", "[a]", "a" * 60]
    write(tmp_path / "r", *(scalars(name, (0, 1.0)) for name in names))
    runs = rf.open(tmp_path, progress=False)
    # The last pattern would block with a regular expression that backtracks.
    for pattern in ("_", "__", "e%", "a_b", "%", "*", "?", "[a]", "[%", "%a" * 20 + "b"):
        got = runs.sql("select tag from scalars where tag like ?", [pattern])["tag"].tolist()
        query = "select t from (select unnest(?) t) where t like ?"
        assert got == [row[0] for row in duckdb.execute(query, [names, pattern]).fetchall()]


def test_columns_match_the_schema(tmp_path: Path):
    runs = rf.open(tmp_path, progress=False)
    for table, columns in TABLES.items():
        found = runs.sql(f"describe {table}")
        assert dict(zip(found["column_name"], found["column_type"], strict=True)) == columns
