"""A thread that calls a function periodically, even if a call fails."""

import subprocess
import sys
import threading

import pytest

from runfold._periodic import Periodic

WAIT = 30


def test_calls_continue_after_an_error_with_one_warning():
    calls: list[int] = []
    third = threading.Event()

    def fail():
        calls.append(None)
        if len(calls) == 3:
            third.set()
        raise ValueError("x")

    def run_three_calls():
        thread = Periodic(fail, 0.001, "runfold-test")
        thread.start()
        assert third.wait(WAIT)
        thread.stop()

    with pytest.warns(UserWarning, match="runfold-test: ValueError: x") as warnings:
        run_three_calls()
    assert len(warnings) == 1


def test_stop_does_not_wait_for_the_next_call():
    began = threading.Event()
    thread = Periodic(began.set, 10_000, "runfold-test")
    thread.start()
    assert began.wait(WAIT)
    thread.stop(timeout=WAIT)
    assert not thread._thread.is_alive()


def test_a_forked_child_does_not_have_the_thread():
    script = """
import os, threading, warnings
from runfold._periodic import Periodic
thread = Periodic(lambda: None, 10_000, "runfold-test")
thread.start()
warnings.simplefilter("ignore")
child = os.fork()
if not child:
    thread.stop()
    os._exit(threading.active_count())
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=WAIT)
