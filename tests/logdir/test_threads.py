"""Large runs are read by several threads at once."""

import os
import threading

import pytest
from helpers.logs import scalars, write

import runfold as rf
from runfold._logdir import loader as load
from runfold._logdir.bulk_read import Reader


@pytest.fixture
def threads_for_all(monkeypatch):
    """Four threads, however small the runs are."""
    monkeypatch.setattr(load, "_BYTES_PER_RUN", 0)
    monkeypatch.setattr(load, "_BYTES_PER_THREAD", 1)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)


def test_threads_read_every_run_once(tmp_path, threads_for_all, monkeypatch):
    for number in range(40):
        for file in (1, 2):
            write(tmp_path / f"seed-{number:02}", scalars("loss", (file, number)), number=file)
    readers: set[int] = set()
    together = threading.Barrier(4)

    class Watched(Reader):
        def __init__(self, *args):
            super().__init__(*args)
            # Blocks until all four threads are running.
            together.wait(timeout=30)
            readers.add(threading.get_ident())

    monkeypatch.setattr(load, "Reader", Watched)
    runs = rf.open(tmp_path).load()
    assert len(readers) == 4
    assert list(runs) == [f"seed-{number:02}" for number in range(40)]
    for number, run in enumerate(runs.values()):
        assert run["loss"].steps.tolist() == [1, 2]
        assert run["loss"].values.tolist() == [number, number]


def test_error_in_a_thread_reaches_the_caller(tmp_path, threads_for_all, monkeypatch):
    for number in range(8):
        write(tmp_path / f"seed-{number}", scalars("loss", (0, 0.5)))

    def fail(self, file):
        raise MemoryError("no memory left")

    monkeypatch.setattr(Reader, "read", fail)
    with pytest.raises(MemoryError, match="no memory left"):
        rf.open(tmp_path).load()


def test_small_runs_are_read_without_threads(tmp_path, monkeypatch):
    for number in range(40):
        write(tmp_path / f"seed-{number}", scalars("loss", (0, 0.5)))
    monkeypatch.setattr(load, "_read_in_threads", None)
    assert len(rf.open(tmp_path).scalars()) == 40
