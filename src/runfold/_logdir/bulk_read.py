"""Reads bytes for the decoder: many files in one buffer, decoded in one call."""

from __future__ import annotations

import errno
import stat as mode
import time
from collections import deque
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from runfold._core.decoder import decode
from runfold._core.record import StopReason
from runfold._events.event_file import HEADER_SIZE
from runfold._events.file_state import FileState
from runfold._events.problems import Code, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runfold._core.decoder import Decoder
    from runfold._core.tag_table import Tags
    from runfold._events.opened_file import OpenedFile, Status

T = TypeVar("T")

# Large enough to make the cost per call negligible, small enough to stay in the
# processor's cache between reading and decoding.
BUFFER_SIZE = 1 << 20

# If the buffer has less free space than this, its content is decoded first.
_SMALLEST_READ = 64 << 10

# The most bytes, and the most items, that `read_ahead` prepares.
_MOST_AHEAD = 32 << 20
_MOST_WAITING = 128

_TRANSIENT = {errno.EINTR, errno.EIO, errno.ESTALE, errno.EAGAIN}
_ATTEMPTS = 3


class ReadFile(Protocol):
    """A file that `Reader` reads, such as an `EventFile`."""

    path: str
    trouble: Problem | None
    decoder: Decoder

    def open(self) -> OpenedFile: ...
    def has_changed(self, stat: Status) -> bool: ...
    def was_replaced(self, stat: Status, opened: OpenedFile) -> bool: ...
    def reset(self, tags: Tags) -> None: ...
    def end(self, stat: Status) -> int: ...
    def mark(self, stretch: memoryview, start: int) -> None: ...
    def settle(self, state: FileState | None) -> None: ...


class Reader:
    """Reads event files in the given order, up to their current end.

    All files of one run must pass through the same reader, one after the other,
    because they share their tags. At most one file is open at a time.
    """

    def __init__(
        self, advance: Callable[[int], object] | None = None, size: int | None = None
    ) -> None:
        # Called after each read with the number of bytes read.
        self._advance = advance
        self._size = BUFFER_SIZE if size is None else size
        self._buffer = bytearray(self._size)
        self._view = memoryview(self._buffer)
        self._used = 0
        self._batch: list[tuple[ReadFile, int, int]] = []
        self._read: list[tuple[ReadFile, FileState | None]] = []
        # For `Tags.share`.
        self._known_tags: dict[bytes, Tags] = {}

    def read(self, file: ReadFile) -> None:
        """Read new data from a file. A disk error is stored in the file's `trouble`."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._open_and_read(file)
            except OSError as error:
                # Data read before the error is kept; the next attempt, now or at the
                # next refresh, continues after it.
                self._decode()
                if error.errno in _TRANSIENT and attempt < _ATTEMPTS:
                    time.sleep(0.01 * attempt)
                    continue
                file.trouble = _trouble(file.path, error)
                self._read.append((file, None))
            return

    def finish(self) -> None:
        """Decode the rest of the buffer and pass the results to the files."""
        self._decode()
        self._settle()

    def _open_and_read(self, file: ReadFile) -> None:
        opened = file.open()
        try:
            now = time.time_ns()
            # Leave bytes that are appended from now on for the next read, so that the
            # data is a consistent prefix of the file.
            stat = opened.status()
            if not mode.S_ISREG(stat.st_mode):
                file.trouble = Problem.of(Code.SPECIAL_FILE, file.path, None)
                return
            file.trouble = None
            if not file.has_changed(stat):
                return
            if file.was_replaced(stat, opened):
                self._decode()
                file.reset(file.decoder.tags)
            self._read_to(file, opened, file.end(stat))
            self._read.append((file, FileState.of(stat, now)))
        finally:
            opened.close()

    def _read_to(self, file: ReadFile, opened: OpenedFile, size: int) -> None:
        """Read a file up to byte `size`, or as far as possible."""
        while True:
            offset = file.decoder.offset
            remaining = size - offset
            room = len(self._buffer) - self._used
            if room < remaining and room < _SMALLEST_READ:
                self._decode()
                room = len(self._buffer)
            start = self._used
            end = start + min(remaining, room)
            count = _read_into(self._view[start:end], opened, offset)
            if self._advance is not None:
                self._advance(count)
            self._batch.append((file, start, start + count))
            self._used = start + count
            # The rest of the file is in the buffer, and no record is longer than the
            # buffer, so more files can be added before decoding.
            if count >= remaining and size <= len(self._buffer):
                return
            self._decode()
            # A short read: the file has been truncated.
            if start + count < end:
                return
            # Zeros up to the end of the buffer are not necessarily the tail of the
            # file. They are treated as the tail only if they fill a buffer from its start.
            has_looked = start == 0 and file.decoder.offset == offset
            if has_looked and file.decoder.stop == StopReason.IS_ZEROS:
                return
            if not self._can_continue(file, size):
                return

    def _can_continue(self, file: ReadFile, size: int) -> bool:
        """Return whether more of a file can be read after decoding a piece of it.

        The next piece gets the whole buffer, even if other files took part of it
        this time, so a record that was cut at the end of this piece will be
        complete.
        """
        decoder = file.decoder
        stop, left = decoder.stop, size - decoder.offset
        if left <= 0 or stop == StopReason.HAS_BAD_LENGTH:
            return False
        if stop == StopReason.IS_TOO_LONG:
            # The record's length is valid, so the following records can be read.
            if decoder.needed > left:
                return False
            decoder.skip()
            return True
        if decoder.needed > left:
            return False
        if decoder.needed > len(self._buffer):
            # The header of the next record distinguishes a bad checksum of zeros from a
            # tail of zeros.
            self._grow(decoder.needed + HEADER_SIZE)
        return True

    def _grow(self, size: int) -> None:
        # Bounded by the file size and the decoder's limit, which have both been checked.
        self._buffer = bytearray(size)
        self._view = memoryview(self._buffer)

    def _decode(self) -> None:
        if not self._batch:
            return
        files, starts, ends = zip(*self._batch, strict=True)
        offsets = [file.decoder.offset for file in files]
        decode(
            [file.decoder for file in files],
            self._buffer,
            np.array(starts, np.int64),
            np.array(ends, np.int64),
        )
        for file, start, end, offset in zip(files, starts, ends, offsets, strict=True):
            file.mark(self._view[start:end], offset)
        self._batch.clear()
        self._used = 0
        # At once, because the columns that a decoder collects take more memory than they need.
        self._settle()
        if len(self._buffer) > self._size:
            self._buffer = bytearray(self._size)
            self._view = memoryview(self._buffer)

    def _settle(self) -> None:
        """Pass the results to the files that have been read and decoded."""
        for file, state in self._read:
            file.settle(state)
            file.decoder.tags.share(self._known_tags)
        self._read.clear()


def read_ahead(
    items: Iterable[T], expect: Callable[[T], int], cancel: Callable[[T], object]
) -> Iterator[T]:
    """Yield the items; those that follow are prepared meanwhile.

    `expect` prepares an item and returns how many bytes it holds in memory, and `cancel` releases
    an item that is not used after all.
    """
    waiting: deque[tuple[T, int]] = deque()
    held = 0
    try:
        for item in items:
            size = expect(item)
            if not (size or waiting):
                yield item
                continue
            waiting.append((item, size))
            held += size
            while held > _MOST_AHEAD or len(waiting) > _MOST_WAITING:
                first, size = waiting.popleft()
                held -= size
                yield first
        while waiting:
            yield waiting.popleft()[0]
    finally:
        for item, _ in waiting:
            cancel(item)


def _read_into(view: memoryview, opened: OpenedFile, offset: int) -> int:
    """Fill `view` from byte `offset`; return the number of bytes read.

    It is less than the size of `view` only at the end of the file.
    """
    total = 0
    while total < len(view):
        count = opened.read_into(view[total:], offset + total)
        if count == 0:
            break
        total += count
    return total


def _trouble(path: str, error: OSError) -> Problem:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Problem.of(Code.FILE_VANISHED, path, None)
    if isinstance(error, PermissionError):
        return Problem.of(Code.PERMISSION_DENIED, path, None)
    return Problem.of(Code.READ_ERROR, path, None, detail=error.strerror or str(error))
