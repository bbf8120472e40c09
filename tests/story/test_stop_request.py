"""Stop requests in the run's folder, and the run that sees them."""

import json
import os
import subprocess
import sys
import threading

import pytest

from runfold._story.stop_files import StopRequest
from runfold._story.stop_request import Control, request_stop

WAIT = 30


def test_a_request_is_passed_to_on_stop_once(tmp_path):
    heard: list[StopRequest] = []
    arrived = threading.Event()

    def on_stop(request):
        heard.append(request)
        arrived.set()

    control = Control(str(tmp_path), on_stop, seconds=0.01)
    control.start()
    assert not control.should_stop
    sent = request_stop(str(tmp_path), "diverged")
    assert arrived.wait(WAIT)
    control.stop()
    assert heard == [sent]
    assert control.should_stop
    assert control.request == sent
    assert sent.reason == "diverged"
    assert sent.who
    assert os.listdir(tmp_path / ".runfold") == ["stop.seen"]


def test_a_file_created_by_hand_is_a_request(tmp_path):
    arrived = threading.Event()
    control = Control(str(tmp_path), lambda request: arrived.set(), seconds=0.01)
    control.start()
    (tmp_path / ".runfold").mkdir()
    (tmp_path / ".runfold" / "stop").touch()
    assert arrived.wait(WAIT)
    control.stop()
    assert control.request == StopRequest()


@pytest.mark.parametrize("content", ["[" * 100_000, '{"when": 1%s}' % ("0" * 400), "[]", "\udcff"])
def test_a_request_that_cannot_be_read_is_still_a_request(tmp_path, content):
    arrived = threading.Event()
    control = Control(str(tmp_path), lambda request: arrived.set(), seconds=0.01)
    control.start()
    (tmp_path / ".runfold").mkdir()
    (tmp_path / "stop").write_text(content, errors="surrogateescape")
    (tmp_path / "stop").rename(tmp_path / ".runfold" / "stop")
    assert arrived.wait(WAIT)
    control.stop()
    assert control.request == StopRequest()


def test_a_request_for_an_earlier_run_is_removed(tmp_path):
    request_stop(str(tmp_path))
    control = Control(str(tmp_path), seconds=0.01)
    control.start()
    control.stop()
    assert not control.should_stop
    assert os.listdir(tmp_path / ".runfold") == []


@pytest.mark.parametrize("sigint", ["default_int_handler", "SIG_IGN"])
def test_without_on_stop_the_main_thread_is_interrupted(tmp_path, sigint):
    # In shell scripts, commands started with `&` ignore SIGINT.
    script = f"""
import signal, sys, time
from runfold._story.stop_request import Control
signal.signal(signal.SIGINT, signal.{sigint})
control = Control(sys.argv[1], seconds=0.01)
control.start()
try:
    print("ready", flush=True)
    while True:
        time.sleep({100 if sigint == "default_int_handler" else 0.01})
except KeyboardInterrupt:
    print("interrupted", control.should_stop, control.request.reason)
"""
    child = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    with child:
        assert child.stdout.readline() == "ready\n"
        request_stop(str(tmp_path), "enough")
        assert child.stdout.read() == "interrupted True enough\n"
    assert child.returncode == 0


def test_a_request_to_a_missing_folder_raises(tmp_path):
    with pytest.raises(FileNotFoundError):
        request_stop(str(tmp_path / "nothing"))
    assert os.listdir(tmp_path) == []


def test_a_request_contains_who_when_and_why(tmp_path):
    sent = request_stop(str(tmp_path), "why")
    content = json.loads((tmp_path / ".runfold" / "stop").read_text())
    assert content == {"who": sent.who, "host": sent.host, "when": sent.when, "reason": "why"}


def test_a_failing_on_stop_causes_a_warning(tmp_path):
    def on_stop(request):
        raise OSError("no disk")

    control = Control(str(tmp_path), on_stop, seconds=0.01)

    def ask():
        control.start()
        request_stop(str(tmp_path))
        control._pulse._thread.join(WAIT)

    with pytest.warns(UserWarning, match=r"runfold-control: OSError: no disk. Training continues."):
        ask()
    assert control.should_stop
