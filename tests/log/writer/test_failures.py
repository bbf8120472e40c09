"""Full disks and deleted folders are reported, and logging continues."""

import errno
import os
import shutil
import warnings

import pytest
from helpers.log_runs import logged, problems, run

from runfold._log.writer.event_writer import EventWriter


@pytest.mark.fault(56)
@pytest.mark.fault(61)
def test_a_full_disk_raises_at_the_next_call_and_nothing_is_lost_once_there_is_room(tmp_path):
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
            print("raised")
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        writer.close()
    """
    done = run(code, tmp_path)
    assert done.stdout.decode().split("\n") == [f"{errno.EFBIG} True"] * 2 + ["raised", ""]
    assert done.returncode == 0, done.stderr
    assert list(logged(tmp_path)) == list(range(100))
    assert problems(tmp_path) == []


@pytest.mark.fault(56)
def test_flush_retries_once_there_is_room_and_raises_only_if_that_fails(tmp_path):
    code = """
        import resource
        from runfold._log.writer import flusher
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        # The thread would try again by itself.
        flusher.flusher.drain_all = lambda: None
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        for step in range(100): writer.add_scalar("loss", 1.0, step)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
        for attempt in range(2):
            try:
                writer.flush()
            except OSError as error:
                print(error.errno)
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        writer.flush()
        print(os.path.getsize(writer.path) > 2000)
        writer.add_scalar("loss", 1.0, 100)
        os._exit(0)
    """
    done = run(code, tmp_path)
    assert done.stdout.decode().split() == [f"{errno.EFBIG}"] * 2 + ["True"], done.stderr
    assert list(logged(tmp_path)) == list(range(100))
    assert problems(tmp_path) == []


@pytest.mark.fault(56)
def test_with_on_error_warn_the_bytes_lost_on_a_full_disk_are_reported(tmp_path):
    code = """
        import resource, warnings
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        kept = EventWriter(writer.folder + "/kept", flush_secs=600, on_error="warn")
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, hard))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for step in range(100): kept.add_scalar("loss", 1.0, step)
            kept.flush()
            for step in range(100): kept.add_scalar("loss", 1.0, step)
            kept.close()
        for warning in caught: print(str(warning.message).partition("runfold'. ")[2])
    """
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.decode().splitlines()
    assert first == "Events are kept in memory, and the write will be retried."
    lost = int(last.partition(" bytes of events were not written")[0].replace(",", ""))
    assert 0 < lost < 200 * 60


@pytest.mark.fault(56)
def test_events_that_do_not_fit_in_memory_are_dropped_with_a_warning(tmp_path, monkeypatch):
    def full(file: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("runfold._log.writer.event_writer._MOST_WAITING", 100)
    # Otherwise, the background thread would also write at times that the test does not expect.
    monkeypatch.setattr("runfold._log.writer.flusher.flusher.drain_all", lambda: None)
    kept = EventWriter(tmp_path, on_error="warn", flush_secs=600)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        kept.add_scalar("loss", 1.0, 1)
        with pytest.warns(UserWarning, match="will be retried"):
            kept.drain()
        for step in range(2, 100):
            kept.add_scalar("loss", 1.0, step)
        with pytest.warns(UserWarning, match="bytes of events were dropped"):
            kept.drain()
    kept.add_scalar("loss", 1.0, 100)
    kept.close()
    assert list(logged(tmp_path)) == [1, 100]


@pytest.mark.fault(56)
def test_a_file_that_cannot_be_written_is_closed_and_removed(tmp_path, monkeypatch):
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
def test_a_deleted_folder_raises_at_the_next_call_and_on_close(tmp_path):
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
def test_with_on_error_warn_logging_continues_in_a_new_file(tmp_path):
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
def test_a_failure_that_is_raised_again_keeps_no_earlier_frames(tmp_path):
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


@pytest.mark.fault(61)
@pytest.mark.parametrize("is_lazy", [False, True])
def test_with_on_error_warn_a_folder_that_cannot_be_created_is_retried(tmp_path, is_lazy):
    folder = tmp_path / "run"
    folder.write_text("in the way")
    with pytest.raises(FileExistsError):
        EventWriter(folder, is_lazy=is_lazy).add_scalar("loss", 1.0, 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        writer = EventWriter(folder, is_lazy=is_lazy, on_error="warn")
        writer.add_scalar("loss", 1.0, 1)
        writer.log({"loss": 1.0}, 2)
        writer.flush()
    assert [str(warning.message).partition(". ")[2] for warning in caught] == [
        "Nothing is logged until the file can be created."
    ]
    folder.unlink()
    writer.add_scalar("loss", 1.0, 3)
    writer.close()
    assert list(logged(folder)) == [3]


@pytest.mark.fault(61)
def test_a_read_only_folder_raises_at_once_or_warns(tmp_path):
    code = """
        import warnings
        writer.add_scalar("loss", 1.0, 1)
        os.chmod(writer.folder, 0o555)
        if os.geteuid() == 0:
            os.seteuid(65534)  # nothing keeps root from writing
        for folder in (writer.folder, writer.folder + "/run"):
            try:
                EventWriter(folder)
            except PermissionError as error:
                print(type(error).__name__)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with EventWriter(folder, on_error="warn") as other:
                    other.add_scalar("loss", 1.0, 1)
                    other.flush()
            print(*(warning.category.__name__ for warning in caught))
    """
    done = run(code, tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode().split() == ["PermissionError", "UserWarning"] * 2
    assert logged(tmp_path) == {1: 1.0}
