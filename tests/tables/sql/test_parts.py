"""The points of a large log reach the database in parts, without loss."""

from pathlib import Path

import pytest
from helpers.logs import scalars, write

import runfold as rf
from runfold._tables.sql import relations

QUERIES = (
    "select * from scalars",
    "select run, tag, count(*) n, sum(value) total from scalars group by all order by all",
    # The table is scanned twice.
    "select a.run, b.run as other, a.value - b.value as d from scalars a join scalars b"
    " using (tag, step) where a.run < b.run order by all",
    "select tag, max(wall_time) as t from scalars where run like '%-2' group by tag order by tag",
    "select count(*) as n from scalars where tag = 'none'",
)


@pytest.fixture
def runs(tmp_path: Path) -> rf.Runs:
    for number in range(4):
        points = [(step, number + step / 8) for step in range(5)]
        # Each run has a name and a tag that occur in no other part of the table.
        folder = tmp_path / f"seed-{number}"
        write(folder, scalars("loss", *points), scalars(f"only-{number}", *points[:2]))
    return rf.open(tmp_path, progress=False)


@pytest.mark.parametrize("limit_seconds", [None, 60])
@pytest.mark.parametrize("query", QUERIES)
def test_table_in_parts_equals_the_whole_table(
    query: str, limit_seconds: float | None, runs: rf.Runs, monkeypatch: pytest.MonkeyPatch
):
    whole = runs.sql(query)
    assert len(whole)
    for size in (1, 7, 12):
        monkeypatch.setattr(relations, "_PART", size)
        in_parts = runs.sql(query, limit_seconds=limit_seconds)
        assert in_parts.to_dict("list") == whole.to_dict("list")
