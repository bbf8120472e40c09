"""A thread that beats, whatever happens in a beat."""

import subprocess
import sys
import threading

import pytest

from runfold._periodic import Periodic

WAIT = 30


def test_a_pulse_beats_on_after_an_error_and_warns_once():
    beats: list[int] = []
    third = threading.Event()

    def beat():
        beats.append(None)
        if len(beats) == 3:
            third.set()
        raise ValueError("x")

    def live():
        pulse = Periodic(beat, 0.001, "runfold-test")
        pulse.start()
        assert third.wait(WAIT)
        pulse.stop()

    with pytest.warns(UserWarning, match="runfold-test: ValueError: x") as told:
        live()
    assert len(told) == 1


def test_a_pulse_ends_without_waiting_for_the_next_beat():
    began = threading.Event()
    pulse = Periodic(began.set, 10_000, "runfold-test")
    pulse.start()
    assert began.wait(WAIT)
    pulse.stop(timeout=WAIT)
    assert not pulse._thread.is_alive()


def test_the_child_of_a_fork_has_no_pulse():
    script = """
import os, threading, warnings
from runfold._periodic import Periodic
pulse = Periodic(lambda: None, 10_000, "runfold-test")
pulse.start()
warnings.simplefilter("ignore")
child = os.fork()
if not child:
    pulse.stop()
    os._exit(threading.active_count())
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=WAIT)
