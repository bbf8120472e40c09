"""The page's first screen is the same with an index."""

from pathlib import Path
from typing import Any

import pytest
from helpers.file_times import settle
from helpers.logs import scalars, write
from helpers.odd_runs import write_odd_runs

from runfold._index import indexed_logdir
from runfold._index.indexed_logdir import IndexedLogdir
from runfold._serve.api import (
    marks,
    problem_list,
    run_rows,
    server_status,
    tag_list,
)
from runfold._serve.run_source import Source


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(indexed_logdir, "MOST_UNINDEXED_RUNS", 0)


def answers(source: Source) -> dict[str, Any]:
    status = dict(server_status.describe_server(source))
    return {
        "table": run_rows.make_table(source, run_rows.TableRequest()),
        "all": run_rows.make_table(
            source, run_rows.TableRequest(stat=("last", "best", "min", "max", "mean"))
        ),
        "tags": tag_list.list_tags(source),
        "status": status,
        "marks": marks.list_marks(source),
        "problems": problem_list.list_problems(source),
    }


@pytest.mark.parametrize("seed", range(4))
def test_answers_are_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    top = tmp_path / "logs"
    write_odd_runs(top, seed)
    for number in range(5):
        write(top / f"plain-{number}", scalars("loss", (0, 0.5), (number, 0.25)))
    settle(top)
    monkeypatch.setenv("RUNFOLD_INDEX", "0")
    expected = answers(Source(top))
    monkeypatch.setenv("RUNFOLD_INDEX", "1")
    for _ in range(3):
        source = Source(top)
        assert answers(source) == expected
    logdir = source.runs()._logdir
    assert isinstance(logdir, IndexedLogdir)
    assert not any(log.name.startswith("plain") for log in logdir._list_loaded())
