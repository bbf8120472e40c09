"""The audit log: every action is recorded once, and only the log's owner can read it."""

import os
import subprocess
import sys

import pytest
from helpers.cli_runs import run_apart
from helpers.serving import open_client
from helpers.trainings import DEAF, STUBBORN, training

import runfold as rf
from runfold._story.audit_log import read_actions, record_action
from runfold._story.stop_request import request_stop
from runfold._story.stopping import kill_run, look_at_stop, stop_run
from runfold.errors import CannotStop

WAIT = 60


@pytest.fixture(autouse=True)
def logdir(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


def by_python(ask):
    return lambda: ask("runs/a", reason="enough")


def by_command():
    assert run_apart("stop", "a", "--no-wait", "--reason", "enough").returncode == 0


def by_request():
    client = open_client("runs")
    assert client.post("/api/stop", json={"run": "a", "reason": "enough"}).status_code == 200


@pytest.mark.parametrize(
    ("ask", "how"),
    [
        (by_python(request_stop), "python"),
        (by_python(lambda *args, **more: stop_run(*args, **more, wait=False)), "python"),
        (by_command, "command"),
        (by_request, "api"),
    ],
)
def test_a_stop_request_is_recorded_once_with_user_and_origin(logdir, ask, how):
    with training(logdir / "a", STUBBORN):
        ask()
        stop_run(logdir / "a", reason="again", wait=False)  # sends no request
    (action,) = read_actions()
    assert action.pop("time") > 0
    assert action.pop("pid") > 0
    assert action == {
        "user": look_at_stop(str(logdir / "a")).request.who,
        "host": os.uname().nodename,
        "action": "stop",
        "target": str(logdir / "a"),
        "how": how,
        "outcome": "asked",
        "reason": "enough",
    }


def test_each_signal_is_recorded_with_the_reason_of_the_request(logdir):
    with training(logdir / "a", DEAF):
        stop_run(logdir / "a", reason="enough", wait=False)
        kill_run("runs/a", seconds=0.05)
    assert [
        (action["action"], action["outcome"], action["reason"]) for action in read_actions()
    ] == [
        ("stop", "asked", "enough"),
        ("kill", "terminated", "enough"),
        ("kill", "killed", "enough"),
    ]
    assert {(action["target"], action["how"]) for action in read_actions()} == {
        (f"{logdir}/a", "python")
    }


def test_a_refusal_is_recorded_once_with_its_reason(logdir):
    with rf.track(logdir / "a", code=False, system=False):
        pass
    whys = []
    for refuse in (stop_run, lambda folder: stop_run(folder, kill=True), kill_run):
        with pytest.raises(CannotStop) as error:
            refuse("runs/a")
        whys.append(str(error.value))
    noted = [(action["action"], action["outcome"], action["why"]) for action in read_actions()]
    assert noted == list(zip(("stop", "stop", "kill"), ("refused",) * 3, whys, strict=True))
    assert {action["target"] for action in read_actions()} == {str(logdir / "a")}


def test_a_run_can_be_stopped_if_the_state_folder_cannot_be_written(logdir, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    message = (
        "Cannot write the audit log: /dev/null/runfold: Not a directory. Set XDG_STATE_HOME to a"
        " folder that you can write to. This action was not recorded."
    )
    with training(logdir / "a", STUBBORN), pytest.warns(UserWarning, match=message):
        assert stop_run(logdir / "a", wait=False).is_new
    with training(logdir / "b", STUBBORN) as process:
        done = run_apart("stop", "runs/b", "--grace", "0", "--kill")
        process.wait(WAIT)
    assert (done.returncode, done.stdout) == (0, "runs/b: killed\n")
    assert message in done.stderr
    with training(logdir / "c", STUBBORN):
        answer = open_client(logdir).post("/api/stop", json={"run": "c"})
        assert answer.json()["stage"] in ("asked", "seen")


def test_the_audit_log_is_private_and_its_size_is_limited(tmp_path):
    for number in range(3):
        record_action("stop", "x" * 3_000_000, how="page", number=number)
    assert [action["number"] for action in read_actions()] == [0, 1, 2]
    place = tmp_path / "state" / "runfold" / "audit.jsonl"
    assert place.stat().st_mode & 0o777 == 0o600
    for number in range(3, 9):
        record_action("stop", "x" * 3_000_000, how="page", number=number)
    kept = [action["number"] for action in read_actions()]
    assert kept == list(range(kept[0], 9))
    assert len(kept) <= 4


WRITE = """
import sys
from runfold._story.audit_log import record_action
for number in range(150):
    record_action("stop", "x" * 30_000, how="page", number=number)
"""


def test_the_audit_log_loses_nothing_when_two_processes_write():
    children = [subprocess.Popen([sys.executable, "-c", WRITE]) for _ in range(2)]
    assert [child.wait(WAIT) for child in children] == [0, 0]
    # 9 MB were written; the rotated file and the new one contain the last part.
    kept = read_actions(last=1000)
    assert len(kept) > 4_000_000 // 30_100
    for child in children:
        numbers = [action["number"] for action in kept if action["pid"] == child.pid]
        assert numbers == list(range(numbers[0], 150))
