"""The memory of runs that have been listed but not read."""

import gc
import tracemalloc

from helpers.faultfiles import EVENTS, points, version, write

import runfold as rf

RUNS = 400
# Bytes per run, for everything that Python allocates: about half of it are paths and names.
MOST = 1500


def test_a_listed_run_takes_little_memory(tmp_path):
    for number in range(RUNS):
        write(tmp_path / f"group-{number % 4}" / f"run-{number}" / EVENTS, version(), points(1))
    rf.open(tmp_path / "group-0").refresh()  # imports and caches
    gc.collect()
    tracemalloc.start()
    try:
        runs = rf.open(tmp_path)
        gc.collect()
        opened = tracemalloc.get_traced_memory()[0]
        runs.refresh()
        runs.refresh()
        gc.collect()
        refreshed = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(runs) == RUNS
    assert opened / RUNS < MOST
    assert refreshed / RUNS < MOST


def test_runs_do_not_share_what_one_of_them_notes(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        write(tmp_path / name / EVENTS, version(), points(1))
        (tmp_path / name / "hparams.yaml").write_text("lr: 1" if name == "a" else "- 1")
    runs = rf.open(tmp_path)
    runs.hparams()
    assert runs.problems()["run"].tolist() == ["b"]
    assert len(runs["b"].problems()) == 1
    assert len(runs["a"].problems()) == 0
