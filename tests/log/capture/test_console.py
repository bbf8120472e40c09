"""Console output is copied into the run and otherwise unchanged."""

import os
import pty
import subprocess
import sys

import pytest
from helpers.output_logs import output

from runfold._log.capture.console import ConsoleCapture
from runfold._log.writer.event_writer import EventWriter

HEAD = """
import ctypes, os, subprocess, sys, threading
from runfold._log.capture.console import ConsoleCapture
from runfold._log.writer.event_writer import EventWriter
writer = EventWriter(sys.argv[1])
capture = ConsoleCapture(writer)
capture.start()
"""
TAIL = "\ncapture.stop()\nprint('after', flush=True)\nwriter.close()\n"


def execute(tmp_path, body, code=0, **options):
    """Run a script and return its real output."""
    # Python 3.12 and later warn about forks in a process with threads, and capturing uses threads.
    command = [
        sys.executable,
        "-W",
        "ignore:This process:DeprecationWarning",
        "-c",
        HEAD + body + TAIL,
        str(tmp_path / "run"),
    ]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "timeout": 120} | options
    done = subprocess.run(command, **options)
    assert done.returncode == code
    return done


def test_output_of_python_c_and_children_is_printed_and_stored(tmp_path):
    body = """
print("python", flush=True)
os.write(2, b"error\\n")
libc = ctypes.CDLL(None)
libc.puts(b"c")
libc.fflush(None)
subprocess.run(["echo", "child"])
child = os.fork()
if not child:
    os.write(1, b"fork\\n")
    os._exit(0)
os.waitpid(child, 0)
"""
    expected = "python\nerror\nc\nchild\nfork\n"
    assert execute(tmp_path, body).stdout.decode() == expected + "after\n"
    assert output(tmp_path / "run") == (expected, [0])


def test_no_byte_is_lost_or_changed(tmp_path):
    body = "for n in range(2000): os.write(1, bytes(i * n % 256 for i in range(4096)))"
    written = b"".join(bytes(i * n % 256 for i in range(4096)) for n in range(2000))
    assert execute(tmp_path, body).stdout == written + b"after\n"


def test_separate_streams_stay_separate(tmp_path):
    body = "print('out')\nprint('err', file=sys.stderr)"
    done = execute(tmp_path, body, stderr=subprocess.PIPE)
    assert (done.stdout, done.stderr) == (b"out\nafter\n", b"err\n")
    assert sorted(output(tmp_path / "run")[0].split()) == ["err", "out"]


def test_c_code_that_holds_the_gil_can_write_more_than_the_pipe_capacity(tmp_path):
    body = """
libc = ctypes.PyDLL(None)
data = b"x" * 1_000_000
done = 0
while done < len(data):
    done += libc.write(1, data[done:], len(data) - done)
"""
    assert execute(tmp_path, body).stdout == b"x" * 1_000_000 + b"after\n"


def test_output_just_before_a_crash_is_printed(tmp_path):
    done = execute(tmp_path, "os.write(1, b'last'); os.abort()", code=-6)
    assert done.stdout == b"last"


def test_a_child_that_outlives_the_run_can_still_write(tmp_path):
    # The child writes after the script has ended and closed the pipe.
    body = """
reader, keeper = os.pipe()
subprocess.Popen(["sh", "-c", "cat >&2; echo late"], stdin=reader)
os.close(reader)
os.set_inheritable(keeper, False)
"""
    assert execute(tmp_path, body).stdout == b"after\nlate\n"
    assert output(tmp_path / "run") == ("", [])


def test_the_writer_gets_an_error_when_the_reader_closes_the_pipe(tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    body = """
import signal
signal.signal(signal.SIGPIPE, signal.SIG_IGN)
try:
    while True:
        os.write(1, b"x" * 100)
except BrokenPipeError:
    os.write(2, b"broken")
    os._exit(0)
"""
    done = execute(tmp_path, body, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.stderr == b"broken"


def test_a_terminal_stays_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    body = "print(sys.stdout.isatty(), sys.stderr.isatty(), os.get_terminal_size(1)[0])"
    os.set_blocking(ours, False)
    subprocess.run(["stty", "cols", "91"], stdin=theirs, check=True)
    execute(tmp_path, body, stdout=theirs, stderr=theirs)
    assert os.read(ours, 1000) == b"True True 91\r\nafter\r\n"
    assert output(tmp_path / "run")[0] == "True True 91\n"
    os.close(ours)
    os.close(theirs)


def test_output_before_an_exception_is_printed_and_stored(tmp_path):
    body = """
try:
    try:
        print("work")
        1 / 0
    finally:
        capture.stop()
except ZeroDivisionError:
    print("caught")
"""
    assert execute(tmp_path, body).stdout == b"work\ncaught\nafter\n"
    assert output(tmp_path / "run")[0] == "work\n"


def test_pytest_capture_still_works(tmp_path, capfd):
    with EventWriter(str(tmp_path)) as writer:
        streams = sys.stdout, sys.stderr
        capture = ConsoleCapture(writer)
        capture.start()
        print("print")
        os.write(2, b"descriptor\n")
        capture.stop()
        capture.stop()
        assert (sys.stdout, sys.stderr) == streams
        print("later")
    assert capfd.readouterr() == ("print\nlater\n", "descriptor\n")
    assert sorted(output(tmp_path)[0].split()) == ["descriptor", "print"]


def test_without_a_pump_output_is_only_printed(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(sys, "executable", "")
    with EventWriter(str(tmp_path)) as writer:
        capture = ConsoleCapture(writer)
        with pytest.warns(UserWarning, match="Output is not stored in the run: no Python"):
            capture.start()
        os.write(1, b"real\n")
        capture.stop()
    assert capfd.readouterr().out == "real\n"
