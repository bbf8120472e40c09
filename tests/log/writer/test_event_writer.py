"""EventWriter: logged points are read back, right after a flush, with bounded memory."""

import gc
import os
import threading
import weakref

import numpy as np
import pytest
from helpers.kind_values import stored
from helpers.log_runs import logged, run

import runfold as rf
from runfold._conventions import name_event_file
from runfold._log.writer.event_writer import EventWriter
from runfold.errors import CannotLog


def test_file_names_of_a_process_sort_in_order_of_creation():
    names = [name_event_file("") for _ in range(1000)]
    assert names == sorted(names)


def test_logged_points_are_read_back(tmp_path):
    with EventWriter(tmp_path) as writer:
        for step in range(1000):
            writer.add_scalar("loss", step / 4, step)
    assert logged(tmp_path) == {step: step / 4 for step in range(1000)}


def test_flushed_points_can_be_read_at_once(tmp_path):
    writer = EventWriter(tmp_path)
    writer.add_scalar("loss", 0.5, 1)
    writer.flush()
    assert logged(tmp_path) == {1: 0.5}
    writer.close()


def test_log_accepts_numbers_by_tag_and_counts_steps(tmp_path):
    with EventWriter(tmp_path) as writer:
        writer.log({"a": 1.0, "b": 2}, 10)
        writer.log({"a": np.float32(1.5)})
        writer.log({"a": True})
        with pytest.raises(CannotLog, match="expected a dict that maps tags to numbers"):
            writer.log([1.0], 1)
    assert logged(tmp_path, "a") == {10: 1.0, 0: 1.5, 1: 1.0}
    assert logged(tmp_path, "b") == {10: 2.0}


def test_either_all_numbers_of_a_call_are_logged_or_none(tmp_path):
    with EventWriter(tmp_path) as writer:
        with pytest.raises(CannotLog, match="Tag 'b': values cannot be str"):
            writer.log({"a": 1.0, "b": "two"}, 1)
        writer.log({"c": 1.0}, 1)
    assert list(rf.open(tmp_path)["."]) == ["c"]


@pytest.mark.parametrize("is_cycle", [False, True])
def test_dropped_writers_close_their_files_and_lose_nothing(tmp_path, is_cycle):
    gc.collect()
    opened, gone = len(os.listdir("/proc/self/fd")), threading.Semaphore(0)
    for number in range(5):
        writer = rf.SummaryWriter(tmp_path / str(number), flush_secs=0, hparams={"lr": 0.5})
        writer.add_scalar("loss", 0.5, number)
        if is_cycle:
            writer.itself = writer  # type: ignore[attr-defined]
        weakref.finalize(writer, gone.release)
    del writer

    def are_closed() -> bool:
        gc.collect()
        gone.acquire(timeout=0.1)
        return len(os.listdir("/proc/self/fd")) == opened

    assert any(are_closed() for _ in range(600))
    for number in range(5):
        assert logged(tmp_path / str(number)) == {number: 0.5}
        assert "_hparams_/session_end_info" in stored(tmp_path / str(number))


def test_a_program_can_drop_more_writers_than_it_can_have_open_files(tmp_path):
    code = """
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        for number in range(200):
            other = EventWriter(f"{writer.folder}/{number}", flush_secs=600)
            other.add_scalar("loss", 0.5, number)
            other.itself = other
    """
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    runs = rf.open(tmp_path)
    assert [runs[str(number)]["loss"].steps.tolist() for number in range(200)] == [
        [number] for number in range(200)
    ]


@pytest.mark.fault(59)
def test_several_writers_in_one_folder_have_separate_files(tmp_path):
    writers = [EventWriter(tmp_path) for _ in range(3)]
    for number, writer in enumerate(writers):
        writer.add_scalar(f"tag-{number}", 1.0, 1)
        writer.close()
    assert len(list(tmp_path.iterdir())) == 3
    assert list(rf.open(tmp_path)["."]) == ["tag-0", "tag-1", "tag-2"]


def test_a_silent_writer_accepts_every_call_and_writes_nothing(tmp_path):
    folder = tmp_path / "run"
    with EventWriter(folder, is_silent=True) as writer:
        writer.add_scalar("loss", 1.0, 1)
        writer.log({"loss": 1.0}, 1)
        writer.flush()
    assert not folder.exists()


def test_invalid_options_raise_before_a_file_is_created(tmp_path):
    for options in ({"flush_secs": None}, {"flush_secs": "120"}, {"flush_secs": float("nan")}):
        with pytest.raises(TypeError, match="flush_secs: expected a number of seconds"):
            EventWriter(tmp_path / "run", **options)
    with pytest.raises(
        ValueError, match="expected on_error='raise' or on_error='warn', got 'ignore'"
    ):
        EventWriter(tmp_path / "run", on_error="ignore")
    assert not (tmp_path / "run").exists()


def test_memory_does_not_grow_with_the_number_of_points(tmp_path):
    code = """
        import resource
        for step in range(20_000): writer.add_scalar("loss", 1.0, step)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for step in range(2_000_000): writer.add_scalar("loss", 1.0, step)
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """
    done = run(code, tmp_path)
    # 80 MB were logged; 16 MiB may be pending in each of two buffers, which double as they
    # grow.
    assert int(done.stdout) < 70_000
