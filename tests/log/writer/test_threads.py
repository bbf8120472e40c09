"""Threads that log at the same time, and the background thread that writes for all writers."""

import sys
import threading

import pytest
from helpers.log_runs import logged, run

import runfold as rf
from runfold._events import value_encoding as values
from runfold._log.writer.event_writer import EventWriter


def test_threads_can_log_at_the_same_time(tmp_path):
    with EventWriter(tmp_path) as writer:
        writer._recorder.limit = 1000  # so that the background thread runs often

        def log(name: str) -> None:
            for step in range(5000):
                writer.add_scalar(name, 0.5, step)

        threads = [threading.Thread(target=log, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    run_of_all = rf.open(tmp_path)["."]
    for name in "abcd":
        assert run_of_all[name].steps.tolist() == list(range(5000))


def test_no_event_is_lost_while_others_are_written(tmp_path):
    message = values.text("note", "hello")
    writer, is_over = EventWriter(tmp_path), threading.Event()

    def write_all_the_time() -> None:
        while not is_over.is_set():
            writer.drain()

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread = threading.Thread(target=write_all_the_time)
    thread.start()
    try:
        for step in range(5000):
            writer.add_value("note", message, step)
            writer.add_scalar("loss", step, step)
    finally:
        sys.setswitchinterval(before)
        is_over.set()
        thread.join()
        writer.close()
    assert rf.open(tmp_path).text()["step"].tolist() == list(range(5000))
    assert list(logged(tmp_path)) == list(range(5000))


@pytest.mark.parametrize("flush_secs", [0, -1])
def test_the_thread_sleeps_even_with_flush_secs_0(tmp_path, flush_secs):
    code = f"""
        import time
        from runfold._log.writer import flusher
        naps, wait = [], flusher.flusher._wake.wait
        flusher.flusher._wake.wait = lambda seconds: (naps.append(seconds), wait(seconds))
        flusher.flusher.wake()
        EventWriter(writer.folder, flush_secs={flush_secs})
        flusher.flusher.wake()
        while len(naps) < 3: time.sleep(0.01)
        print(min(naps))
    """
    assert float(run(code, tmp_path).stdout) > 0


def test_a_warning_turned_into_an_error_does_not_stop_other_writers(tmp_path):
    code = """
        import shutil, warnings
        from runfold._log.writer import flusher
        warnings.simplefilter("error")
        done = threading.Event()
        threading.excepthook = lambda arguments: (print(arguments.exc_type.__name__), done.set())
        gone = EventWriter(writer.folder + "/gone", flush_secs=0, on_error="warn")
        shutil.rmtree(gone.folder)
        gone.add_scalar("loss", 1.0, 1)
        assert done.wait(60)
        writer.add_scalar("loss", 1.0, 1)
        flusher.flusher.wake()
        while len(writer._recorder.events): pass
        gone.add_scalar("loss", 1.0, 2)
        gone.flush()
        writer.flush()
        os._exit(0)
    """
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, b"UserWarning\n"), done.stderr
    assert logged(tmp_path) == {1: 1.0}
    assert logged(tmp_path / "gone") == {2: 1.0}
