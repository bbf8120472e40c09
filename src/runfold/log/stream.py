"""The event file behind a writer: new, its own, and whole up to the last write."""

from __future__ import annotations

import errno
import itertools
import os
import time
from contextlib import suppress

from runfold.core.encoder import EventBuffer

_counter = itertools.count()


class Stream:
    """One event file. Used by one thread at a time: its writer holds a lock."""

    def __init__(self, folder: str, suffix: str = "") -> None:
        """Make the folder, and in it a file that no other writer has. Raises OSError."""
        os.makedirs(folder, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
        while True:
            self.path = os.path.join(folder, name_file(suffix))
            with suppress(FileExistsError):
                self._file = os.open(self.path, flags, 0o666)
                break
        self._left = b""
        head = EventBuffer()
        head.file_version(time.time())
        self.write(head)

    def resume(self) -> None:
        """Write what an error left over, from the byte on where it struck. Raises OSError."""
        while self._left:
            self._left = self._left[os.write(self._file, self._left) :]

    def write(self, events: EventBuffer) -> None:
        """Write all events and clear them. Raises OSError, and keeps what is left for `resume`."""
        failure: OSError | None = None
        with memoryview(events) as waiting:
            done = 0
            try:
                while done < len(waiting):
                    done += os.write(self._file, waiting[done:])
            except OSError as error:
                self._left, failure = bytes(waiting[done:]), error
        events.clear()
        if failure is None and os.fstat(self._file).st_nlink == 0:
            # The system would go on taking what nobody will ever read.
            failure = FileNotFoundError(errno.ENOENT, "The event file was deleted", self.path)
        if failure is not None:
            raise failure

    def sync(self) -> None:
        """Wait until the disk has it all. Raises OSError."""
        os.fsync(self._file)

    def close(self) -> None:
        """Give the file back to the system; once more does nothing."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)


def name_file(suffix: str = "") -> str:
    """A name for an event file that no other call has, here or on another machine.

    torch names its files alike, and empties one that is there: ours has a mark of its own.
    """
    stamp = f"{int(time.time()):010d}.{os.uname().nodename}.{os.getpid()}.{next(_counter)}"
    return f"events.out.tfevents.{stamp}.runfold{suffix}"
