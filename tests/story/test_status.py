"""How a run says that it runs and how it ended, and how others see it."""

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
    """The status parts in the folder's event files."""
    texts = rf.open(folder).text()
    return [decode_story(text) for text in texts[texts["tag"] == "runfold/status"]["text"]]


def end_of(tmp_path, body):
    """The last word of a script that has a heart, its exit code and what it wrote to stderr."""
    done = subprocess.run(
        [sys.executable, "-c", HEAD + body, str(tmp_path)], capture_output=True, text=True
    )
    words = story(tmp_path)
    beat = json.loads((tmp_path / ".runfold" / "heartbeat").read_text())
    assert [word["state"] for word in words] == ["running", beat["state"]]
    assert words[0]["pid"] == beat["pid"]
    assert words[1].pop("ended") >= words[0]["started"]
    return words[1], done.returncode, done.stderr


def test_a_script_that_ends_is_finished(tmp_path):
    assert end_of(tmp_path, "") == ({"state": "finished"}, 0, "")


def test_an_exception_that_nobody_caught_is_told_with_its_traceback(tmp_path):
    word, code, printed = end_of(tmp_path, "1 / 0")
    assert word["state"] == "failed"
    assert word["exit"] == code == 1
    assert word["traceback"] == printed
    assert "ZeroDivisionError" in printed


def test_ctrl_c_is_told_as_interrupted(tmp_path):
    word, code, _ = end_of(tmp_path, "os.kill(os.getpid(), signal.SIGINT)")
    assert (word["state"], word["exit"]) == ("interrupted", 130)
    assert code == -signal.SIGINT


def test_an_interrupt_by_request_is_told_as_stopped(tmp_path):
    word, _, _ = end_of(tmp_path, "heart.on_interrupt = 'stopped'\nraise KeyboardInterrupt")
    assert word["state"] == "stopped"


def test_sigterm_is_told_as_killed_and_kills(tmp_path):
    word, code, _ = end_of(tmp_path, "os.kill(os.getpid(), signal.SIGTERM)")
    assert word == {"state": "killed", "exit": 143}
    assert code == -signal.SIGTERM


def test_a_sigterm_that_the_script_handles_ends_as_the_script_ends(tmp_path):
    first = HEAD.replace("writer =", "signal.signal(signal.SIGTERM, lambda *_: None)\nwriter =")
    body = "os.kill(os.getpid(), signal.SIGTERM)"
    subprocess.run([sys.executable, "-c", first + body, str(tmp_path)], check=True)
    assert [word["state"] for word in story(tmp_path)] == ["running", "finished"]


def test_a_sigterm_that_the_script_turns_into_an_exit_is_told_as_killed(tmp_path):
    first = HEAD.replace("writer =", "signal.signal(15, lambda *_: sys.exit(7))\nwriter =")
    body = "os.kill(os.getpid(), signal.SIGTERM)"
    done = subprocess.run([sys.executable, "-c", first + body, str(tmp_path)])
    assert done.returncode == 7
    assert [word["state"] for word in story(tmp_path)] == ["running", "killed"]


def test_a_fork_s_child_says_nothing(tmp_path):
    body = "child = os.fork()\nif not child: sys.exit()\nos.waitpid(child, 0)"
    assert end_of(tmp_path, body)[0] == {"state": "finished"}


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (None, {"state": "finished"}),
        (SystemExit(), {"state": "finished", "exit": 0}),
        (SystemExit(3), {"state": "failed", "exit": 3}),
        (SystemExit("bad"), {"state": "failed", "exit": 1}),
    ],
)
def test_a_block_that_ends_is_told_by_its_error(tmp_path, error, word):
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
    assert (last, order) == (word, ["end"])


def test_a_long_traceback_loses_its_middle(tmp_path):
    with EventWriter(str(tmp_path)) as writer:
        heart = Heart(str(tmp_path), writer)
        heart.start()
        heart.stop(ValueError("a" * 100_000 + "z"))
    text = story(tmp_path)[-1]["traceback"]
    assert len(text) < 21_000
    assert "aaa\n… 80,0" in text
    assert text.endswith("az\n")


def test_a_run_that_ends_while_it_is_asked_for_is_not_taken_for_crashed(tmp_path):
    writer = EventWriter(str(tmp_path))
    heart = Heart(str(tmp_path), writer)
    heart.start()
    words = [{"state": "running", "pid": os.getpid(), "started": 1.0}]
    heart.stop(state="stopped")
    writer.close()
    # The story was read before its last word, and the process is gone by now.
    beat = tmp_path / ".runfold" / "heartbeat"
    beat.write_text(json.dumps({**json.loads(beat.read_text()), "pid": 2**30}))
    assert read_status(words, str(tmp_path), time.time()).state == "stopped"


def test_a_run_that_died_without_a_word_is_crashed(tmp_path):
    script = HEAD + "os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", script, str(tmp_path)])
    words = story(tmp_path)
    found = read_status(words, str(tmp_path), time.time())
    beat = os.stat(tmp_path / ".runfold" / "heartbeat").st_mtime
    assert found == RunStatus("crashed", started=words[0]["started"], heartbeat=beat)


def test_a_heartbeat_tells_a_living_run_from_a_dead_one(tmp_path):
    with EventWriter(str(tmp_path)) as writer:
        heart = Heart(str(tmp_path), writer, seconds=1000)
        heart.start()
        words = story(tmp_path)
        path = tmp_path / ".runfold" / "heartbeat"
        beat = path.stat().st_mtime
        assert read_status(words, str(tmp_path), beat + 5000).state == "running"
        assert read_status(words, str(tmp_path), beat + 7000).state == "crashed"
        # Another machine's process: nothing is known of it but the heartbeat.
        told = json.loads(path.read_text()) | {"pids": "elsewhere/1", "pid": 2**22 + 1}
        path.write_text(json.dumps(told))
        assert read_status(words, str(tmp_path), beat).state == "running"
        # Event files copied alone: their time stands for the heartbeat's.
        heart.stop()
        (tmp_path / "copy").mkdir()
        alone = shutil.copy(writer.path, tmp_path / "copy")
        written = os.stat(alone).st_mtime
        assert read_status(words, str(tmp_path / "copy"), written + 59).state == "running"
        assert read_status(words, str(tmp_path / "copy"), written + 61).state == "crashed"


def test_the_last_session_of_a_run_has_the_last_word(tmp_path):
    first = {"state": "running", "started": 1.0}, {"state": "failed", "ended": 2.0, "exit": 1}
    again = {"state": "running", "started": 5.0}, {"state": "finished", "ended": 9.0}
    folder = str(tmp_path)
    assert read_status([*first, *again], folder, 99.0) == RunStatus("finished", 5.0, 9.0)
    assert read_status(first, folder, 99.0) == RunStatus("failed", 1.0, 2.0, 1)
    assert read_status([], folder, 99.0) == RunStatus("unknown")


def test_what_no_run_would_say_of_itself_is_let_be(tmp_path):
    huge = 10**400
    (tmp_path / ".runfold").mkdir()
    (tmp_path / ".runfold" / "heartbeat").write_text(json.dumps({"seconds": huge}))
    words = [
        {"state": "running", "started": huge},
        {"state": "failed", "ended": huge, "exit": "1", "traceback": ["a"]},
    ]
    beat = (tmp_path / ".runfold" / "heartbeat").stat().st_mtime
    assert read_status(words[:1], str(tmp_path), beat) == RunStatus("running", heartbeat=beat)
    assert read_status(words, str(tmp_path), beat) == RunStatus("failed", heartbeat=beat)


def test_a_traceback_tells_no_secret(tmp_path):
    word, _, _ = end_of(tmp_path, "raise ValueError('no login at https://me:hunter2@host/')")
    assert word["traceback"].endswith("ValueError: no login at https://***@host/\n")
    assert "hunter2" not in word["traceback"]
