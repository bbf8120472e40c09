"""A logdir with an index answers exactly like one without."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from helpers.file_times import settle
from helpers.odd_runs import bits, write_odd_runs
from helpers.random_folder import Folder
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._index import indexed_logdir
from runfold._index.indexed_logdir import IndexedLogdir
from runfold._logdir import tree_state
from runfold._system import IS_POSIX, file_system_of
from runfold._tables.by_run.listing import list_run
from runfold.errors import RunfoldError

POLICIES = ["session", "step", "keep"]
BATCHES = 25

odd = settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    # An example takes a second, so shrinking would take minutes.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of indexes. Every logdir has one, and it is written again after every change."""
    if file_system_of(str(tmp_path)) not in tree_state._RELIABLE:
        pytest.skip("the temporary folder is on a file system whose times are not relied on")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(indexed_logdir, "MOST_UNINDEXED_RUNS", 0)
    monkeypatch.setattr(indexed_logdir, "_CHANGED_PART", 0)
    monkeypatch.setattr(indexed_logdir, "_PAUSE", 0.0)
    return tmp_path / "cache" / "runfold" / "index"


def open_indexed(path: Path, **options: Any) -> rf.Runs:
    return rf.open(path, progress=False, index=True, **options)


def open_plain(path: Path, **options: Any) -> rf.Runs:
    return rf.open(path, progress=False, index=False, **options)


def reads_nothing(runs: rf.Runs) -> bool:
    """Return whether no run's points have been read."""
    logdir = runs._logdir
    return isinstance(logdir, IndexedLogdir) and not logdir._list_loaded()


def attempt(call: Any) -> Any:
    try:
        return call()
    except RunfoldError as error:
        return type(error).__name__, str(error)


CONDITIONS = [
    "last['loss'] < 5",
    "min['loss'] < 2 or max['loss'] > 8",
    "mean['loss'] > 1 and points > 2",
    "best_step['loss'] >= 1",
    "auc['loss'] > 0",
    "has('loss') and steps > 1",
    "has('picture')",
    "hparam['lr'] == 0.1",
    "lr < 0.1",
    "first['acc'] != 1",
    "status == 'finished' or failed",
    "start > 0 and duration >= 0",
    "nothing > 0",
]
TAGS = ["loss", "acc", "picture", "strange", "nothing", "*o*"]


def tables(runs: rf.Runs) -> dict[str, Any]:
    """Return everything that does not need points."""
    every = dict.fromkeys(["last", "first", "min", "max", "mean", "auc"], True)
    return {
        "table": bits(runs.table()),
        "statistics": bits(runs.table(**every, best=True, better="lower")),
        "highest": bits(runs.table(best=True, better="higher", text=False, images=False)),
        "columns": bits(runs.table(columns=["run", "points", "l*"], sort="steps", reverse=True)),
        "where": {text: attempt(lambda text=text: list(runs.where(text))) for text in CONDITIONS},
        "failed": list(runs.failed()),
        "lacking": {tag: attempt(lambda tag=tag: list(runs.lacking(tag))) for tag in TAGS},
        "shorter": list(runs.shorter(3)),
        "newest": list(runs.newest(2)),
        "duplicates": list(runs.duplicates()),
        "chosen": [list(runs.newest(3).where("points > 0")), bits(runs.newest(3).table())],
        "some": bits(runs.table(runs=list(runs)[::-2])) if len(runs) else None,
        "problems": bits(runs.problems()),
        "tags": runs.tags,
        "sql": [
            bits(runs.sql("select * from runs order by run")),
            bits(runs.sql("select * from hparams order by run, hparam")),
        ],
    }


def contents(runs: rf.Runs) -> dict[str, Any]:
    """Return everything that needs points, and what is shown of single runs."""
    return {
        "at": bits(runs.table(at=[1, 3])),
        "where at": attempt(lambda: list(runs.where("at['loss', 1] > 0"))),
        "lines": [repr(list_run(log)) for log in runs._logs(None)],
        "repr": repr(runs),
        "copies": list(runs.duplicates("content")),
        "scalars": bits(runs.scalars()),
        "hparams": bits(runs.hparams()),
        "hidden": runs.hidden,
    }


def _compare(expected: dict[str, Any], found: dict[str, Any]) -> None:
    for name, value in expected.items():
        assert found[name] == value, name


def same(indexed: rf.Runs, plain: rf.Runs) -> None:
    expected, found = tables(plain), tables(indexed)
    _compare(expected, found)
    expected, found = contents(plain), contents(indexed)
    _compare(expected, found)


def same_tables(indexed: rf.Runs, plain: rf.Runs) -> None:
    expected, found = tables(plain), tables(indexed)
    _compare(expected, found)


@odd
@given(st.integers(0, 400), st.sampled_from(POLICIES))
def test_odd_runs(tmp_path: Path, seed: int, restarts: str) -> None:
    path = tmp_path / f"odd-{seed}"
    if not path.exists():
        write_odd_runs(path, seed)
        settle(path)
    shutil.rmtree(tmp_path / "cache", ignore_errors=True)
    plain = open_plain(path, restarts=restarts)
    for number in range(3):
        indexed = open_indexed(path, restarts=restarts)
        same_tables(indexed, plain)
        assert number == 0 or reads_nothing(indexed)
    same(open_indexed(path, restarts=restarts), plain)


@pytest.mark.skipif(not IS_POSIX, reason="needs links and pipes")
@pytest.mark.parametrize("seed", range(6))
def test_random_changes(tmp_path: Path, seed: int) -> None:
    top = tmp_path / "logs"
    folder = Folder(top, seed)
    held = open_indexed(top)
    history = []
    for _ in range(BATCHES):
        history += [folder.change() for _ in range(folder.random.randrange(1, 4))]
        if folder.random.random() < 0.7:
            settle(top)
            history.append("settled")
        plain = open_plain(top)
        for _ in range(folder.random.randrange(1, 3)):
            same_tables(open_indexed(top), plain)
        same(open_indexed(top), plain)
        held.refresh()
        same_tables(held, plain)
        if folder.random.random() < 0.3:
            held = open_indexed(top)
