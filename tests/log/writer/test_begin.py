"""How a run begins: once, whoever logs first, and when its file can be made at last."""

import asyncio
import math
import os
import re
import threading

import pytest

import runfold as rf
from runfold.errors import CannotLog


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
    with pytest.warns(UserWarning, match="Nothing is logged until the file can be created"):
        run.add_scalar("loss", 1.0, 0)
    os.unlink(tmp_path / "runs")
    run.add_scalar("loss", 1.0, 1)
    run.close()
    read = rf.open(tmp_path / "runs")["a"]
    assert (read.status.state, read.config) == ("finished", {"lr": 0.5})
    assert read["loss"].steps.tolist() == [1]


def test_so_does_a_writer_with_its_hparams_and_its_purge_step(tmp_path):
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


def test_a_tracker_takes_the_options_of_a_writer(tmp_path):
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


def test_a_generator_is_refused(tmp_path):
    def train():
        yield 1

    with pytest.raises(TypeError, match="Use `with"):
        rf.track(tmp_path / "run")(train)


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ({"cod": False}, "rf.track has no option 'cod'. Did you mean 'code' or 'command'?"),
        ({"rank": "all"}, "no option 'rank'. Did you mean 'ranks'?"),
        ({"system": "often"}, "system is True, False or a number of seconds, not 'often'"),
        ({"system": -1}, "system is a number of seconds from 0 on, not -1"),
        ({"system": math.nan}, "system is a number of seconds from 0 on, not nan"),
        ({"resume": "yes"}, "resume is True, False or a step, not 'yes'"),
    ],
)
def test_an_option_that_is_none_is_refused_before_a_run_is_begun(tmp_path, option, told):
    with pytest.raises((TypeError, ValueError), match=re.escape(told)):
        rf.track(tmp_path / "run", **option)
    assert not (tmp_path / "run").exists()


def test_hparams_that_cannot_be_stored_are_refused_before_a_file_is_begun(tmp_path):
    with pytest.raises(CannotLog, match="hparam_dict cannot be"):
        rf.SummaryWriter(tmp_path / "run", hparams=3)
    assert not (tmp_path / "run").exists()
