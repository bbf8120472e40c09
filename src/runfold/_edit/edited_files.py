"""The event files of a result: written below a folder, or only counted."""

from __future__ import annotations

import os
from types import TracebackType

from runfold._core.encoder import EventBuffer


class Output:
    """Writes the runs' event files one after another; without a root, only counts the bytes."""

    def __init__(self, root: str | None) -> None:
        self.root = root
        self.size = 0
        self._descriptor: int | None = None
        self._source = ""

    def begin(self, run: str, name: str, source: str) -> None:
        """Start an event file, with the times and permissions of the source file."""
        self.end()
        if self.root is None:
            return
        folder = os.path.normpath(os.path.join(self.root, run))
        os.makedirs(folder, exist_ok=True)
        mode = os.stat(source).st_mode & 0o777
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._descriptor = os.open(os.path.join(folder, name), flags, mode)
        self._source = source

    def write(self, events: EventBuffer | bytes) -> None:
        """Append events to the current file."""
        with memoryview(events) as whole:
            self.size += len(whole)
            if self._descriptor is not None:
                written = 0
                while written < len(whole):
                    written += os.write(self._descriptor, whole[written:])

    def end(self) -> None:
        """Close the current file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is None:
            return
        try:
            stat = os.stat(self._source)
            os.utime(descriptor, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        finally:
            os.close(descriptor)

    def __enter__(self) -> Output:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.end()
