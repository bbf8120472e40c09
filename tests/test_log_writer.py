"""Events written in the background: nothing is lost that was promised, however a process ends."""

import copy
import errno
import os
import pickle
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

import runfold as rf
from runfold.errors import CannotLog
from runfold.events import values
from runfold.log.stream import name_file
from runfold.log.writer import EventWriter


def logged(folder: Path, tag: str = "loss") -> dict[int, float]:
    series = rf.open(folder)["."][tag]
    return dict(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def problems(folder: Path) -> list[str]:
    return rf.open(folder).problems()["code"].tolist()


def run(code: str, folder: Path, **options: object) -> subprocess.CompletedProcess[bytes]:
    """Run code in a process of its own, where `writer` writes into the folder."""
    head = f"""
        import os, signal, sys, threading
        from runfold.log.writer import EventWriter
        writer = EventWriter({str(folder)!r}, flush_secs=600)
    """
    program = textwrap.dedent(head) + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=120, check=False, **options
    )


def test_the_files_of_a_process_are_in_order_by_their_names():
    names = [name_file("") for _ in range(1000)]
    assert names == sorted(names)


def test_what_was_logged_is_read_back(tmp_path):
    with EventWriter(tmp_path) as writer:
        for step in range(1000):
            writer.add_scalar("loss", step / 4, step)
    assert logged(tmp_path) == {step: step / 4 for step in range(1000)}


def test_flush_makes_it_readable_at_once(tmp_path):
    writer = EventWriter(tmp_path)
    writer.add_scalar("loss", 0.5, 1)
    writer.flush()
    assert logged(tmp_path) == {1: 0.5}
    writer.close()


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
def test_an_end_of_any_kind_loses_nothing_that_was_promised(tmp_path, end, status):
    code = "for step in range(500): writer.add_scalar('loss', 0.5, step)\n" + end
    assert run(code, tmp_path).returncode == status
    assert list(logged(tmp_path)) == list(range(500))
    assert problems(tmp_path) == []


def test_killed_at_any_moment_the_file_holds_all_that_was_flushed(tmp_path):
    code = """
        for step in range(10**9):
            writer.add_scalar("loss", float(step), step)
            if step % 50 == 49:
                writer.flush()
                os.write(1, b"%d\\n" % step)
    """
    head = f"""
        import os
        from runfold.log.writer import EventWriter
        writer = EventWriter({str(tmp_path)!r} + "/" + os.environ["ROUND"], flush_secs=600)
    """
    program = textwrap.dedent(head) + textwrap.dedent(code)
    # A fresh interpreter takes longer than the loop: one server forks a child a round.
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


@pytest.mark.fault(60)
def test_a_fork_leaves_both_files_whole(tmp_path):
    code = """
        for step in range(100): writer.add_scalar("parent", 1.0, step)
        child = os.fork()
        if child == 0:
            for step in range(100): writer.add_scalar("child", 2.0, step)
            sys.exit()
        os.waitpid(child, 0)
        for step in range(100, 200): writer.add_scalar("parent", 1.0, step)
    """
    assert run(code, tmp_path).returncode == 0
    run_of_both = rf.open(tmp_path)["."]
    assert run_of_both["parent"].steps.tolist() == list(range(200))
    assert run_of_both["child"].steps.tolist() == list(range(100))
    assert len(list(tmp_path.iterdir())) == 2
    assert problems(tmp_path) == []


@pytest.mark.fault(60)
def test_a_child_that_logs_nothing_leaves_no_file(tmp_path):
    code = """
        writer.add_scalar("loss", 1.0, 1)
        child = os.fork()
        if child == 0:
            sys.exit()
        os.waitpid(child, 0)
    """
    assert run(code, tmp_path).returncode == 0
    assert len(list(tmp_path.iterdir())) == 1
    assert logged(tmp_path) == {1: 1.0}


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("end", ["pass", "raise RuntimeError"])
def test_a_worker_that_closes_nothing_loses_nothing(tmp_path, method, end):
    (tmp_path / "program.py").write_text(f"""
import multiprocessing
from runfold.log.stream import name_file
from runfold.log.writer import EventWriter

def work(folder):
    writer = EventWriter(folder, flush_secs=600)
    for step in range(100): writer.add_scalar("loss", 1.0, step)
    {end}

if __name__ == "__main__":
    worker = multiprocessing.get_context({method!r}).Process(target=work, args=("run",))
    worker.start()
    worker.join()
""")
    subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        timeout=120,
        check=True,
    )
    assert list(logged(tmp_path / "run")) == list(range(100))
    assert problems(tmp_path / "run") == []


def test_workers_of_a_data_loader_log_by_the_writer_of_their_parent(tmp_path):
    code = """
        from torch.utils.data import DataLoader, Dataset
        class Numbers(Dataset):
            def __len__(self): return 16
            def __getitem__(self, index):
                writer.add_scalar("read", 1.0, index)
                return index
        for batch in DataLoader(Numbers(), 4, num_workers=2):
            writer.add_scalar("trained", 1.0, int(batch[0]))
    """
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(logged(tmp_path, "read")) == list(range(16))
    assert list(logged(tmp_path, "trained")) == [0, 4, 8, 12]


def test_threads_may_log_at_once(tmp_path):
    with EventWriter(tmp_path) as writer:
        writer.limit = 1000  # so that the writing thread has to come often

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


def test_no_event_is_lost_or_refused_while_others_are_written(tmp_path):
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


def test_a_writer_that_was_forgotten_still_writes(tmp_path):
    code = """
        def log():
            EventWriter(writer.folder).add_scalar("forgotten", 1.0, 1)
        log()
    """
    assert run(code, tmp_path).returncode == 0
    assert logged(tmp_path, "forgotten") == {1: 1.0}


def test_of_several_numbers_all_are_logged_or_none(tmp_path):
    with EventWriter(tmp_path) as writer:
        with pytest.raises(CannotLog, match="Tag 'b': values cannot be str"):
            writer.log({"a": 1.0, "b": "two"}, 1)
        writer.log({"c": 1.0}, 1)
    assert list(rf.open(tmp_path)["."]) == ["c"]


@pytest.mark.fault(59)
def test_several_writers_in_one_folder_have_files_of_their_own(tmp_path):
    writers = [EventWriter(tmp_path) for _ in range(3)]
    for number, writer in enumerate(writers):
        writer.add_scalar(f"tag-{number}", 1.0, 1)
        writer.close()
    assert len(list(tmp_path.iterdir())) == 3
    assert list(rf.open(tmp_path)["."]) == ["tag-0", "tag-1", "tag-2"]


@pytest.mark.fault(56)
@pytest.mark.fault(61)
def test_a_full_disk_is_told_at_the_next_call_and_nothing_is_lost_once_there_is_room(tmp_path):
    code = """
        import resource
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        for step in range(100): writer.add_scalar("loss", 1.0, step)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
        for attempt in range(2):
            try:
                writer.flush()
            except OSError as error:
                print(error.errno, error.filename == writer.path)
        try:
            writer.add_scalar("loss", 1.0, 100)
        except OSError as error:
            print("told")
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        writer.close()
    """
    done = run(code, tmp_path)
    assert done.stdout.decode().split("\n") == [f"{errno.EFBIG} True"] * 2 + ["told", ""]
    assert done.returncode == 0, done.stderr
    assert list(logged(tmp_path)) == list(range(100))
    assert problems(tmp_path) == []


@pytest.mark.fault(56)
def test_an_interrupt_in_the_middle_of_a_write_neither_loses_nor_repeats_anything(
    tmp_path, monkeypatch
):
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


@pytest.mark.fault(56)
def test_a_file_that_cannot_be_begun_is_neither_held_open_nor_left(tmp_path, monkeypatch):
    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    opened = len(os.listdir("/proc/self/fd"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            EventWriter(tmp_path)
    assert len(os.listdir("/proc/self/fd")) == opened
    assert list(tmp_path.iterdir()) == []


@pytest.mark.fault(61)
def test_a_deleted_folder_is_told_at_the_next_call_and_on_close(tmp_path):
    folder = tmp_path / "run"
    writer = EventWriter(folder)
    shutil.rmtree(folder)
    writer.add_scalar("loss", 1.0, 1)
    writer.drain()
    with pytest.raises(FileNotFoundError, match="event file was deleted"):
        writer.add_scalar("loss", 1.0, 2)
    with pytest.raises(FileNotFoundError, match="event file was deleted"):
        writer.close()


@pytest.mark.fault(61)
def test_with_warnings_only_training_goes_on_in_a_new_file(tmp_path):
    folder = tmp_path / "run"
    writer = EventWriter(folder, on_error="warn")
    shutil.rmtree(folder)
    writer.add_scalar("loss", 1.0, 1)
    with pytest.warns(UserWarning, match="event file was deleted"):
        writer.drain()
    writer.add_scalar("loss", 1.0, 2)
    writer.close()
    assert list(logged(folder)) == [2]


@pytest.mark.fault(61)
def test_a_failure_that_is_raised_often_holds_no_frames_of_the_times_before(tmp_path):
    folder = tmp_path / "run"
    writer = EventWriter(folder)
    shutil.rmtree(folder)
    writer.drain()
    depths = []
    for _ in range(3):
        with pytest.raises(FileNotFoundError) as caught:
            writer.add_scalar("loss", 1.0, 1)
        depths.append(len(caught.traceback))
    assert len(set(depths)) == 1
    writer.end()


def test_a_warning_that_is_an_error_does_not_end_the_writing_for_others(tmp_path):
    code = """
        import shutil, warnings
        from runfold.log import flusher
        warnings.simplefilter("error")
        told = threading.Event()
        threading.excepthook = lambda arguments: (print(arguments.exc_type.__name__), told.set())
        gone = EventWriter(writer.folder + "/gone", flush_secs=0, on_error="warn")
        shutil.rmtree(gone.folder)
        gone.add_scalar("loss", 1.0, 1)
        assert told.wait(60)
        writer.add_scalar("loss", 1.0, 1)
        flusher.flusher.wake()
        while len(writer.events): pass
        gone.add_scalar("loss", 1.0, 2)
        gone.flush()
        writer.flush()
        os._exit(0)
    """
    done = run(code, tmp_path)
    assert (done.returncode, done.stdout) == (0, b"UserWarning\n"), done.stderr
    assert logged(tmp_path) == {1: 1.0}
    assert logged(tmp_path / "gone") == {2: 1.0}


@pytest.mark.parametrize("flush_secs", [0, -1])
def test_the_thread_rests_however_soon_it_is_to_write(tmp_path, flush_secs):
    code = f"""
        import time
        from runfold.log import flusher
        naps, wait = [], flusher.flusher._wake.wait
        flusher.flusher._wake.wait = lambda seconds: (naps.append(seconds), wait(seconds))
        flusher.flusher.wake()
        EventWriter(writer.folder, flush_secs={flush_secs})
        flusher.flusher.wake()
        while len(naps) < 3: time.sleep(0.01)
        print(min(naps))
    """
    assert float(run(code, tmp_path).stdout) > 0


def test_options_that_mean_nothing_are_refused_before_a_file_is_begun(tmp_path):
    for options in ({"flush_secs": None}, {"flush_secs": "120"}, {"flush_secs": float("nan")}):
        with pytest.raises(TypeError, match="flush_secs is a number of seconds"):
            EventWriter(tmp_path / "run", **options)
    with pytest.raises(ValueError, match="on_error is 'raise' or 'warn', not 'ignore'"):
        EventWriter(tmp_path / "run", on_error="ignore")
    assert not (tmp_path / "run").exists()


@pytest.mark.fault(61)
@pytest.mark.parametrize("is_lazy", [False, True])
def test_with_warnings_only_a_folder_that_cannot_be_made_is_tried_again(tmp_path, is_lazy):
    folder = tmp_path / "run"
    folder.write_text("in the way")
    with pytest.raises(FileExistsError):
        EventWriter(folder, is_lazy=is_lazy).add_scalar("loss", 1.0, 1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        writer = EventWriter(folder, is_lazy=is_lazy, on_error="warn")
        writer.add_scalar("loss", 1.0, 1)
        writer.log({"loss": 1.0}, 2)
        writer.flush()
    assert [str(one.message).partition(". ")[2] for one in told] == [
        "Nothing is logged until a file can be made."
    ]
    folder.unlink()
    writer.add_scalar("loss", 1.0, 3)
    writer.close()
    assert list(logged(folder)) == [3]


def test_a_writer_that_is_copied_or_sent_away_says_that_it_cannot_be(tmp_path):
    with EventWriter(tmp_path) as writer:
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="Open another writer there"):
                copied(writer)


def test_a_closed_writer_says_so(tmp_path):
    writer = EventWriter(tmp_path)
    writer.close()
    writer.close()
    for call in (
        lambda: writer.add_scalar("loss", 1.0, 1),
        lambda: writer.log({"loss": 1.0}, 1),
        writer.flush,
    ):
        with pytest.raises(CannotLog, match="is closed"):
            call()


def test_memory_does_not_grow_with_the_number_of_points(tmp_path):
    code = """
        import resource
        for step in range(20_000): writer.add_scalar("loss", 1.0, step)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for step in range(2_000_000): writer.add_scalar("loss", 1.0, step)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = run(code, tmp_path)
    # 80 MB were logged; 16 MiB may wait in each of two buffers, which double as they grow.
    assert int(done.stdout) < 70_000


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "it is no number"),
        ("0.5", "it is no number"),
        ([1.0, 2.0], "it holds 2 numbers where one is meant"),
        (np.empty(0), "it holds 0 numbers where one is meant"),
        (10**400, "it is too large for a float64"),
        (1j, "it is a complex number"),
        (object(), "it holds no numbers"),
    ],
)
def test_what_is_no_number_is_refused_by_name(tmp_path, value, reason):
    with EventWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, 1)
        with pytest.raises(CannotLog) as caught:
            writer.add_scalar("loss", value, 2)
        assert str(caught.value).startswith("Tag 'loss': scalar_value cannot be ")
        assert reason in str(caught.value)
    assert logged(tmp_path) == {1: 1.0}


@pytest.mark.parametrize(
    "value",
    [
        Decimal("1.5"),
        Fraction(3, 2),
        torch.tensor(1.5, requires_grad=True),
        torch.tensor([1.5], dtype=torch.bfloat16, requires_grad=True),
        torch.tensor(1.5, dtype=torch.float8_e4m3fn),
    ],
)
def test_numbers_of_other_types_are_taken(tmp_path, value):
    with EventWriter(tmp_path) as writer:
        writer.add_scalar("loss", value, torch.tensor(3))
    assert logged(tmp_path) == {3: 1.5}


def test_a_tag_that_is_no_unicode_is_refused_by_name_and_logs_nothing(tmp_path):
    with EventWriter(tmp_path) as writer:
        for call in (
            lambda: writer.add_scalar("\ud800", 1.0, 1),
            lambda: writer.log({"loss": 1.0, "\ud800": 1.0}, 1),
        ):
            with pytest.raises(CannotLog, match=r"Tag '\\ud800': tag cannot be str"):
                call()
    assert list(rf.open(tmp_path)["."]) == []


@pytest.mark.parametrize("step", [2**63, -(2**63) - 1, 1.5, float("nan"), "one"])
def test_what_is_no_step_is_refused_by_name(tmp_path, step):
    with EventWriter(tmp_path) as writer:
        with pytest.raises(CannotLog) as caught:
            writer.add_scalar("loss", 1.0, step)
        assert "Tag 'loss': global_step cannot be" in str(caught.value)


@pytest.mark.parametrize("walltime", [float("nan"), float("inf"), "now"])
def test_what_is_no_time_is_refused_by_name(tmp_path, walltime):
    with rf.SummaryWriter(tmp_path) as writer:
        for call in (
            lambda: writer.add_scalar("loss", 1.0, 1, walltime),
            lambda: writer.add_text("loss", "text", 1, walltime),
            lambda: writer.add_scalar_series("loss", [1, 2], [1.0, 2.0], [1.0, walltime]),
        ):
            with pytest.raises(CannotLog, match=r"Tag 'loss': wall_?times? cannot be"):
                call()
        with pytest.raises(CannotLog), writer.use_metadata(walltime=walltime):
            pass
    assert list(rf.open(tmp_path)["."]) == []
    assert problems(tmp_path) == []


@pytest.mark.parametrize("step", [0, -1, 2**63 - 1, -(2**63), np.int64(7), 3.0, None])
def test_any_step_of_64_bits_is_kept(tmp_path, step):
    with EventWriter(tmp_path) as writer:
        writer.add_scalar("loss", 1.0, step)
    assert list(logged(tmp_path)) == [0 if step is None else int(step)]


def test_a_nan_is_logged_and_told_of_once_by_its_tag(tmp_path):
    with EventWriter(tmp_path) as writer:
        with pytest.warns(UserWarning, match="Tag 'loss' is NaN at step 3"):
            writer.add_scalar("loss", float("nan"), 3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            writer.add_scalar("loss", float("nan"), 4)
            writer.add_scalar("loss", float("inf"), 5)
    assert list(logged(tmp_path)) == [3, 4, 5]


def test_log_takes_numbers_by_tag_and_counts_steps_itself(tmp_path):
    with EventWriter(tmp_path) as writer:
        writer.log({"a": 1.0, "b": 2}, 10)
        writer.log({"a": np.float32(1.5)})
        writer.log({"a": True})
        with pytest.raises(CannotLog, match="numbers by tag are meant"):
            writer.log([1.0], 1)
    assert logged(tmp_path, "a") == {10: 1.0, 0: 1.5, 1: 1.0}
    assert logged(tmp_path, "b") == {10: 2.0}


def test_a_silent_writer_takes_every_call_and_writes_nothing(tmp_path):
    folder = tmp_path / "run"
    with EventWriter(folder, is_silent=True) as writer:
        writer.add_scalar("loss", 1.0, 1)
        writer.log({"loss": 1.0}, 1)
        writer.flush()
    assert not folder.exists()
