"""Time and memory limits of queries, and error messages that show the location."""

import os
import threading
from pathlib import Path

import pandas as pd
import pytest
from helpers.logs import scalars, write
from helpers.sql_logs import open_logdir

import runfold as rf
from runfold._tables.sql.pushdown import Parameters
from runfold.errors import BadLog, BadQuery, QueryStopped, RunfoldError


@pytest.fixture
def runs(tmp_path: Path) -> rf.Runs:
    return open_logdir(tmp_path / "logs")


@pytest.mark.parametrize(
    "query",
    [
        "with recursive t(n) as (select 1 union all select n + 1 from t) select max(n) from t",
        "with recursive t(n) as (select 1 union all select n + 1 from t) select * from t",
        "select sum(a.range + b.range) from range(100000000) a, range(100000000) b",
        "select lpad('x', 1000000000, 'y')",
        "select count(*) from scalars a, scalars b, range(100000000) c, range(100000000) d"
        " where a.value + b.value + c.range + d.range < 0",
    ],
)
def test_endless_query_is_stopped_at_the_time_limit(query: str, runs: rf.Runs):
    before = threading.active_count()
    with pytest.raises(QueryStopped, match=r"exceeded its time limit of 0\.2 s.*limit_seconds"):
        runs.sql(query, limit_seconds=0.2)
    assert threading.active_count() == before


@pytest.mark.fault(65)
@pytest.mark.parametrize(
    "query",
    [
        "select list(a) from range(1000000000) t(a)",
        "select count(*) from (select a, random() r from range(1000000000) t(a) order by r)",
        "select a, count(*) from range(1000000000) t(a) group by a",
        "select * from range(1000000000)",
        "select repeat('x', 10000) from range(100000)",
        "select list_sum(range(1, 500000000))",
        "select length(repeat('x', range + 1000000000)) from range(3)",
    ],
)
def test_large_query_is_stopped_at_the_memory_limit(
    query: str, runs: rf.Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(QueryStopped, match="limit_memory"):
        runs.sql(query, limit_memory=50_000_000)
    assert os.listdir(tmp_path) == ["logs"]


@pytest.mark.parametrize(
    ("query", "parameters"),
    [
        ("select * from scalars where tag = ? and step < ? order by value", ["step", 10]),
        (
            "select * from images join runs using (run) where tag = $tag order by run",
            {"tag": "picture"},
        ),
        ("from histograms", None),
        ("from scalars where run = 'nobody'", None),
        ("pivot (select run, tag, value from scalars) on tag using max(value) order by run", None),
        ("select 1 as a, 2 as a", None),
    ],
)
def test_limits_do_not_change_results(query: str, parameters: Parameters, runs: rf.Runs):
    limited = runs.sql(query, parameters, limit_seconds=60, limit_memory=100_000_000)
    pd.testing.assert_frame_equal(limited, runs.sql(query, parameters))


def test_limited_query_reads_only_what_it_needs(runs: rf.Runs):
    runs.sql("select max(value) from scalars where run = 'seed-1'", limit_seconds=60)
    assert [name for name in runs if runs[name]._unread.is_loaded] == ["seed-1"]


def test_bad_log_is_reported_with_limits_too(tmp_path: Path):
    file = write(tmp_path / "a", scalars("loss", (0, 1.0), (1, 2.0)))
    file.write_bytes(file.read_bytes()[:-3] + b"xyz")
    with pytest.raises(BadLog):
        rf.open(tmp_path, strict=True).sql("select max(value) from scalars", limit_seconds=60)


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
            "Line 1 of the query: There is no table 'zzz'. Available: runs, scalars, hparams,"
            " text, images, histograms, problems.\n  from zzz\n       ^^^",
        ),
        (
            "select\t'\x1b[31m' frm scalars x y",
            'Line 1 of the query: syntax error at or near "scalars".\n'
            "  select'[31m' frm scalars x y\n                   ^^^^^^^",
        ),
        ("", "Expected one statement, got none."),
        ("select 1; select 2", "Expected one statement, got 2."),
        ("select ?", "Values were not provided for the following parameters: 1."),
        (
            "select 'a'::int",
            "Line 1 of the query: Could not convert string 'a' to INT32.\n"
            "  select 'a'::int\n            ^^^^^",
        ),
    ],
)
@pytest.mark.parametrize("limit", [None, 60.0])
def test_invalid_query_is_explained_with_its_location(
    query: str, message: str, limit: float | None, runs: rf.Runs
):
    with pytest.raises(RunfoldError) as raised:
        runs.sql(query, limit_seconds=limit)
    assert str(raised.value) == message
    assert isinstance(raised.value, BadQuery)


def test_invalid_arguments_are_rejected(runs: rf.Runs):
    with pytest.raises(TypeError, match=r"Expected a query \(str\), got int"):
        runs.sql(3)
    with pytest.raises(TypeError, match="Expected a list of parameters, or a dict by name"):
        runs.sql("select ?", "seed-0")
    with pytest.raises(BadQuery, match="The parameters cannot be sent to another process"):
        runs.sql("select ?", [lambda: 1], limit_seconds=60)
    with pytest.raises(ValueError, match="limit_memory must be positive, got 0"):
        runs.sql("select 1", limit_memory=0)
