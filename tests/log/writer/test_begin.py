"""A run starts only once, whichever thread logs first, and only when its file can be created."""

import asyncio
import math
import os
import re
import threading

import pytest

import runfold as rf
from runfold.errors import CannotLog


def test_threads_that_log_at_the_same_time_start_one_run(tmp_path):
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


def test_a_run_records_its_story_once_its_file_can_be_created(tmp_path):
    (tmp_path / "runs").write_text("in the way")
    run = rf.track(
        tmp_path / "runs" / "a", hparams={"lr": 0.5}, system=False, code=False, on_error="warn"
    )
    with pytest.warns(UserWarning, match="Nothing is logged until the file can be created"):
        run.add_scalar("loss", 1.0, 0)
    os.unlink(tmp_path / "runs")
    run.add_scalar("loss", 1.0, 1)
    run.close()
    read = rf.open(tmp_path / "runs")["a"]
    assert (read.status.state, read.config) == ("finished", {"lr": 0.5})
    assert read["loss"].steps.tolist() == [1]


def test_a_writer_records_hparams_and_purge_step_once_its_file_can_be_created(tmp_path):
    folder = tmp_path / "runs" / "a"
    (tmp_path / "runs").write_text("in the way")
    with pytest.warns(UserWarning, match="Nothing is logged until the file can be created"):
        writer = rf.SummaryWriter(folder, purge_step=5, hparams={"lr": 0.5}, on_error="warn")
    os.unlink(tmp_path / "runs")
    with rf.SummaryWriter(folder) as earlier:
        earlier.add_scalar("loss", 1.0, 4)
        earlier.add_scalar("loss", 1.0, 5)
    writer.add_scalar("loss", 2.0, 6)
    writer.close()
    runs = rf.open(tmp_path / "runs")
    assert runs["a"]["loss"].steps.tolist() == [4, 6]
    assert runs.hparams(wide=True).loc["a", "lr"] == 0.5


def test_a_tracker_accepts_the_options_of_a_writer(tmp_path):
    with rf.SummaryWriter(tmp_path) as earlier:
        earlier.add_scalar("loss", 1.0, 5)
    options = {"purge_step": 5, "filename_suffix": ".second", "flush_secs": 1}
    with rf.track(tmp_path, resume=True, system=False, code=False, **options) as run:
        run.add_scalar("loss", 2.0, 7)
        assert run.path.endswith(".second")
    assert rf.open(tmp_path)["."]["loss"].steps.tolist() == [7]


def test_a_coroutine_is_tracked_until_it_ends(tmp_path):
    @rf.track(tmp_path / "run", system=False, code=False)
    async def train(value: float, run: rf.SummaryWriter) -> None:
        await asyncio.sleep(0)
        run.add_scalar("loss", value, 1)
        raise ValueError("too late")

    with pytest.raises(ValueError, match="too late"):
        asyncio.run(train(0.5))  # type: ignore[call-arg]
    read = rf.open(tmp_path)["run"]
    assert read["loss"].values.tolist() == [0.5]
    assert read.status.state == "failed"


def test_a_generator_is_rejected(tmp_path):
    def train():
        yield 1

    with pytest.raises(TypeError, match="Use `with"):
        rf.track(tmp_path / "run")(train)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"cod": False}, "rf.track has no option 'cod'. Did you mean 'code' or 'command'?"),
        ({"rank": "all"}, "no option 'rank'. Did you mean 'ranks'?"),
        ({"system": "often"}, "system: expected True, False or a number of seconds, got 'often'"),
        ({"system": -1}, "system: expected a non-negative number of seconds, got -1"),
        (
            {"system": math.nan},
            "system: expected a non-negative number of seconds, got nan",
        ),
        ({"resume": "yes"}, "resume: expected True, False or a step, got 'yes'"),
    ],
)
def test_an_invalid_option_raises_before_the_run_starts(tmp_path, option, message):
    with pytest.raises((TypeError, ValueError), match=re.escape(message)):
        rf.track(tmp_path / "run", **option)
    assert not (tmp_path / "run").exists()


def test_invalid_hparams_raise_before_a_file_is_created(tmp_path):
    with pytest.raises(CannotLog, match="hparam_dict cannot be"):
        rf.SummaryWriter(tmp_path / "run", hparams=3)
    assert not (tmp_path / "run").exists()
