"""Runs shared between threads, processes and callers that keep the arrays."""

import copy
import pickle
import sys
import threading

import numpy as np
import pytest
from helpers.logs import scalars, write

import runfold as rf


@pytest.fixture
def hurried():
    """Threads that switch as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_that_read_at_once_get_the_same_complete_result(tmp_path, hurried):
    for number in range(20):
        write(tmp_path / f"seed-{number}", scalars("loss", *((step, 0.5) for step in range(50))))
    for _ in range(10):
        runs = rf.open(tmp_path)
        results: list[int] = []
        together = threading.Barrier(4)

        def read(runs=runs, results=results, together=together):
            together.wait()
            results.append(len(runs.scalars()))
            results.append(len(runs["seed-7"]["loss"]))

        threads = [threading.Thread(target=read) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(results) == [50] * 4 + [1000] * 4


def test_threads_that_refresh_at_once_read_every_byte_once(tmp_path, hurried):
    write(tmp_path, scalars("loss", (0, 0.5)))
    runs = rf.open(tmp_path).load()
    for number in range(2, 12):
        write(tmp_path, scalars("loss", (number, 0.5)), number=number)
        threads = [threading.Thread(target=runs.refresh) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert runs["."]["loss"].steps.tolist() == [0, *range(2, 12)]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda runs: pickle.loads(pickle.dumps(runs))])
def test_runs_are_copied_as_their_paths(tmp_path, copied, monkeypatch):
    write(tmp_path / "logs" / "a", scalars("loss", (0, 0.5), (5, 0.25), (3, 0.125)))
    monkeypatch.chdir(tmp_path)
    runs = rf.open("logs", restarts="step")
    for run in (copied(runs)["a"], copied(runs["a"])):
        assert run["loss"].steps.tolist() == [0, 3]
        assert run.hidden == 1
    assert copied(runs["a"]["loss"]).values.tolist() == [0.5, 0.125]


@pytest.mark.parametrize("restarts", ["keep", "step"])
def test_shared_arrays_are_read_only(tmp_path, restarts):
    write(tmp_path, scalars("short", (0, 0.5)), scalars("back", (5, 0.5), (3, 0.25)))
    write(tmp_path, scalars("short", (1, 0.5)), number=2)
    runs = rf.open(tmp_path, restarts=restarts)
    for tag in ("short", "back"):
        for array in (runs["."][tag].values, runs["."][tag].steps, runs["."][tag].wall_times):
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0
    # The arrays of a table belong to the caller.
    table = runs.scalars("short")
    table["value"] = table["value"].to_numpy(copy=True) * np.nan
    assert runs["."]["short"].values.tolist() == [0.5, 0.5]
