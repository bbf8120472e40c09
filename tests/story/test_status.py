"""The status of a run: how it is recorded, and how it is read."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

import runfold as rf
from runfold._log.track.heartbeat import Heart
from runfold._log.writer.event_writer import EventWriter
from runfold._story.status import RunStatus, read_status
from runfold._story.story_parts import decode_story

HEAD = """
import os, signal, sys
from runfold._log.track.heartbeat import Heart
from runfold._log.writer.event_writer import EventWriter
folder = sys.argv[1]
writer = EventWriter(folder)
heart = Heart(folder, writer)
heart.start()
"""


def story(folder):
    """Return the status parts in the folder's event files."""
    texts = rf.open(folder).text()
    return [decode_story(text) for text in texts[texts["tag"] == "runfold/status"]["text"]]


def end_of(tmp_path, body):
    """Run a script with a heartbeat; return its last status, its exit code and its stderr."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + body, str(tmp_path)], capture_output=True, text=True
    )
    parts = story(tmp_path)
    beat = json.loads((tmp_path / ".runfold" / "heartbeat").read_text())
    assert [status["state"] for status in parts] == ["running", beat["state"]]
    assert parts[0]["pid"] == beat["pid"]
    assert parts[1].pop("ended") >= parts[0]["started"]
    return parts[1], done.returncode, done.stderr


def test_a_script_that_ends_is_finished(tmp_path):
    assert end_of(tmp_path, "") == ({"state": "finished"}, 0, "")


def test_an_uncaught_exception_is_recorded_with_its_traceback(tmp_path):
    status, code, printed = end_of(tmp_path, "1 / 0")
    assert status["state"] == "failed"
    assert status["exit"] == code == 1
    assert status["traceback"] == printed
    assert "ZeroDivisionError" in printed


def test_ctrl_c_is_recorded_as_interrupted(tmp_path):
    status, code, _ = end_of(tmp_path, "os.kill(os.getpid(), signal.SIGINT)")
    assert (status["state"], status["exit"]) == ("interrupted", 130)
    assert code == -signal.SIGINT


def test_an_interrupt_by_request_is_recorded_as_stopped(tmp_path):
    status, _, _ = end_of(tmp_path, "heart.on_interrupt = 'stopped'\nraise KeyboardInterrupt")
    assert status["state"] == "stopped"


def test_sigterm_is_recorded_as_killed_and_ends_the_process(tmp_path):
    status, code, _ = end_of(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)")
    assert status == {"state": "killed", "exit": 143}
    assert code == -signal.SIGTERM


def test_a_sigterm_that_the_script_handles_ends_like_the_script(tmp_path):
    first = HEAD.replace("writer =", "signal.signal(signal.SIGTERM, lambda *_: None)\nwriter =")
    body = "os.kill(os.getpid(), signal.SIGTERM)"
    subprocess.run([sys.executable, "-c", first + body, str(tmp_path)], check=True)
    assert [status["state"] for status in story(tmp_path)] == ["running", "finished"]


def test_a_sigterm_that_the_script_turns_into_an_exit_is_recorded_as_killed(tmp_path):
    first = HEAD.replace("writer =", "signal.signal(15, lambda *_: sys.exit(7))\nwriter =")
    body = "os.kill(os.getpid(), signal.SIGTERM)"
    done = subprocess.run([sys.executable, "-c", first + body, str(tmp_path)])
    assert done.returncode == 7
    assert [status["state"] for status in story(tmp_path)] == ["running", "killed"]


def test_a_forked_child_records_nothing(tmp_path):
    body = "child = os.fork()\nif not child: sys.exit()\nos.waitpid(child, 0)"
    assert end_of(tmp_path, body)[0] == {"state": "finished"}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (None, {"state": "finished"}),
        (SystemExit(), {"state": "finished", "exit": 0}),
        (SystemExit(3), {"state": "failed", "exit": 3}),
        (SystemExit("bad"), {"state": "failed", "exit": 1}),
    ],
)
def test_the_status_of_a_block_depends_on_its_error(tmp_path, error, status):
    hook, handler = sys.excepthook, signal.getsignal(signal.SIGTERM)
    order = []
    with EventWriter(str(tmp_path)) as writer:
        before = signal.getsignal(signal.SIGTERM)
        heart = Heart(str(tmp_path), writer, on_end=lambda: order.append("end"))
        heart.start()
        heart.stop(error)
        heart.stop(state="killed")
        assert signal.getsignal(signal.SIGTERM) == before
    signal.signal(signal.SIGTERM, handler)
    assert sys.excepthook is hook
    last = story(tmp_path)[-1]
    last.pop("ended")
    assert (last, order) == (status, ["end"])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_runs_leave_no_hooks_whatever_the_order_in_which_they_end(tmp_path, order):
    hook, handler = sys.excepthook, signal.getsignal(signal.SIGTERM)
    with EventWriter(str(tmp_path)) as writer:
        before = signal.getsignal(signal.SIGTERM)
        hearts = [Heart(str(tmp_path), writer) for _ in order]
        for heart in hearts:
            heart.start()
        for index in order:
            hearts[index].stop()
        assert signal.getsignal(signal.SIGTERM) == before
    signal.signal(signal.SIGTERM, handler)
    assert sys.excepthook is hook


def test_a_long_traceback_is_cut_in_the_middle(tmp_path):
    with EventWriter(str(tmp_path)) as writer:
        heart = Heart(str(tmp_path), writer)
        heart.start()
        heart.stop(ValueError("a" * 100_000 + "z"))
    text = story(tmp_path)[-1]["traceback"]
    assert len(text) < 21_000
    assert "aaa\n… 80,0" in text
    assert text.endswith("az\n")


def test_a_run_that_ends_while_it_is_read_is_not_reported_as_crashed(tmp_path):
    writer = EventWriter(str(tmp_path))
    heart = Heart(str(tmp_path), writer)
    heart.start()
    parts = [{"state": "running", "pid": os.getpid(), "started": 1.0}]
    heart.stop(state="stopped")
    writer.close()
    # The story was read before the run ended, and the process has ended since.
    beat = tmp_path / ".runfold" / "heartbeat"
    beat.write_text(json.dumps({**json.loads(beat.read_text()), "pid": 2**30}))
    assert read_status(parts, str(tmp_path), time.time()).state == "stopped"


def test_a_run_that_was_killed_is_crashed(tmp_path):
    script = HEAD + "os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", script, str(tmp_path)])
    parts = story(tmp_path)
    found = read_status(parts, str(tmp_path), time.time())
    beat = os.stat(tmp_path / ".runfold" / "heartbeat").st_mtime
    assert found == RunStatus("crashed", started=parts[0]["started"], heartbeat=beat)


def test_the_heartbeat_shows_whether_a_run_is_alive(tmp_path):
    with EventWriter(str(tmp_path)) as writer:
        heart = Heart(str(tmp_path), writer, seconds=1000)
        heart.start()
        parts = story(tmp_path)
        path = tmp_path / ".runfold" / "heartbeat"
        beat = path.stat().st_mtime
        assert read_status(parts, str(tmp_path), beat + 5000).state == "running"
        assert read_status(parts, str(tmp_path), beat + 7000).state == "crashed"
        # A process on another machine: only the heartbeat is known.
        beat_data = json.loads(path.read_text()) | {"pids": "elsewhere/1", "pid": 2**22 + 1}
        path.write_text(json.dumps(beat_data))
        assert read_status(parts, str(tmp_path), beat).state == "running"
        # Only the event files were copied: their time is used instead of the heartbeat's.
        heart.stop()
        (tmp_path / "copy").mkdir()
        alone = shutil.copy(writer.path, tmp_path / "copy")
        written = os.stat(alone).st_mtime
        assert read_status(parts, str(tmp_path / "copy"), written + 59).state == "running"
        assert read_status(parts, str(tmp_path / "copy"), written + 61).state == "crashed"


def test_the_last_session_of_a_run_determines_its_status(tmp_path):
    first = {"state": "running", "started": 1.0}, {"state": "failed", "ended": 2.0, "exit": 1}
    again = {"state": "running", "started": 5.0}, {"state": "finished", "ended": 9.0}
    folder = str(tmp_path)
    assert read_status([*first, *again], folder, 99.0) == RunStatus("finished", 5.0, 9.0)
    assert read_status(first, folder, 99.0) == RunStatus("failed", 1.0, 2.0, 1)
    assert read_status([], folder, 99.0) == RunStatus("unknown")


def test_a_session_that_continues_a_run_in_one_program_keeps_its_start(tmp_path):
    parts = [
        {"state": "running", "started": 1.0},
        {"state": "finished", "ended": 2.0},
        {"state": "running", "started": 5.0, "began": 1.0},
        {"state": "finished", "ended": 9.0},
    ]
    assert read_status(parts, str(tmp_path), 99.0) == RunStatus("finished", 1.0, 9.0)
    parts[2]["began"] = "yesterday"
    assert read_status(parts, str(tmp_path), 99.0) == RunStatus("finished", 5.0, 9.0)


def test_invalid_status_values_are_ignored(tmp_path):
    huge = 10**400
    (tmp_path / ".runfold").mkdir()
    (tmp_path / ".runfold" / "heartbeat").write_text(json.dumps({"seconds": huge}))
    parts = [
        {"state": "running", "started": huge},
        {"state": "failed", "ended": huge, "exit": "1", "traceback": ["a"]},
    ]
    beat = (tmp_path / ".runfold" / "heartbeat").stat().st_mtime
    assert read_status(parts[:1], str(tmp_path), beat) == RunStatus("running", heartbeat=beat)
    assert read_status(parts, str(tmp_path), beat) == RunStatus("failed", heartbeat=beat)


def test_a_traceback_contains_no_secrets(tmp_path):
    status, _, _ = end_of(tmp_path, "raise ValueError('no login at https://me:hunter2@host/')")
    assert status["traceback"].endswith("ValueError: no login at https://***@host/\n")
    assert "hunter2" not in status["traceback"]
