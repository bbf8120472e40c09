"""Runs resumed with a storage continue where they ended, even on another machine."""

import shutil
import warnings

import pytest
from helpers.stored_runs import QUIET, events_in, files_of
from helpers.stores import stored, wait_for

import runfold as rf
from runfold._storage.store import Store


@pytest.fixture
def warned():
    """The warnings during a test, from all threads."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def log_two(run):
    for _ in range(2):
        run.batch({"loss": 1.0})
        run.log({"loss": 1.0})


def test_a_run_continues_at_its_url(s3, tmp_path, warned):
    for step in (0, 1):
        with rf.track(tmp_path / "a", storage=s3.url, resume=bool(step), **QUIET) as run:
            run.log({"loss": float(step)}, step=step)
    assert len(files_of(tmp_path / "a")) == 2
    assert events_in(s3, "a") == files_of(tmp_path / "a")
    assert warned == []


@pytest.mark.parametrize("is_bucket", [True, False])
def test_steps_and_batches_continue_across_machines(s3, tmp_path, warned, is_bucket):
    storage = s3.url if is_bucket else tmp_path / "shared"
    for number, machine in enumerate(("one", "two", "one", "three")):
        folder = tmp_path / machine / "a[1]"
        with rf.track(folder, storage=storage, resume=number > 0, **QUIET) as run:
            assert run.batch_count == 2 * number
            log_two(run)
        assert len(files_of(folder)) == number + 1
    read = rf.open(storage)["a[1]"]
    assert read["loss"].steps.tolist() == list(range(8))
    assert read["batch/loss"].steps.tolist() == list(range(1, 9))
    assert warned == []
    if is_bucket:
        assert events_in(s3, "a[1]") == files_of(folder)


def test_resuming_at_a_step_uses_the_run_in_the_store(s3, tmp_path):
    for resume in (False, 2):
        with rf.track(tmp_path / "a", storage=s3.url, resume=resume, **QUIET) as run:
            assert run.batch_count == (1 if resume else 0)
            log_two(run)
        shutil.rmtree(tmp_path / "a")
    assert rf.open(s3.url)["a"]["batch/loss"].steps.tolist() == [1, 2, 3]


def test_late_data_from_the_previous_machine_is_kept(s3, tmp_path):
    with rf.track(tmp_path / "one" / "a", storage=s3.url, **QUIET) as run:
        log_two(run)
    ((name, data),) = events_in(s3, "a").items()
    store = Store(f"{s3.url}/a")
    for number in (1, 2):
        with rf.track(tmp_path / "two" / "a", storage=s3.url, resume=True, **QUIET) as run:
            store.write(name, data + b"more" * number)
            log_two(run)
        assert files_of(tmp_path / "two" / "a")[name] == data
        assert events_in(s3, "a")[name] == data + b"more" * number
    # A different storage receives all files.
    with rf.track(tmp_path / "two" / "a", storage=f"{s3.url}/new", resume=True, **QUIET) as run:
        log_two(run)
    assert events_in(s3, "new/a") == files_of(tmp_path / "two" / "a")


def test_a_failed_fetch_is_reported_and_training_continues(s3, tmp_path, warned):
    with rf.track(tmp_path / "a", storage=s3.url, **QUIET) as run:
        log_two(run)
    shutil.rmtree(tmp_path / "a")
    s3.refuse()
    with rf.track(tmp_path / "a", storage=s3.url, resume=True, **QUIET) as run:
        assert run.batch_count == 0
        run.log({"loss": 2.0}, step=2)
        wait_for(lambda: warned)
        s3.mend()
    assert len(events_in(s3, "a")) == 2
    first, second = (str(warning.message) for warning in warned)
    assert "Training continues" in first
    assert f"event files of this run that are not in {tmp_path / 'a'}" in second


def test_a_hanging_store_does_not_block_forever(s3, tmp_path, monkeypatch):
    with rf.track(tmp_path / "a", storage=s3.url, **QUIET) as run:
        log_two(run)
    shutil.rmtree(tmp_path / "a")
    s3.gate.clear()
    run = rf.track(tmp_path / "a", storage=s3.url, resume=True, **QUIET)
    with monkeypatch.context() as patch:
        patch.setattr("runfold._log.writer.run_uploads._CLOSING_SECONDS", 0.1)
        run.log({"loss": 2.0}, step=2)
    s3.gate.set()
    run.close()
    assert rf.open(tmp_path)["a"]["loss"].values.tolist()[-1] == 2.0


def test_an_artifact_that_would_be_replaced_is_reported(s3, tmp_path, warned):
    (tmp_path / "model.pt").write_bytes(b"old")
    with rf.track(tmp_path / "a", storage=s3.url, **QUIET) as run:
        run.save(tmp_path / "model.pt")
    shutil.rmtree(tmp_path / "a")
    with rf.track(tmp_path / "a", storage=s3.url, resume=True, **QUIET) as run:
        run.log({"loss": 1.0}, step=0)
    (warning,) = warned
    assert f"{s3.url}/a has 1 artifact of this run" in str(warning.message)
    assert "such as artifacts/model.pt" in str(warning.message)
    assert stored(s3, "a")["artifacts/model.pt"] == b"old"
