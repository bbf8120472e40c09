"""rf.track with a storage: the run is uploaded despite outages, and can be stopped remotely."""

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest
from helpers.cli_runs import run_apart
from helpers.stored_runs import QUIET, events_in, files_of
from helpers.stores import open_system, stored, wait_for

import runfold as rf
from runfold._storage import fetch_file
from runfold._storage.store import Store
from runfold._story.audit_log import read_actions
from runfold._story.side_files import read_aside
from runfold._story.stop_request import request_stop
from runfold.errors import CannotLog, CannotStore


def script(tmp_path, s3, body, folder="a"):
    """Start a program that tracks a run as `run`."""
    head = (
        "import runfold as rf, os, signal, sys, time\n"
        f"run = rf.track({str(tmp_path / folder)!r}, storage={s3.url + '/runs'!r},"
        " code=False, system=False)\n"
        "run.log({'loss': 0.0}, step=0)\nrun.flush()\n"
    )
    return subprocess.Popen([sys.executable, "-c", head + body], stderr=subprocess.PIPE, text=True)


def test_a_run_is_in_its_storage_when_it_ends(s3, tmp_path):
    (tmp_path / "model.pt").write_bytes(b"weights")
    with rf.track(tmp_path / "runs" / "a", {"lr": 0.1}, storage=f"{s3.url}/runs", **QUIET) as run:
        assert run.storage == f"{s3.url}/runs/a"
        run.log({"loss": 1.0}, step=0)
        run.save(tmp_path / "model.pt")
    assert events_in(s3, "runs/a") == files_of(tmp_path / "runs" / "a")
    assert stored(s3, "runs/a")["artifacts/model.pt"] == b"weights"
    opened = rf.open(f"{s3.url}/runs")
    assert opened["a"].status.state == "finished"
    assert opened["a"].config == {"lr": 0.1}
    [model] = opened["a"].artifacts
    assert not os.path.exists(model.path)
    opened.refresh()
    assert Path(fetch_file(model.path)).read_bytes() == b"weights"
    opened.refresh()
    assert os.path.exists(model.path)
    with pytest.raises(CannotStore, match="has no a/artifacts/other"):
        fetch_file(model.path.replace("model.pt", "other"))


def test_training_does_not_wait_for_a_hanging_store(s3, tmp_path):
    s3.gate.clear()
    with rf.track(tmp_path / "a", storage=s3.url, **QUIET) as run:
        for step in range(10_000):
            run.log({"loss": 1.0}, step=step)
        run.flush()
        assert stored_nothing_yet(s3)
        s3.gate.set()
    assert events_in(s3, "a") == files_of(tmp_path / "a")
    assert len(rf.open(s3.url)["a"]["loss"].values) == 10_000


def stored_nothing_yet(s3):
    return not any(line.startswith("PUT") for line in s3.requests)


def test_a_permanent_outage_is_reported_at_the_start_and_the_end(s3, tmp_path, monkeypatch):
    monkeypatch.setattr("runfold._log.writer.run_uploads._CLOSING_SECONDS", 0.1)
    s3.refuse()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        run = rf.track(tmp_path / "a", storage=s3.url, **QUIET)
        run.log({"loss": 1.0}, step=0)
        wait_for(lambda: len(warned) > 0)
        run.close()
    first, last = (str(warning.message) for warning in warned)
    assert "Training continues" in first
    assert "2 files of the run could not be uploaded" in last
    assert f"rf.upload('{tmp_path / 'a'}', '{s3.url}/a')" in last
    assert rf.open(tmp_path / "a")["."].status.state == "finished"


def test_two_runs_share_a_storage(s3, tmp_path):
    with (
        rf.track(tmp_path, name="lr-1/seed-1", storage=s3.url, **QUIET) as first,
        rf.track(tmp_path, name="lr-2/seed-1", storage=s3.url, **QUIET) as second,
    ):
        first.log({"loss": 1.0}, step=0)
        second.log({"loss": 2.0}, step=0)
    runs = rf.open(s3.url)
    assert {name: run["loss"].values.tolist() for name, run in runs.items()} == {
        "lr-1/seed-1": [1.0],
        "lr-2/seed-1": [2.0],
    }


def test_a_stop_request_in_the_storage_is_seen_and_confirmed_there(s3, tmp_path):
    stopped = threading.Event()
    url = f"{s3.url}/a"
    Store(url).write(".runfold/stop", b"{}")  # for an earlier run
    with rf.track(tmp_path / "a", storage=s3.url, on_stop=lambda _: stopped.set(), **QUIET) as run:
        run.log({"loss": 1.0}, step=0)
        wait_for(lambda: not open_system().exists(f"{s3.bucket}/a/.runfold/stop"))
        assert not run.should_stop
        wait_for(lambda: events_in(s3, "a"))
        opened = rf.open(s3.url)
        sent = request_stop(opened["a"].path, "diverged")
        assert stopped.wait(60)
        assert run.should_stop
    assert read_aside(url, "stop.seen")["reason"] == sent.reason == "diverged"
    assert sorted(os.listdir(tmp_path / "a" / ".runfold")) == ["heartbeat", "stop.seen"]
    assert ".runfold/stop" not in stored(s3, "a")


def test_a_script_is_stopped_by_a_command_through_its_storage(s3, tmp_path):
    process = script(tmp_path, s3, "while True: time.sleep(0.1)")
    wait_for(lambda: events_in(s3, "runs/a"))
    run_apart("ls", f"{s3.url}/runs")
    s3.refuse()
    refused = run_apart("stop", f"{s3.url}/runs/a")
    assert refused.returncode == 2
    assert refused.stderr.endswith(". Nothing was written. The run was not asked to stop.\n")
    s3.begin()
    done = run_apart("stop", f"{s3.url}/runs/a", "--reason", "diverged")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{s3.url}/runs/a: stopped\n"
    assert [action["outcome"] for action in read_actions()] == ["refused", "asked"]
    assert {action["target"] for action in read_actions()} == {f"{s3.url}/runs/a"}
    process.communicate(timeout=60)
    again = run_apart("stop", f"{s3.url}/runs/a")
    assert again.stderr.startswith(f"{s3.url}/runs/a: the run is no longer running")
    assert rf.open(f"{s3.url}/runs")["a"].status.state == "stopped"
    assert json.loads(stored(s3, "runs/a")[".runfold/stop.seen"])["reason"] == "diverged"


def test_an_unclosed_run_is_uploaded_when_its_program_exits(s3, tmp_path):
    process = script(tmp_path, s3, "run.log({'loss': 1.0}, step=1)\nsys.exit(3)\n")
    _, printed = process.communicate(timeout=60)
    assert printed == ""
    assert events_in(s3, "runs/a") == files_of(tmp_path / "a")
    assert rf.open(f"{s3.url}/runs")["a"].status.state == "failed"


def test_sigterm_leaves_time_for_the_last_upload(s3, tmp_path):
    process = script(
        tmp_path,
        s3,
        "run.log({'loss': 1.0}, step=1)\nprint('', flush=True)\nwhile True: time.sleep(0.1)",
    )
    wait_for(lambda: events_in(s3, "runs/a"))
    process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGTERM
    assert events_in(s3, "runs/a") == files_of(tmp_path / "a")
    assert rf.open(f"{s3.url}/runs")["a"].status.state == "killed"


def test_sigkill_leaves_whole_objects(s3, tmp_path):
    body = "for step in range(10**9): run.add_text('log', 'x' * 1000, step); time.sleep(0.0001)"
    process = script(tmp_path, s3, body)
    wait_for(lambda: sum("PUT" in line and "tfevents" in line for line in s3.requests) >= 3)
    process.kill()
    process.communicate()
    [(name, data)] = events_in(s3, "runs/a").items()
    assert (tmp_path / "a" / name).read_bytes().startswith(data)
    runs = rf.open(f"{s3.url}/runs")
    assert len(runs.text()) > 10
    assert set(runs.problems()["code"]) <= {"incomplete-tail"}


def test_runfold_run_uploads_a_command(s3, tmp_path):
    inner = (
        "import runfold as rf\n"
        f"with rf.track(storage={s3.url!r}, code=False) as run: run.log({{'loss': 1.0}}, step=0)"
    )
    subprocess.run(
        [
            *(sys.executable, "-m", "runfold", "run", "--no-code", "--logdir", tmp_path / "a"),
            *("--storage", s3.url, "--", sys.executable, "-c", inner),
        ],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    assert events_in(s3, "a") == files_of(tmp_path / "a")
    [run] = rf.open(s3.url).values()
    assert run["loss"].values.tolist() == [1.0]
    assert run.status.state == "finished"


def test_a_shared_folder_is_a_storage(tmp_path):
    with rf.track(tmp_path / "a", storage=tmp_path / "shared", **QUIET) as run:
        run.log({"loss": 1.0}, step=0)
    assert files_of(tmp_path / "shared" / "a") == files_of(tmp_path / "a")


def test_an_invalid_storage_is_rejected_before_anything_is_logged(tmp_path):
    with pytest.raises(CannotStore, match="Supported: "):
        rf.track(tmp_path / "a", storage="s4://bucket")
    with pytest.raises(CannotLog, match="Omit storage"):
        rf.track("s3://bucket/runs", storage=tmp_path / "b")
    for storage in (tmp_path, tmp_path / "a" / "copy", f"file://{tmp_path}"):
        with pytest.raises(CannotStore, match="the upload would copy itself"):
            rf.track(tmp_path / "a", storage=storage)
    assert not (tmp_path / "a").exists()


def test_credentials_are_not_in_the_run_or_the_store(s3, tmp_path):
    with rf.track(tmp_path / "a", storage=s3.url, **QUIET) as run:
        run.log({"loss": 1.0}, step=0)
    system = open_system()
    for path in system.find(s3.bucket):
        assert b"hush-hush-hush" not in system.cat_file(path)
