"""rf.track with a URL as the logdir: the run is tracked in the store and can be resumed there."""

import json
import subprocess
import sys
import warnings

import pytest
from helpers.remote_logs import run_script, staged
from helpers.stores import stored, wait_for

import runfold as rf
from runfold._story.stop_request import request_stop
from runfold.errors import CannotLog

QUIET = {"code": False, "system": False}


@pytest.fixture
def warned():
    """The warnings during a test, from all threads."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield caught


def test_a_run_is_in_the_store_when_it_ends(s3, tmp_path, monkeypatch, warned):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (tmp_path / "model.pt").write_bytes(b"weights")
    with rf.track(f"{s3.url}/runs", {"lr": 0.1}, name="lr-1/a", **QUIET) as run:
        assert run.log_dir == run.storage == f"{s3.url}/runs/lr-1/a"
        run.log({"loss": 1.0}, step=0)
        run.save(tmp_path / "model.pt")
    assert stored(s3, "runs/lr-1/a")["artifacts/model.pt"] == b"weights"
    read = rf.open(f"{s3.url}/runs")["lr-1/a"]
    assert (read.status.state, read.config) == ("finished", {"lr": 0.1})
    assert read["loss"].values.tolist() == [1.0]
    assert staged(tmp_path) == []
    assert list((tmp_path / "here").iterdir()) == []
    assert warned == []


def test_the_next_run_goes_to_another_url(s3, tmp_path, warned):
    for value in (1.0, 2.0):
        with rf.track(f"{s3.url}/a", **QUIET) as run:
            run.log({"loss": value}, step=0)
    assert run.storage == f"{s3.url}/a-2"
    runs = rf.open(s3.url)
    assert {name: runs[name]["loss"].values.tolist() for name in runs} == {
        "a": [1.0],
        "a-2": [2.0],
    }
    [message] = (str(warning.message) for warning in warned)
    assert f"this run goes to {s3.url}/a-2" in message
    assert staged(tmp_path) == []


def test_a_resumed_run_continues_where_it_ended(s3, tmp_path, warned):
    for resume in (False, True, True):
        with rf.track(f"{s3.url}/a", resume=resume, **QUIET) as run:
            run.log({"loss": 1.0})
            run.log({"loss": 1.0})
    assert rf.open(f"{s3.url}/a")["."]["loss"].steps.tolist() == list(range(6))
    assert sum("tfevents" in name for name in stored(s3, "a")) == 3
    assert staged(tmp_path) == []
    assert warned == []


def test_a_run_is_stopped_through_the_store(s3, tmp_path):
    body = (
        "import runfold as rf\n"
        f"with rf.track({s3.url + '/a'!r}, code=False, system=False) as run:\n"
        "    run.log({'loss': 1.0}, step=0)\n"
        "    while True: time.sleep(0.1)\n"
    )
    process = run_script(body)
    wait_for(lambda: any("tfevents" in name for name in stored(s3, "a")))
    request_stop(f"{s3.url}/a", "diverged")
    process.communicate(timeout=60)
    assert rf.open(f"{s3.url}/a")["."].status.state == "stopped"
    assert json.loads(stored(s3, "a")[".runfold/stop.seen"])["reason"] == "diverged"
    assert staged(tmp_path) == []


def test_a_forked_child_uploads_its_own_file(s3, tmp_path):
    body = (
        "import runfold as rf\n"
        f"run = rf.track({s3.url + '/a'!r}, code=False, system=False)\n"
        "run.log({'loss': 1.0}, step=0)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    run.log({'loss': 1.0}, step=1)\n"
        "else:\n"
        "    run.close()\n"
        "    os.waitpid(child, 0)\n"
    )
    _, printed = run_script(body).communicate(timeout=60)
    assert printed == ""
    run = rf.open(f"{s3.url}/a")["."]
    assert run["loss"].steps.tolist() == [0, 1]
    assert run.status.state == "finished"
    assert staged(tmp_path) == []


def test_a_command_is_tracked_in_the_store(s3, tmp_path):
    inner = (
        "from runfold import SummaryWriter\n"
        "with SummaryWriter() as writer: writer.add_scalar('loss', 1.0, 0)"
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "runfold", "run", "--no-code", "--logdir", f"{s3.url}/a"),
            *("--", sys.executable, "-c", inner),
        ],
        check=True,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert done.stderr.endswith(f"ended with status 0. Tracked in {s3.url}/a.\n")
    run = rf.open(f"{s3.url}/a")["."]
    assert run["loss"].values.tolist() == [1.0]
    assert run.status.state == "finished"
    assert staged(tmp_path) == []


def test_a_bucket_alone_is_rejected(s3):
    with pytest.raises(CannotLog, match=f"such as {s3.url}/run-1"):
        rf.track(s3.url)


def test_a_file_url_is_a_folder(tmp_path):
    with rf.track(f"file://{tmp_path}/runs", name="a", **QUIET) as run:
        run.log({"loss": 1.0}, step=0)
    assert run.folder == f"{tmp_path}/runs/a"
    assert rf.open(tmp_path / "runs")["a"]["loss"].values.tolist() == [1.0]
