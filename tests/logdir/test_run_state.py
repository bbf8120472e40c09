"""Runs that continue from a saved state instead of reading their files."""

import pickle
from pathlib import Path

import pytest
from helpers.odd_runs import bits, write_odd_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._core.encoder import EventBuffer
from runfold._logdir.loader import Logdir
from runfold._logdir.run_state import RunState, restore_state, save_state
from runfold.errors import FileChanged

POLICIES = ["session", "step", "keep"]
LIMIT = 1 << 20

odd = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def save(path: Path, limit: int | None, restarts: str = "session") -> bytes:
    """Read a logdir and return the pickled states of its folders."""
    logdir = Logdir(path, restarts=restarts, limit_memory=limit)
    logdir.load()
    return pickle.dumps({name: save_state(log) for name, log in logdir._folders.items()})


def reopen(path: Path, saved: bytes, restarts: str = "session") -> rf.Runs:
    """Open a logdir and restore the states of its folders."""
    logdir = Logdir(path, restarts=restarts, limit_memory=LIMIT)
    states: dict[str, RunState] = pickle.loads(saved)
    for name, log in logdir._folders.items():
        if name in states:
            restore_state(log, states[name])
    return rf.Runs(logdir)


@odd
@given(st.integers(0, 400), st.sampled_from(POLICIES), st.sampled_from([None, LIMIT]))
def test_everything_is_equal_after_restoring(
    tmp_path: Path, seed: int, restarts: str, limit: int | None
) -> None:
    path = tmp_path / f"logs-{seed}"
    if not path.exists():
        write_odd_runs(path, seed)
    whole = rf.open(path, restarts=restarts)
    restored = reopen(path, save(path, limit, restarts), restarts)
    assert restored.tags == whole.tags
    assert restored.hidden == whole.hidden
    assert bits(restored.problems()) == bits(whole.problems())
    assert bits(restored.table()) == bits(whole.table())
    assert bits(restored.scalars()) == bits(whole.scalars())
    assert not restored.refresh()


def write_scalars(file: Path, tag: str, steps: range) -> None:
    buffer = EventBuffer()
    for step in steps:
        buffer.scalar(tag, step / 8, step, 1e9 + step)
    with file.open("ab") as stream:
        stream.write(bytes(buffer.getvalue()))


def test_restored_run_continues_where_the_state_ends(tmp_path: Path) -> None:
    file = tmp_path / "run" / "events.out.tfevents.1.host"
    file.parent.mkdir()
    write_scalars(file, "loss", range(5))
    saved = save(tmp_path, None)
    write_scalars(file, "loss", range(5, 8))
    write_scalars(file, "acc", range(2))
    runs = reopen(tmp_path, saved)
    # Nothing was read when it was opened.
    assert runs["run"]["loss"].steps.tolist() == [0, 1, 2, 3, 4]
    assert runs.refresh().points == 5
    assert runs["run"]["loss"].steps.tolist() == list(range(8))
    assert runs["run"]["acc"].values.tolist() == [0.0, 0.125]


def test_restored_run_notices_a_replaced_file(tmp_path: Path) -> None:
    file = tmp_path / "run" / "events.out.tfevents.1.host"
    file.parent.mkdir()
    write_scalars(file, "loss", range(5))
    saved = save(tmp_path, None)
    file.unlink()
    write_scalars(file, "loss", range(100, 109))
    runs = reopen(tmp_path, saved)
    with pytest.raises(FileChanged):
        _ = runs["run"]["loss"]
    assert runs.refresh().reread == [str(file)]
    assert runs["run"]["loss"].steps.tolist() == list(range(100, 109))


def test_file_that_the_state_does_not_include_is_read(tmp_path: Path) -> None:
    file = tmp_path / "run" / "events.out.tfevents.1.host"
    file.parent.mkdir()
    write_scalars(file, "loss", range(5))
    saved = save(tmp_path, None)
    write_scalars(file.with_name("events.out.tfevents.2.host"), "loss", range(5, 7))
    runs = reopen(tmp_path, saved)
    runs.refresh()
    assert runs["run"]["loss"].steps.tolist() == list(range(7))


def test_restoring_needs_a_run_that_decodes_on_demand(tmp_path: Path) -> None:
    file = tmp_path / "run" / "events.out.tfevents.1.host"
    file.parent.mkdir()
    write_scalars(file, "loss", range(5))
    logdir = Logdir(tmp_path)
    state = save_state(logdir.logs["run"])
    with pytest.raises(ValueError, match="need a source"):
        restore_state(Logdir(tmp_path).logs["run"], state)
    limited = Logdir(tmp_path, limit_memory=LIMIT)
    limited.load()
    with pytest.raises(ValueError, match="already been read"):
        restore_state(limited.logs["run"], state)
