"""Queries over scalars that are read in parts: the same rows as without a limit."""

from pathlib import Path
from typing import Any

import pytest
from helpers.logs import scalars, write
from helpers.odd_runs import bits, write_odd_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._tables.sql import relations
from runfold.errors import FileChanged, NotEnoughMemory

LIMIT = 30_000
# With one possible result each. DuckDB works on several threads, so sums of floats, the choice
# between 0.0 and -0.0, and the choice between values at the same step differ from one run of a
# query to the next, with or without a limit.
QUERIES = [
    "select * from scalars",
    "select tag, sum(step), count(value), count(*) from scalars group by tag order by tag",
    "select run, max(step) from scalars where tag = 'loss' group by run order by run",
    "select a.run, a.step, count(*) from scalars a join scalars b using (run, tag, step) "
    "where a.tag = 'acc' group by all order by all",
    "select run, steps, points, status from runs",
    "select s.run, count(*) from scalars s join runs r using (run) group by all order by all",
    "select * from scalars where tag = 'nothing'",
    "with last as (select run, tag, max(step) as step from scalars group by all) "
    "select tag, median(step) from last group by tag order by tag",
]


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(0, 30),
    st.sampled_from(["session", "step", "keep"]),
    st.sampled_from(QUERIES),
    st.integers(1, 200),
)
def test_queries_are_equal(tmp_path: Path, seed: int, restarts: Any, query: str, rows: int) -> None:
    path = tmp_path / f"logs-{seed}"
    if not path.exists():
        write_odd_runs(path, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(relations, "_PART", rows)
        whole, parts = (
            bits(rf.open(path, restarts=restarts, limit_memory=limit).sql(query))
            for limit in (None, LIMIT)
        )
    assert parts == whole


def test_only_the_needed_tags_are_read_in_parts(tmp_path: Path) -> None:
    write(tmp_path, scalars("long", *((step, 0.5) for step in range(200))), scalars("a", (0, 1.0)))
    runs = rf.open(tmp_path, limit_memory=5000)
    assert runs.sql("select value from scalars where tag = 'a'")["value"].tolist() == [1.0]
    with pytest.raises(NotEnoughMemory, match=r"Tag 'long' in run '\.' needs 19\.2 kB"):
        runs.sql("select value from scalars")


def test_an_error_during_a_scan_is_raised(tmp_path: Path) -> None:
    path = write(tmp_path / "a", scalars("loss", *((step, 0.5) for step in range(50))))
    runs = rf.open(tmp_path, limit_memory=20_000)
    runs.load()
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(FileChanged):
        runs.sql("select sum(value) from scalars")
