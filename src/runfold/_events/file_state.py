"""The size, times and identity of a file, to tell whether it has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from runfold._system import IS_POSIX

if TYPE_CHECKING:
    from runfold._core.small_files import State
    from runfold._events.opened_file import Status

# Two changes within one tick of the file system's clock get the same times. The clock of Linux
# ticks every 1 to 10 ms.
_TICK = 50_000_000
# File systems that keep whole seconds; FAT keeps only even ones.
_SECOND = 1_000_000_000
_SLOW_TICK = 2 * _SECOND + _TICK


def is_settled(status: Status, now: int) -> bool:
    """Return whether any change after `now`, in nanoseconds since 1970, gives other times.

    `now` must have been read before the status.
    """
    # On POSIX, every change sets st_ctime to the current time, and no program can set it to
    # another. On Windows, it is the time when the file was created.
    return _is_old(status.st_ctime_ns if IS_POSIX else status.st_mtime_ns, now)


def _is_old(changed: int, now: int) -> bool:
    return changed <= now - (_TICK if changed % _SECOND else _SLOW_TICK)


class FileState(NamedTuple):
    """The state of a file when it was read."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    device: int
    is_settled: bool

    @classmethod
    def of(cls, status: Status, now: int) -> FileState:
        """Return the state at `now`, which must have been read before the status."""
        return cls(
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_ino,
            status.st_dev,
            is_settled(status, now),
        )

    @classmethod
    def of_small(cls, state: State, now: int) -> FileState:
        """Return the state at `now` from the result of `read_small_files` (only on POSIX)."""
        return cls(*state, _is_old(state[2], now))

    def is_same(self, status: Status) -> bool:
        """Return whether the file has certainly not changed since this state was recorded."""
        return (
            self.is_settled
            and self.size == status.st_size
            and self.mtime_ns == status.st_mtime_ns
            and self.ctime_ns == status.st_ctime_ns
            and self.inode == status.st_ino
            and self.device == status.st_dev
        )
