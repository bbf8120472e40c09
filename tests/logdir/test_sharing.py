"""Runs in more than one hand: threads, processes, and arrays that are handed out."""

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
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_threads_that_ask_at_once_get_the_same_whole_answer(tmp_path, hurried):
    for number in range(20):
        write(tmp_path / f"seed-{number}", scalars("loss", *((step, 0.5) for step in range(50))))
    for _ in range(10):
        runs = rf.open(tmp_path)
        answers: list[int] = []
        together = threading.Barrier(4)

        def ask(runs=runs, answers=answers, together=together):
            together.wait()
            answers.append(len(runs.scalars()))
            answers.append(len(runs["seed-7"]["loss"]))

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == [50] * 4 + [1000] * 4


def test_threads_that_refresh_at_once_read_nothing_twice(tmp_path, hurried):
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
def test_runs_travel_as_their_paths(tmp_path, copied, monkeypatch):
    write(tmp_path / "logs" / "a", scalars("loss", (0, 0.5), (5, 0.25), (3, 0.125)))
    monkeypatch.chdir(tmp_path)
    runs = rf.open("logs", restarts="step")
    for there in (copied(runs)["a"], copied(runs["a"])):
        assert there["loss"].steps.tolist() == [0, 3]
        assert there.hidden == 1
    assert copied(runs["a"]["loss"]).values.tolist() == [0.5, 0.125]


@pytest.mark.parametrize("restarts", ["keep", "step"])
def test_arrays_cannot_be_changed_behind_the_back_of_others(tmp_path, restarts):
    write(tmp_path, scalars("short", (0, 0.5)), scalars("back", (5, 0.5), (3, 0.25)))
    write(tmp_path, scalars("short", (1, 0.5)), number=2)
    runs = rf.open(tmp_path, restarts=restarts)
    for tag in ("short", "back"):
        for array in (runs["."][tag].values, runs["."][tag].steps, runs["."][tag].wall_times):
            with pytest.raises(ValueError, match="read-only"):
                array[:] = 0
    # What a table holds is the caller's own.
    table = runs.scalars("short")
    table["value"] = table["value"].to_numpy(copy=True) * np.nan
    assert runs["."]["short"].values.tolist() == [0.5, 0.5]
