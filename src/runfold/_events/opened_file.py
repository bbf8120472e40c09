"""An open event file, on disk or anywhere else that its bytes can be read from."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from runfold._system import O_BINARY, O_NONBLOCK, pread, read_into

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._events.file_state import FileState

# O_NONBLOCK: opening must not block if a FIFO has replaced the file.
OPEN_FLAGS = os.O_RDONLY | O_BINARY | O_NONBLOCK


class Unreachable(OSError):
    """The store of a file cannot be reached; `filename` is its URL."""


class Status(Protocol):
    """What identifies a version of a file. `os.stat_result` is one."""

    @property
    def st_mode(self) -> int: ...
    @property
    def st_size(self) -> int: ...
    @property
    def st_mtime_ns(self) -> int: ...
    @property
    def st_ctime_ns(self) -> int: ...
    @property
    def st_ino(self) -> int: ...
    @property
    def st_dev(self) -> int: ...


class OpenedFile(Protocol):
    """An open file. All methods can raise OSError."""

    def status(self) -> Status:
        """Return the status of the version that is read."""

    def read_into(self, view: memoryview, offset: int) -> int:
        """Read bytes into `view`; return how many, 0 only at the end of the file."""

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to `size` bytes from an offset, fewer at the end of the file."""

    def close(self) -> None:
        """Release the file."""


class Opener(Protocol):
    """Opens files that are not on disk, although they have paths."""

    def open(self, path: str) -> OpenedFile:
        """Return a file, open. Raises OSError."""

    def size(self, path: str) -> int:
        """Return the size of a file; 0 if it does not exist."""

    def last_write(self, paths: Iterable[str]) -> float | None:
        """Return when any of these files was last written; None if none exists."""

    def expect(self, path: str, offset: int, known: FileState | None) -> int:
        """Prepare for opening a file and reading it from an offset to its end.

        Return the number of bytes that are in memory until then. Nothing is prepared if the state
        of the file is still the known one.
        """

    def cancel(self, paths: Iterable[str]) -> None:
        """Forget what was prepared for files that will not be read after all."""

    def covers(self, path: str) -> bool:
        """Return whether this object opens the file at a path."""

    def only(self, paths: Iterable[str]) -> Opener:
        """Return an object for some of the files, which can be pickled."""

    @property
    def trouble(self) -> str:
        """Why files could not be reached; empty if they could."""


class LocalFile:
    """An open file on disk."""

    __slots__ = ("_descriptor",)

    def __init__(self, path: str) -> None:
        """Open a file. Raises OSError."""
        self._descriptor = os.open(path, OPEN_FLAGS)

    def status(self) -> os.stat_result:
        """Return the status of the open file."""
        return os.fstat(self._descriptor)

    def read_into(self, view: memoryview, offset: int) -> int:
        """Read bytes into `view`; return how many, 0 only at the end of the file."""
        return read_into(self._descriptor, view, offset)

    def pread(self, size: int, offset: int) -> bytes:
        """Return up to `size` bytes from an offset, fewer at the end of the file."""
        return pread(self._descriptor, size, offset)

    def close(self) -> None:
        """Close the descriptor."""
        os.close(self._descriptor)


def open_file(path: str, opener: Opener | None) -> OpenedFile:
    """Return the file at a path, open. Raises OSError."""
    return LocalFile(path) if opener is None else opener.open(path)
