"""A new event file, always intact up to the last complete write."""

from __future__ import annotations

import errno
import os
import re
import time
from contextlib import suppress

from runfold._conventions import EVENT_FILE_PREFIX, EVENT_FILE_SUFFIX, name_event_file
from runfold._core.encoder import EventBuffer
from runfold._system import IS_POSIX, O_BINARY

_SECONDS = re.compile(rf"{re.escape(EVENT_FILE_PREFIX)}\.(\d{{10}})\.")
# A slightly fast clock cannot explain a timestamp further ahead than this.
_MOST_SECONDS_AHEAD = 86_400


class Stream:
    """One event file. Not thread-safe: its writer holds a lock."""

    def __init__(self, folder: str, suffix: str = "") -> None:
        """Create the folder, and a new file with a unique name in it. Raises OSError."""
        os.makedirs(folder, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | O_BINARY
        while True:
            self.path = os.path.join(folder, _name_last(folder, f"{EVENT_FILE_SUFFIX}{suffix}"))
            with suppress(FileExistsError):
                self._file = os.open(self.path, flags, 0o666)
                break
        self._left = b""
        head = EventBuffer()
        head.file_version(time.time())
        try:
            self.write(head)
        except OSError:
            self.close()
            with suppress(OSError):
                os.unlink(self.path)  # else each retry would add a file to a full disk
            raise

    @property
    def waiting(self) -> int:
        """The number of bytes that an error left unwritten."""
        return len(self._left)

    def resume(self) -> None:
        """Write the bytes that an error left unwritten. Raises OSError."""
        left, start = self._left, self._tell()
        try:
            self._write_all(memoryview(left))
        finally:
            self._left = left[self._tell() - start :]

    def write(self, events: EventBuffer) -> None:
        """Write all events and clear them. Raises OSError.

        After an error or Ctrl-C, the bytes that were not written are kept for `resume`.
        """
        start = self._tell()
        try:
            with memoryview(events) as waiting:
                try:
                    self._write_all(waiting)
                finally:
                    self._left = bytes(waiting[self._tell() - start :])
        finally:
            events.clear()
        if os.fstat(self._file).st_nlink == 0:
            # The kernel would accept further writes to a file that can no longer be read.
            raise FileNotFoundError(errno.ENOENT, "The event file was deleted", self.path)

    def _tell(self) -> int:
        """Return the file position, which also counts the bytes of an interrupted write."""
        return os.lseek(self._file, 0, os.SEEK_CUR)

    def _write_all(self, waiting: memoryview) -> None:
        done = 0
        while done < len(waiting):
            with waiting[done:] as rest:  # a traceback must not keep the buffer alive
                done += os.write(self._file, rest)

    def sync(self) -> None:
        """Wait until the file and its folder entry are on disk. Raises OSError."""
        os.fsync(self._file)
        if not IS_POSIX:
            return  # Windows cannot open folders, and writes their entries itself
        folder = os.open(os.path.dirname(self.path) or os.curdir, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def _name_last(folder: str, suffix: str) -> str:
    """Return a name for an event file that readers read after all others in its folder.

    If a process dies and another resumes its run within a second, the new process can have a lower
    process id than the old one. If another machine resumes the run, its clock can be behind.
    """
    name = name_event_file(suffix)
    last = max((other for other in os.listdir(folder) if _SECONDS.match(other)), default="")
    if last > name and (match := _SECONDS.match(last)):
        seconds = int(match[1])
        if seconds < time.time() + _MOST_SECONDS_AHEAD:
            return name_event_file(suffix, seconds + 1)
    return name
