"""No promised event is lost, however a process ends."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from helpers.log_runs import logged, problems, run

import runfold as rf
from runfold._log.writer.event_writer import EventWriter


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("sys.exit(3)", 3),
        ("raise RuntimeError('died')", 1),
        ("os.kill(os.getpid(), signal.SIGTERM)\nsignal.pause()", -signal.SIGTERM),
        ("writer.flush()\nos._exit(5)", 5),
        ("writer.flush()\nos.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
def test_no_kind_of_exit_loses_promised_events(tmp_path, end, status):
    code = "for step in range(500): writer.add_scalar('loss', 0.5, step)\n" + end
    assert run(code, tmp_path).returncode == status
    assert list(logged(tmp_path)) == list(range(500))
    assert problems(tmp_path) == []


def test_a_dropped_writer_still_writes(tmp_path):
    code = """
        def log():
            EventWriter(writer.folder).add_scalar("forgotten", 1.0, 1)
        log()
    """
    assert run(code, tmp_path).returncode == 0
    assert logged(tmp_path, "forgotten") == {1: 1.0}


def test_the_file_of_a_killed_process_contains_all_flushed_events(tmp_path):
    code = """
        for step in range(10**9):
            writer.add_scalar("loss", float(step), step)
            if step % 50 == 49:
                writer.flush()
                os.write(1, b"%d\\n" % step)
    """
    head = f"""
        import os
        from runfold._log.writer.event_writer import EventWriter
        writer = EventWriter({str(tmp_path)!r} + "/" + os.environ["ROUND"], flush_secs=600)
    """
    program = textwrap.dedent(head) + textwrap.dedent(code)
    # Starting an interpreter takes longer than the loop, so one server forks a child per round.
    server = f"""
import os, signal, sys
PROGRAM = compile({program!r}, "child", "exec")
for number in range(200):
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(writer, 1)
        os.environ["ROUND"] = str(number)
        exec(PROGRAM, {{}})
    os.close(writer)
    seen = b""
    while seen.count(b"\\n") <= number % 7:
        seen += os.read(reader, 4096)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while more := os.read(reader, 4096):
        seen += more
    os.close(reader)
    print(number, seen.split(b"\\n")[-2].decode(), flush=True)
"""
    done = subprocess.run(
        [sys.executable, "-c", server], capture_output=True, text=True, timeout=300, check=True
    )
    runs = rf.open(tmp_path)
    rounds = [line.split() for line in done.stdout.splitlines()]
    assert len(rounds) == 200
    for number, flushed in rounds:
        steps = runs[number]["loss"].steps
        assert len(steps) > int(flushed)
        np.testing.assert_array_equal(steps, np.arange(len(steps)))
    assert set(runs.problems()["code"]) <= {"torn_tail"}


@pytest.mark.fault(61)
def test_other_writers_are_closed_if_the_last_warning_of_one_is_an_error(tmp_path):
    code = """
        import shutil, warnings
        warnings.simplefilter("error")
        others = [EventWriter(f"{writer.folder}/{n}", on_error="warn") for n in range(10)]
        for other in others:
            other.add_scalar("loss", 1.0, 1)
            shutil.rmtree(other.folder)
        for step in range(500): writer.add_scalar("loss", 0.5, step)
    """
    done = run(code, tmp_path)
    assert b"event file was deleted" in done.stderr
    assert list(logged(tmp_path)) == list(range(500))


@pytest.mark.fault(56)
def test_an_interrupted_write_neither_loses_nor_repeats_events(tmp_path, monkeypatch):
    writer = EventWriter(tmp_path, flush_secs=600)
    write = os.write

    def interrupted(file: int, data: bytes) -> int:
        write(file, data[:1000])
        raise KeyboardInterrupt

    for step in range(100):
        writer.add_scalar("loss", 1.0, step)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", interrupted)
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                writer.flush()
    writer.add_scalar("loss", 1.0, 100)
    writer.close()
    assert list(logged(tmp_path)) == list(range(101))
    assert len(rf.open(tmp_path)["."]["loss"]) == 101
    assert problems(tmp_path) == []


def test_sigterm_while_an_event_is_added_does_not_deadlock(tmp_path):
    # The other thread holds the file lock and waits for the event lock, which the main thread
    # holds when the signal arrives.
    code = """
        has_lock = threading.Event()
        def hold_lock():
            with writer.lock:
                has_lock.set()
                with writer._gate: pass
        def announce():
            threading.Thread(target=hold_lock, daemon=True).start()
            has_lock.wait()
            os.kill(os.getpid(), signal.SIGTERM)
        writer.file.policy.announce = announce
        writer.add_scalar("loss", 1, 1)
        print("still here")
    """
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, b"")
    assert logged(tmp_path) == {1: 1.0}
