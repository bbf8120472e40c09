"""Decides which processes of a distributed job write: only rank zero writes to a shared folder.

Rank zero leaves a small file, the mark, in each folder that it logs to. A writer of another rank
writes nothing if it finds the mark of the same job.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from typing import TYPE_CHECKING, Literal, get_args

from runfold._conventions import RANK_ZERO, SIDE_FOLDER
from runfold._humanize import escape
from runfold._log.writer.distributed_job import find_job
from runfold._log.writer.new_event_file import Stream
from runfold._storage.url import is_url
from runfold._story.side_files import as_float, read_aside, write_aside

if TYPE_CHECKING:
    from runfold._core.encoder import EventBuffer

Ranks = Literal["zero", "all"]

# The approximate start time of this process. The processes of a job start together; a later job
# may have the same address and port, and so the same identity.
_STARTED = time.time()
_SAME_START_SECONDS = 600.0
# A rank that has logged alone for this long must be logging a different run from rank zero, so it
# continues.
_ALONE_SECONDS = 300.0

# Folders already reported on stderr.
_reported: set[str] = set()


class RankPolicy:
    """Decides whether this process of a distributed job writes.

    Attributes:
        is_silent: whether the writer accepts every call and writes nothing.
    """

    def __init__(self, is_main: bool | None = None, ranks: Ranks = "zero") -> None:
        """Decide based on `is_main`, or else on the job. Raises ValueError for unknown `ranks`."""
        if ranks not in get_args(Ranks):
            raise ValueError(f"expected ranks='zero' or ranks='all', got {ranks!r}")
        self.is_silent = is_main is not None and not is_main
        self._options = is_main, ranks
        self._is_decided = is_main is not None
        self._is_for_all = ranks == "all"
        self._job = None if self._is_decided else find_job()
        self._folder = ""
        self._is_announced = False
        self._alone_since: float | None = None

    def __reduce__(self) -> tuple[type[RankPolicy], tuple[bool | None, Ranks]]:
        # The other process detects its own job.
        return RankPolicy, self._options

    def choose_default(self, folder: str) -> str:
        """Return the folder of a writer without a log_dir.

        Processes that train together share a run, so only rank zero writes it. Other processes may
        be independent, for example with one seed per process, so each gets its own folder.
        """
        if self._rank == 0 or self.defer(folder):
            return folder
        return f"{folder}_rank{self._rank}"

    def defer(self, folder: str) -> bool:
        """Go silent now if another process certainly logs this run; return `is_silent`."""
        if self._gives_way() and self.is_lazy:
            self._silence(
                folder, "rank 0 logs this run. Pass is_main=True to log from this rank, or"
            )
        return self.is_silent

    def open_stream(self, folder: str, suffix: str) -> Stream | RankStream:
        """Return a new event file; its creation waits if rank zero may log to the folder.

        Raises OSError.
        """
        # The program may change its working directory before the first event.
        self._folder = os.path.abspath(folder)
        if self._gives_way():
            return RankStream(self, self._folder, suffix)
        return Stream(folder, suffix)

    @property
    def is_lazy(self) -> bool:
        """Whether rank zero probably logs to the same folder, so that creating a file can wait."""
        return self._job is not None and self._job.is_certain

    @property
    def began(self) -> float:
        """The earliest possible start time of a process in this job; infinity without a job."""
        return float("inf") if self._job is None else _STARTED - _SAME_START_SECONDS

    def announce(self) -> None:
        """Leave the mark in the folder, once, if this is rank zero of a job."""
        if self._is_announced or self._job is None or self._job.rank or self._is_for_all:
            return
        # If this fails, the other ranks write as well, and the next call retries.
        with contextlib.suppress(Exception):
            if _may_write(os.path.join(self._folder, SIDE_FOLDER)):
                write_aside(
                    self._folder, RANK_ZERO, {"job": self._job.identity, "started": _STARTED}
                )
            self._is_announced = True

    def must_stop(self) -> bool:
        """Go silent if rank zero of the same job logs to the folder; return `is_silent`."""
        if not self.is_silent and self._is_marked():
            self._silence(self._folder, "rank 0 of the same job logs there. Pass")
        return self.is_silent

    def note_file(self) -> None:
        """Record that this rank has started to write a file."""
        if self._alone_since is None:
            self._alone_since = time.monotonic()

    @property
    def _rank(self) -> int:
        return 0 if self._job is None else self._job.rank

    def _gives_way(self) -> bool:
        """Whether rank zero takes precedence over this process.

        A process group may have been initialized since the last call.
        """
        if not self._is_decided and not self.is_lazy:
            self._job = find_job() or self._job
        # A process that acted as rank zero has silenced others, so it must write.
        return self._rank > 0 and not self._is_for_all and not self._is_announced

    def _is_marked(self) -> bool:
        is_settled = (
            self._alone_since is not None and time.monotonic() - self._alone_since > _ALONE_SECONDS
        )
        if self._job is None or is_settled:
            return False
        try:
            mark = read_aside(self._folder, RANK_ZERO)
        except Exception:
            return False
        started = as_float(mark.get("started"))
        is_same_start = started is not None and abs(started - _STARTED) <= _SAME_START_SECONDS
        return is_same_start and mark.get("job") == self._job.identity

    def _silence(self, folder: str, reason: str) -> None:
        self.is_silent = True
        make_folder(folder)
        if self._job is None or folder in _reported:
            return
        _reported.add(folder)
        message = (
            f"runfold: rank {self._rank} of {self._job.size} writes nothing to {escape(folder)}: "
            f'{reason} ranks="all" to log from every rank.'
        )
        with contextlib.suppress(Exception):  # stderr may be missing or closed
            print(message, file=sys.stderr)


class RankStream:
    """The event file of a rank above zero, which yields to rank zero.

    Has the methods of a Stream. The folder is created at once. Each write looks for rank zero's
    mark first. Once the mark exists, all events are dropped, and the file, if any, is removed.
    """

    def __init__(self, policy: RankPolicy, folder: str, suffix: str) -> None:
        """Create the folder, and the file unless it is created later. Raises OSError."""
        os.makedirs(folder, exist_ok=True)
        self._policy, self._folder, self._suffix = policy, folder, suffix
        self._stream: Stream | None = None
        if not policy.must_stop() and not policy.is_lazy:
            self._make()

    @property
    def path(self) -> str | None:
        """The path of the event file; None while there is no file."""
        return None if self._stream is None else self._stream.path

    @property
    def waiting(self) -> int:
        """The number of bytes that an error left unwritten."""
        return 0 if self._stream is None else self._stream.waiting

    def resume(self) -> None:
        """Write the bytes that an error left unwritten. Raises OSError."""
        if self._stream is not None:
            self._stream.resume()

    def write(self, events: EventBuffer) -> None:
        """Write or drop all events, and clear them. Raises OSError."""
        if self._policy.must_stop():
            self._remove()
            events.clear()
        elif self._stream is not None:
            self._stream.write(events)
        elif len(events):
            self._make().write(events)

    def sync(self) -> None:
        """Wait until the file and its folder entry are on disk. Raises OSError."""
        if self._stream is not None:
            self._stream.sync()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        if self._stream is not None:
            self._stream.close()

    def _make(self) -> Stream:
        self._stream = Stream(self._folder, self._suffix)
        self._policy.note_file()
        return self._stream

    def _remove(self) -> None:
        stream, self._stream = self._stream, None
        if stream is not None:
            stream.close()
            with contextlib.suppress(OSError):
                os.unlink(stream.path)


def make_folder(folder: str) -> None:
    """Create the folder of a silent writer, if possible: programs save checkpoints there."""
    if not is_url(folder):
        with contextlib.suppress(OSError):
            os.makedirs(folder, exist_ok=True)


def _may_write(side_folder: str) -> bool:
    """Whether a side folder is missing, or is a real folder (not a link) owned by this user."""
    try:
        status = os.lstat(side_folder)
    except FileNotFoundError:
        return True
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
