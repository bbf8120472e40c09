"""The event file behind a writer: new, its own, and whole up to the last write."""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress

from runfold._conventions import EVENT_FILE_SUFFIX, name_event_file
from runfold._core.encoder import EventBuffer
from runfold._system import IS_POSIX, O_BINARY


class Stream:
    """One event file. Used by one thread at a time: its writer holds a lock."""

    def __init__(self, folder: str, suffix: str = "") -> None:
        """Make the folder, and in it a file that no other writer has. Raises OSError."""
        os.makedirs(folder, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | O_BINARY
        while True:
            self.path = os.path.join(folder, name_event_file(f"{EVENT_FILE_SUFFIX}{suffix}"))
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
                os.unlink(self.path)  # or a full disk fills with files as it is tried again
            raise

    @property
    def waiting(self) -> int:
        """How many bytes an error left over for `resume`."""
        return len(self._left)

    def resume(self) -> None:
        """Write what an error left over, from the byte on where it struck. Raises OSError."""
        left, start = self._left, self._tell()
        try:
            self._write_all(memoryview(left))
        finally:
            self._left = left[self._tell() - start :]

    def write(self, events: EventBuffer) -> None:
        """Write all events and clear them. Raises OSError, and keeps what is left for `resume`.

        So it is when Ctrl-C strikes, after bytes that the system has taken already.
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
            # The system would go on taking what nobody will ever read.
            raise FileNotFoundError(errno.ENOENT, "The event file was deleted", self.path)

    def _tell(self) -> int:
        """How many bytes the system has taken, which is more than a call that broke off tells."""
        return os.lseek(self._file, 0, os.SEEK_CUR)

    def _write_all(self, waiting: memoryview) -> None:
        done = 0
        while done < len(waiting):
            with waiting[done:] as rest:  # no frame of an error may keep the buffer
                done += os.write(self._file, rest)

    def sync(self) -> None:
        """Wait until the file and its name are on the disk. Raises OSError."""
        os.fsync(self._file)
        if not IS_POSIX:
            return  # Windows opens no folder, and writes names on its own
        folder = os.open(os.path.dirname(self.path) or os.curdir, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def close(self) -> None:
        """Give the file back to the system; once more does nothing."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)
