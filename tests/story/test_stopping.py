"""Stopping a running script: request, receipt, end, and if necessary a kill."""

import json
import os
import signal
import subprocess
import sys
from typing import Any

import psutil
import pytest
from helpers.cli_runs import RUNFOLD
from helpers.trainings import DEAF, OBEDIENT, STUBBORN, training

import runfold as rf
from runfold._edit.live_runs import is_alive
from runfold._story import processes as process_module
from runfold._story.processes import RunProcess, started_at
from runfold._story.stop_request import Control, request_stop
from runfold._story.stopping import Stop, kill_run, look_at_stop, stop_run, why_not_kill
from runfold.errors import CannotStop, LogdirNotFound

WAIT = 60


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "logs" / "run"


def status_of(folder):
    return rf.open(folder.parent)["run"].status


def change_beat(folder, **changes):
    path = folder / ".runfold" / "heartbeat"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_run_sees_the_request_and_ends(folder):
    stages: list[Stop] = []
    with training(folder) as process:
        assert look_at_stop(str(folder)).stage == "running"
        stop = stop_run(folder, reason="enough", grace=WAIT, on_stage=stages.append)
        process.wait(WAIT)
    # A run that ends quickly may skip the stage "seen".
    assert [stop.stage for stop in stages] in (["asked", "seen", "ended"], ["asked", "ended"])
    assert stages[-1] == stop
    assert (stop.state, stop.request.reason) == ("stopped", "enough")
    assert (status_of(folder).state, status_of(folder).exit) == ("stopped", 130)
    assert sorted(os.listdir(folder / ".runfold")) == ["heartbeat", "stop.seen"]


def test_a_run_that_continues_is_stopping_and_still_alive(folder):
    stages: list[Stop] = []
    with training(folder, STUBBORN):
        request = stop_run(folder, wait=False)
        assert (request.stage, request.is_new, status_of(folder).state) == (
            "asked",
            True,
            "stopping",
        )
        assert is_alive(str(folder))

        def on_stage(stop):
            stages.append(stop)
            if stop.stage == "seen":
                assert status_of(folder).state == "stopping"
                os.kill(json.loads((folder / ".runfold/heartbeat").read_text())["pid"], 15)

        ended = stop_run(folder, reason="mine", grace=WAIT, on_stage=on_stage)
    assert [stop.stage for stop in stages][-2:] == ["seen", "ended"]
    assert not any(stop.is_new for stop in stages)  # requested before, and not again
    assert ended.request == request.request
    assert ended.state == "killed"


def test_after_the_grace_period_sigterm_ends_the_run(folder):
    stages: list[Stop] = []
    with training(folder, STUBBORN) as process:
        stop = stop_run(folder, grace=0, kill=True, on_stage=stages.append)
        assert process.wait(WAIT) == -signal.SIGTERM
    assert [stop.stage for stop in stages] == ["asked", "terminated", "ended"]
    assert stop.state == status_of(folder).state == "killed"


def test_a_run_that_ignores_sigterm_is_killed_with_its_children(folder):
    begin = "import subprocess; subprocess.Popen(['sleep', '600'])"
    stages: list[Stop] = []
    with training(folder, DEAF.replace("run.flush()", begin)) as process:
        (child,) = psutil.Process(process.pid).children()
        stop = kill_run(str(folder), seconds=0.05, on_stage=stages.append)
        assert process.wait(WAIT) == -signal.SIGKILL
    assert [stop.stage for stop in stages] == ["terminated", "killed", "ended"]
    assert stop.state == "crashed"
    gone, _ = psutil.wait_procs([child], WAIT)
    assert gone == [child]


def test_runfold_run_is_stopped_with_its_command(folder):
    command = [*RUNFOLD, "run", "--logdir", str(folder), "--no-code", "--no-system", "--"]
    script = "print('ready', flush=True)\nimport time\nwhile True: time.sleep(0.01)"
    with subprocess.Popen(
        [*command, sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        stop = stop_run(folder, grace=WAIT)
        process.communicate(timeout=WAIT)
    assert stop.state == "stopped"


def test_another_process_with_the_id_of_a_run_is_never_killed(folder):
    command = [sys.executable, "-c", "input()"]
    with training(folder), subprocess.Popen(command, stdin=subprocess.PIPE) as other:
        # As if the run had been killed and its process id reused.
        change_beat(folder, pid=other.pid)
        assert status_of(folder).state == "crashed"
        with pytest.raises(CannotStop, match="the run crashed"):
            stop_run(folder, kill=True)
        with pytest.raises(CannotStop, match="has ended"):
            RunProcess(str(folder), json.loads((folder / ".runfold/heartbeat").read_text()))
        # The same holds if the folder also forges the start time.
        change_beat(folder, pid=other.pid, born=started_at(other.pid))
        with pytest.raises(CannotStop, match="has no event file of the run open"):
            stop_run(folder, kill=True)
        assert not (folder / ".runfold" / "stop").exists()
        assert other.poll() is None
        other.communicate(b"\n")


@pytest.mark.fault(74)
@pytest.mark.parametrize(
    ("name", "mode"),
    [("events.out.tfevents.1", "rb"), ("notes.txt", "wb"), (".runfold/heartbeat", "rb")],
)
def test_a_process_that_only_reads_a_file_of_the_run_is_never_killed(folder, name, mode):
    code = f"file = open({name!r}, {mode!r}); print('open', flush=True); input()"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with training(folder):
        (folder / "events.out.tfevents.1").write_bytes(b"")
        with subprocess.Popen([sys.executable, "-c", code], cwd=folder, **pipes) as other:
            assert other.stdout.readline() == b"open\n"
            change_beat(folder, pid=other.pid, born=started_at(other.pid))
            with pytest.raises(CannotStop, match=r"has no event file .* was not stopped"):
                stop_run(folder, kill=True)
            with pytest.raises(CannotStop, match=r"has no event file .* was not stopped"):
                kill_run(str(folder))
            assert other.poll() is None
            other.communicate(b"\n")


@pytest.mark.fault(74)
def test_a_heartbeat_of_another_user_ends_no_process(folder, monkeypatch):
    with training(folder) as process:
        if os.geteuid() == 0:
            os.chown(folder / ".runfold" / "heartbeat", 65534, -1)
        else:
            owner = {str(folder / ".runfold" / "heartbeat"): 65534}
            real = process_module._owner_of
            monkeypatch.setattr(
                process_module, "_owner_of", lambda path: owner.get(path) or real(path)
            )
        with pytest.raises(
            CannotStop, match=r"not written by the user of process .* may be forged"
        ):
            stop_run(folder, kill=True)
        assert process.poll() is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"pids": "elsewhere/1", "host": "node-7"},
            "cannot be killed from here. The run is on node-7",
        ),
        ({"pids": os.uname().nodename + "/1"}, "in another container on"),
        ({"pids": None, "host": None}, "does not record which machine the run is on"),
        ({"born": None}, "does not identify its process"),
        ({"pid": 10**30}, "has ended"),
        ({"pid": -1}, "does not identify its process"),
    ],
)
def test_a_run_that_cannot_be_killed_from_here_gets_no_request(folder, changes, message):
    with training(folder):
        assert why_not_kill(str(folder)) == ""
        change_beat(folder, **changes)
        assert why_not_kill(str(folder))
        with pytest.raises(CannotStop, match=message):
            stop_run(folder, kill=True)
        assert look_at_stop(str(folder)).stage == "running"
        # A request from elsewhere still works.
        assert stop_run(folder, wait=False).stage == "asked"


def test_runs_that_are_not_running_raise_different_errors(tmp_path, folder):
    with pytest.raises(LogdirNotFound, match="is not a folder; there is no run to stop"):
        stop_run(tmp_path / "nothing")
    with rf.SummaryWriter(tmp_path / "plain"):
        pass
    with pytest.raises(CannotStop, match="was not tracked"):
        stop_run(tmp_path / "plain")
    with rf.track(folder, code=False, system=False):
        pass
    with pytest.raises(CannotStop, match=r"its state is finished\. There is nothing to stop"):
        stop_run(folder)
    with training(tmp_path / "dead") as process:
        process.kill()
        process.wait()
        for stop in (stop_run, kill_run):
            with pytest.raises(CannotStop, match="the run crashed"):
                stop(str(tmp_path / "dead"))
    assert not (tmp_path / "dead" / ".runfold" / "stop").exists()


ASK = """
import getpass, os
import runfold._log.capture.environment
from runfold.errors import CannotStop
from runfold._story.stopping import look_at_stop, stop_run
if os.geteuid() == 0:
    os.setuid(65534)  # root may write everywhere
try:
    stop_run("run")
except CannotStop as error:
    print(error, look_at_stop("run").stage)
"""


def test_a_folder_that_cannot_be_written_is_reported(folder):
    with training(folder):
        paths = (folder / ".runfold", folder, folder.parent)
        for path in paths:
            path.chmod(0o555)
        # The path is relative, because other users cannot enter pytest's own folders.
        done = subprocess.run(
            [sys.executable, "-c", ASK],
            cwd=folder.parent,
            env={**os.environ, "XDG_STATE_HOME": "/dev/null"},
            capture_output=True,
            text=True,
        )
        for path in paths:
            path.chmod(0o755)
    assert done.stderr.count("Warning: Cannot write the audit log") == 1
    assert done.stdout == (
        "run cannot be written to: Permission denied. The run was not asked to stop. Try again as a"
        " user with write permission. running\n"
    )


def test_a_request_for_an_earlier_session_is_ignored(folder):
    with training(folder):
        stop_run(folder, grace=WAIT)
    script = OBEDIENT.replace("code=False", "code=False, resume=True")
    with training(folder, script):
        assert look_at_stop(str(folder)).stage == "running"
        assert status_of(folder).state == "running"
        assert stop_run(folder, grace=WAIT).state == "stopped"


def test_a_withdrawn_request_is_ignored(tmp_path):
    control = Control(str(tmp_path), lambda _: pytest.fail("it was withdrawn"))
    request_stop(str(tmp_path))
    (tmp_path / ".runfold" / "stop").unlink()
    control._look()
    assert not control.should_stop
