"""Where a resumed run continues, for batches and for everything else."""

import json
import os
import re
from datetime import datetime

import pytest
from helpers.batch_points import points, track
from helpers.trainings import training

import runfold as rf


def test_a_resumed_run_continues_counting(tmp_path):
    with track(tmp_path) as run:
        for loss in (4.0, 3.0, 2.0):
            run.batch({"loss": loss})
            run.log({"epoch": loss})
    with track(tmp_path, resume=True) as run:
        assert run.batch_count == 3
        run.batch({"loss": 1.0})
        run.log({"epoch": 1.0})
    assert points(tmp_path) == {
        "batch/loss": [(1, 4.0), (2, 3.0), (3, 2.0), (4, 1.0)],
        "epoch": [(0, 4.0), (1, 3.0), (2, 2.0), (3, 1.0)],
    }


def test_hparams_that_are_logged_first_do_not_discard_earlier_steps(tmp_path):
    with track(tmp_path) as run:
        for step in range(4):
            run.log({"loss": 4.0 - step}, step)
    with track(tmp_path, resume=True) as run:
        run.add_hparams({"rate": 0.1}, {}, run_name=".")
        for step in range(2, 5):
            run.log({"loss": 0.5}, step)
    assert points(tmp_path) == {"loss": [(0, 4.0), (1, 3.0), (2, 0.5), (3, 0.5), (4, 0.5)]}


@pytest.mark.parametrize("epoch", [None, 2])
@pytest.mark.parametrize("first", ["batch", "epoch", "validation"])
def test_batches_and_epochs_do_not_hide_each_other_in_a_resumed_run(tmp_path, first, epoch):
    def log(run, what):
        if what == "batch":
            run.batch({"loss": 1.0})
        elif what == "epoch":
            run.log({"epoch": 1.0}, epoch)
        else:
            run.batch({"loss": 1.0}, validation=True)

    with track(tmp_path) as run:
        for number in range(4):
            run.batch({"loss": 2.0})
            if number % 2:
                run.log({"epoch": 2.0}, number // 2)
    with track(tmp_path, resume=True) as run:
        log(run, first)
        for other in {"batch", "epoch", "validation"} - {first}:
            log(run, other)
    found = points(tmp_path)
    assert [step for step, _ in found["batch/loss"]] == [1, 2, 3, 4, 5]
    assert found["epoch"] == [(0, 2.0), (1, 2.0), (2, 1.0)]
    assert rf.open(tmp_path)["."].hidden == 0


def test_a_repeated_epoch_does_not_hide_batches_and_warns(tmp_path):
    with track(tmp_path) as run:
        for epoch in range(3):
            for _ in range(10):
                run.batch({"loss": 2.0})
            run.log({"epoch": 2.0}, epoch)
    with track(tmp_path, resume=True) as run:
        run.batch({"loss": 1.0})
        with pytest.warns(UserWarning, match="Step 2 was logged before .* use resume=2"):
            run.log({"epoch": 1.0}, 2)
        run.log({"epoch": 1.0}, 3)
    found = points(tmp_path)
    assert [step for step, _ in found["batch/loss"]] == list(range(1, 32))
    assert found["epoch"] == [(0, 2.0), (1, 2.0), (2, 2.0), (2, 1.0), (3, 1.0)]


def test_a_repeated_batch_discards_later_ones_even_after_an_epoch(tmp_path):
    with track(tmp_path) as run:
        for loss in (4.0, 3.0, 2.0):
            run.batch({"loss": loss})
        run.log({"epoch": 1.0}, 0)
    with track(tmp_path, resume=True) as run:
        run.log({"epoch": 2.0}, 1)
        run.batch({"loss": 9.0}, step=2)
    assert points(tmp_path) == {
        "batch/loss": [(1, 4.0), (2, 9.0)],
        "epoch": [(0, 1.0), (1, 2.0)],
    }


@pytest.mark.parametrize("options", [{"resume": True}, {"resume": 2}])
def test_a_run_that_restarted_earlier_is_counted_from_there(tmp_path, options):
    with track(tmp_path) as run:
        for loss in (4.0, 3.0, 2.0):
            run.batch({"loss": loss})
    with track(tmp_path, **options) as run:
        run.batch({"loss": 9.0}, step=None if options["resume"] == 2 else 2)
        assert run.batch_count == 2
    with track(tmp_path, resume=True) as run:
        run.batch({"loss": 8.0})
    assert points(tmp_path) == {"batch/loss": [(1, 4.0), (2, 9.0), (3, 8.0)]}


def test_after_a_first_validation_the_next_batch_shows_where_the_run_continues(tmp_path):
    with track(tmp_path) as run:
        for loss in (4.0, 3.0, 2.0):
            run.batch({"loss": loss})
    with track(tmp_path, resume=True) as run:
        run.batch({"loss": 7.0}, validation=True)
        run.batch({"loss": 9.0}, step=3)
    assert points(tmp_path)["batch/loss"] == [(1, 4.0), (2, 3.0), (3, 9.0)]


@pytest.mark.fault(75)
def test_a_run_that_is_still_running_is_resumed_with_a_warning(tmp_path):
    folder = tmp_path / "run"
    with training(folder) as process:
        beat = json.loads((folder / ".runfold" / "heartbeat").read_text())
        start = f"{datetime.fromtimestamp(beat['started']):%Y-%m-%d %H:%M:%S}"
        message = re.escape(f"process {process.pid} on {os.uname().nodename}, since {start}")
        with (
            pytest.warns(RuntimeWarning, match=message) as caught,
            track(folder, resume=True) as run,
        ):
            run.log({"other": 1.0}, step=1)
    assert [warning.filename for warning in caught] == [__file__]
    # The points from both processes are kept.
    assert points(folder) == {"loss": [(0, 1.0)], "other": [(1, 1.0)]}
    # The other process has now ended, so there is no warning.
    with track(folder, resume=True):
        pass


def test_processes_of_one_job_resume_a_run_without_a_warning(tmp_path, monkeypatch):
    with track(tmp_path):
        pass
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    for name, value in {"MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}.items():
        monkeypatch.setenv(name, value)
    with track(tmp_path, resume=True, ranks="all") as first:
        first.log({"loss": 1.0}, step=1)
        monkeypatch.setenv("RANK", "1")
        with track(tmp_path, resume=True, ranks="all") as second:
            second.log({"loss": 1.0}, step=1)


def test_resuming_a_run_that_this_program_has_not_ended_says_so(tmp_path):
    first = rf.track(tmp_path / "run", system=False, code=False)
    with first:
        first.log({"loss": 1.0}, 1)
        second = rf.track(tmp_path / "run", system=False, code=False, resume=True)
        with pytest.warns(RuntimeWarning, match="An earlier run of this program in .*run has not"):
            second.__enter__()
        second.close()
