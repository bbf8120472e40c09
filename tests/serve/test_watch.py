"""File growth is detected on any disk, even if something fails in the meantime."""

import logging
import os
import queue
import shutil
import time
from logging.handlers import QueueHandler
from typing import Any

import pytest
from helpers.logs import scalars, write
from helpers.pack_bombs import equal_rows
from helpers.packs import pack

import runfold as rf
from runfold._serve.run_source import _PATIENCE, Source
from runfold._serve.watch import Watcher, can_watch, is_remote
from runfold.errors import UnknownRun

MOUNTS = """\
/dev/sda1 / ext4 rw 0 0
server:/data /mnt/data nfs4 rw 0 0
tmpfs /mnt/data/scratch tmpfs rw 0 0
me@host:/x /mnt/my\\040home fuse.sshfs rw 0 0
share /mnt/win cifs rw 0 0
C: /mnt/c 9p rw 0 0
overlay /mnt/twice nfs rw 0 0
overlay /mnt/twice ext4 rw 0 0
broken
"""


class Following:
    """A watcher of a source, and the changes that it reports."""

    def __init__(self, source, poll=None):
        self.source = source
        self.changes: queue.Queue[Any] = queue.Queue()
        self.watcher = Watcher(source, self.changes.put, poll)

    def __enter__(self):
        self.watcher.start()
        return self

    def __exit__(self, *_):
        self.watcher.stop()
        assert not self.watcher._thread.is_alive()
        self.source.close()

    def wait(self):
        """Return the next change."""
        changed = self.changes.get(timeout=60)
        return changed.generation, changed.new, changed.changed


@pytest.fixture
def logdir(tmp_path):
    write(tmp_path / "logs" / "a", scalars("loss", (0, 1.0)))
    return tmp_path / "logs"


def grow(logdir, run, number):
    write(logdir / run, scalars("loss", (number, 1.0)), number=number)


@pytest.mark.parametrize("poll", [None, 0.05])
def test_new_runs_and_changed_runs_are_reported(logdir, poll):
    with Following(Source(logdir), poll) as following:
        assert following.watcher.poll == poll
        grow(logdir, "b", 1)
        assert following.wait() == (2, ["b"], [])
        grow(logdir, "b", 2)  # no request has read it yet
        assert following.wait() == (3, [], ["b"])
        grow(logdir, "a", 2)
        assert following.wait() == (4, [], ["a"])
        assert following.source.log("a").scalars["loss"].steps.tolist() == [0, 2]


@pytest.mark.parametrize("poll", [None, 0.05])
@pytest.mark.parametrize("lost", ["b/events.out.tfevents.1", "."])
def test_deleted_files_and_their_return_are_reported(logdir, poll, lost):
    grow(logdir, "b", 1)
    away, gone = logdir.parent / "away", ["a", "b"] if lost == "." else ["b"]
    source = Source(logdir)
    source.logs()
    with Following(source, poll) as following:
        (logdir / lost).rename(away)
        assert following.wait() == (2, [], gone)
        assert [problem.run for problem in source.runs()._list_problems() if problem.run] == gone
        away.rename(logdir / lost)
        assert following.wait() == (3, [], gone)
        assert source.runs()._list_problems() == []


@pytest.mark.fault(69)
@pytest.mark.parametrize("poll", [None, 0.05])
def test_a_run_that_is_deleted_and_recreated_is_reported(logdir, poll):
    grow(logdir, "b", 1)
    source = Source(logdir)
    source.logs()
    with Following(source, poll) as following:
        # Moved, so that no partial deletion is visible.
        (logdir / "b").rename(logdir.parent / "old")
        assert following.wait() == (2, [], [])
        assert list(source.runs()) == ["a"]
        # A page that still requests both gets the remaining one.
        assert [log.name for log in source.logs(["a", "b"])] == ["a"]
        with pytest.raises(UnknownRun, match="No run 'b'"):
            source.logs(["b"])
        grow(logdir.parent, "new", 7)
        (logdir.parent / "new").rename(logdir / "b")
        assert following.wait() == (3, ["b"], [])
        assert source.log("b").scalars["loss"].steps.tolist() == [7]


def test_a_deleted_pack_is_reported_although_its_runs_stay(logdir):
    path = logdir.parent / "logs.parquet"
    rf.open(logdir).pack(path)
    source = Source(path)
    assert not source.refresh()
    with Following(source, 0.05) as following:
        path.rename(logdir.parent / "away")
        assert following.wait() == (2, [], [])
        (problem,) = source.runs()._list_problems()
        assert problem.code == "directory-vanished"


def test_a_file_and_a_pattern_are_polled_every_second(logdir):
    for path in (next((logdir / "a").iterdir()), logdir / "*"):
        source = Source(path)
        assert Watcher(source, print).poll == 1.0
        source.close()
    with Following(Source(logdir / "*"), 0.05) as following:
        grow(logdir, "a", 2)
        assert following.wait() == (2, [], ["a"])


def test_files_are_polled_if_the_system_cannot_report_changes(logdir):
    following = Following(Source(logdir))
    records: queue.Queue[logging.LogRecord] = queue.Queue()
    handler = QueueHandler(records)
    # The logdir disappears before it can be watched, as on an unreliable disk.
    away = shutil.move(logdir, logdir.parent / "away")
    logging.getLogger("runfold.serve").addHandler(handler)
    try:
        with following:
            assert "checking files every 1 s" in records.get(timeout=60).getMessage()
            shutil.move(away, logdir)
            grow(logdir, "b", 1)
            assert following.wait()[1] == ["b"]
    finally:
        logging.getLogger("runfold.serve").removeHandler(handler)


class Troubled(Source):
    """A source whose first refresh fails and whose next two yield to requests."""

    calls = 0

    def refresh(self):
        """Fail, yield, or refresh."""
        self.calls += 1
        if self.calls == 1:
            raise OSError("the disk is away")
        return None if self.calls < 4 else super().refresh()


def test_a_refresh_that_fails_or_yields_is_retried(logdir, caplog):
    source = Troubled(logdir)
    source.logs()
    grow(logdir, "b", 1)
    with caplog.at_level(logging.WARNING, "runfold.serve"), Following(source, 0.01) as following:
        assert following.wait() == (2, ["b"], [])
    assert "the disk is away" in caplog.text


def test_a_pack_replaced_by_a_memory_bomb_is_one_warning(logdir):
    path = pack(logdir)
    bomb, sound = logdir.parent / "bomb", logdir.parent / "sound"
    equal_rows(bomb, 20, "scalar")
    shutil.copy(path, sound)
    source = Source(path)
    warned: queue.SimpleQueue[logging.LogRecord] = queue.SimpleQueue()
    handler = QueueHandler(warned)
    logger = logging.getLogger("runfold.serve")
    logger.addHandler(handler)
    try:
        with Following(source, 0.01) as following:
            os.replace(bomb, path)
            record = warned.get(timeout=60)
            assert "could not be refreshed" in record.getMessage()
            assert "expand to 503 MB" in record.getMessage()
            assert [record.levelname, record.exc_info, record.exc_text] == ["WARNING", None, None]
            os.replace(sound, path)
            assert following.wait()[0] == 2
    finally:
        logger.removeHandler(handler)
    assert warned.empty()


class Busy(Source):
    """A source whose first refresh occurs during a request."""

    is_busy = True

    def refresh(self):
        """Yield to a request once."""
        if not self.is_busy:
            return super().refresh()
        self.is_busy = False
        with self._gate.shared():
            return super().refresh()


def test_time_spent_waiting_for_requests_does_not_lengthen_the_pause(logdir):
    source = Busy(logdir)
    grow(logdir, "b", 1)
    began = time.monotonic()
    took = Watcher(source, print)._refresh()
    assert took <= time.monotonic() - began - _PATIENCE
    assert not source.is_busy
    source.close()


@pytest.mark.parametrize(
    ("path", "is_expected"),
    [
        ("/home/me/runs", False),
        ("/mnt/data", True),
        ("/mnt/data/runs", True),
        ("/mnt/database", False),
        ("/mnt/data/scratch/x", False),
        ("/mnt/my home/runs", True),
        ("/mnt/win/x", True),
        ("/mnt/c/runs", True),
        ("/mnt/twice/x", False),
    ],
)
def test_network_disks_are_recognized_by_their_mounts(tmp_path, path, is_expected):
    mounts = tmp_path / "mounts"
    mounts.write_text(MOUNTS)
    assert is_remote(path, str(mounts)) == is_expected


def test_without_a_list_of_mounts_a_disk_counts_as_local(tmp_path):
    assert not is_remote("/mnt/data", str(tmp_path / "none"))


def test_only_local_folders_are_watched(logdir):
    assert can_watch([str(logdir)]) != is_remote(str(logdir))
    assert not can_watch([str(logdir), os.path.join(logdir, "*")])
    assert not can_watch([str(logdir / "not there")])
