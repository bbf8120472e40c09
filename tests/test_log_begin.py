"""How a run begins: once, whoever logs first, and when its file can be made at last."""

import os
import threading

import pytest

import runfold as rf


def test_threads_that_log_first_at_once_begin_one_run(tmp_path):
    for number in range(20):
        run = rf.track(tmp_path / f"run{number}", system=False, code=False)
        ready = threading.Barrier(8)

        def log(step: int, run=run, ready=ready) -> None:
            ready.wait()
            run.add_scalar("loss", 1.0, step)

        threads = [threading.Thread(target=log, args=(step,)) for step in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        run.close()
    runs = rf.open(tmp_path)
    assert sorted(runs) == sorted(f"run{number}" for number in range(20))
    assert {len(run["loss"]) for run in runs.values()} == {8}


def test_a_run_whose_file_could_not_be_made_at_first_tells_its_story_later(tmp_path):
    (tmp_path / "runs").write_text("in the way")
    run = rf.track(
        tmp_path / "runs" / "a", hparams={"lr": 0.5}, system=False, code=False, on_error="warn"
    )
    with pytest.warns(UserWarning, match="Nothing is logged until a file can be made"):
        run.add_scalar("loss", 1.0, 0)
    os.unlink(tmp_path / "runs")
    run.add_scalar("loss", 1.0, 1)
    run.close()
    read = rf.open(tmp_path / "runs")["a"]
    assert (read.status.state, read.config) == ("finished", {"lr": 0.5})
    assert read["loss"].steps.tolist() == [1]
