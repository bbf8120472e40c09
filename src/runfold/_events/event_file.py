"""An event file: the columns read from it so far, and checks that it is still the same file."""

from __future__ import annotations

import errno
import os
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runfold._core.checksum import masked_crc32c
from runfold._core.decoder import ITEM, MAX_RECORD, NO_ITEMS, Decoder
from runfold._core.event import NoteCode
from runfold._core.record import StopReason
from runfold._core.scalar_columns import ScalarPoints
from runfold._events.file_mark import FileMark
from runfold._events.file_state import FileState
from runfold._events.lazy_points import LazyPoints
from runfold._events.opened_file import Unreachable, open_file
from runfold._events.problems import Code, Problem
from runfold._events.read_state import ReadState
from runfold._humanize import escape
from runfold.errors import CannotStore, FileChanged, RunfoldError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runfold._core.decoder import Restart
    from runfold._core.scalar_columns import Points
    from runfold._core.tag_table import Tags
    from runfold._core.whole_files import Content
    from runfold._events.lazy_points import PointSource
    from runfold._events.opened_file import OpenedFile, Opener, Status

HEADER_SIZE = 12

# torch and tensorboardX buffer written bytes for up to 120 seconds and can split a
# record across two flushes. A tail that stays torn for longer will never be completed.
IDLE_SECONDS = 180

# Number of bytes compared at the start of the file and before the current offset, to
# tell whether a file has grown or was replaced by a new one with the same name.
MARK_BYTES = 64

# No file whose first record was read begins with these bytes: the checksum is wrong.
_NEVER_READ = bytes(HEADER_SIZE)

# Many values are small and close together: one read of this size usually covers several.
_WINDOW = 16 << 10

# How often to read a value from a file that is being replaced by newer versions.
_ATTEMPTS = 3

# The version of a file that has not been read.
NEW_VERSION = 1

_NOTE_CODES = {
    NoteCode.BAD_PAYLOAD_CHECKSUM: Code.BAD_PAYLOAD_CHECKSUM,
    NoteCode.MALFORMED_EVENT: Code.MALFORMED_EVENT,
    NoteCode.BAD_TENSOR: Code.BAD_TENSOR,
    NoteCode.BAD_HISTOGRAM: Code.BAD_HISTOGRAM,
    NoteCode.UNKNOWN_WALL_TIME: Code.UNKNOWN_WALL_TIME,
    NoteCode.ROUNDED_INTEGER: Code.ROUNDED_INTEGER,
    NoteCode.RECORD_TOO_LONG: Code.RECORD_TOO_LONG,
}


@dataclass(slots=True)
class Columns:
    """Data read from a file, in file order.

    Arrays are replaced and never modified, so arrays handed out earlier remain valid.
    """

    scalars: ScalarPoints | LazyPoints
    items: np.ndarray
    restarts: list[Restart]

    def __bool__(self) -> bool:
        return bool(self.scalars or len(self.items) or self.restarts)

    def counts(self) -> dict[int, int]:
        """Return the number of points per tag."""
        return self.scalars.counts()

    def append(self, new: Columns) -> None:
        """Append the data from a later read."""
        before = self.counts()
        # The first new restart lists all tags, because any of them may have gained points
        # since the previous restart.
        named = before
        for step, items, counts in new.restarts:
            moved = {tag: before.get(tag, 0) + count for tag, count in counts.items()}
            self.restarts.append((step, len(self.items) + items, named | moved))
            named = {}
        if isinstance(self.scalars, LazyPoints) and isinstance(new.scalars, LazyPoints):
            self.scalars = self.scalars.followed_by(new.scalars)
        elif isinstance(self.scalars, ScalarPoints):
            for tag, points in new.scalars.items():
                if tag in self.scalars:
                    points = join_points([self.scalars[tag], points])
                self.scalars[tag] = points
        if len(new.items):
            self.items = np.concatenate([self.items, new.items])


# Never modified: the columns of all files that have not been read.
_NO_COLUMNS = Columns(ScalarPoints(), NO_ITEMS, [])


def join_points(pieces: Sequence[Points]) -> Points:
    """Concatenate several pieces of one series into read-only arrays."""
    steps, wall_times, values = zip(*pieces, strict=True)
    joined = np.concatenate(steps), np.concatenate(wall_times), np.concatenate(values)
    for column in joined:
        column.flags.writeable = False
    return joined


class EventFile:
    """One event file: read to its end, and read further as it grows.

    Whatever the file contains, no exception is raised: problems are collected. If there is a
    `source`, points are only counted, and the source decodes them when they are needed. If there
    is an `opener`, the file is not on disk.
    """

    __slots__ = (
        "__weakref__",
        "_before",
        "_head",
        "_is_in_order",
        "_notes",
        "_source",
        "_state",
        "columns",
        "decoder",
        "opener",
        "path",
        "rereads",
        "trouble",
        "version",
    )

    def __init__(
        self,
        path: str,
        tags: Tags,
        is_in_order: bool = False,
        source: PointSource | None = None,
        opener: Opener | None = None,
    ) -> None:
        self.path = path
        self.opener = opener
        self._source = source
        self._is_in_order = is_in_order
        # `rereads` counts how often the file was replaced, `version` how often new data was found.
        self.rereads = -1
        self.version = NEW_VERSION - 1
        self.reset(tags)

    @classmethod
    def of_content(cls, path: str, state: FileState, content: Content) -> EventFile:
        """Return a file that was read and decoded whole, as if by a `Reader`."""
        file = cls.__new__(cls)
        file.path = path
        file._source = file.trouble = file.opener = None
        file._is_in_order = False
        file.rereads = 0
        file.version = NEW_VERSION
        file._state = state
        file.decoder, scalars, items, notes, restarts, file._head, file._before = content
        file._notes = notes or ()
        file.columns = _NO_COLUMNS
        if scalars or len(items) or restarts:
            file.version += 1
            file.columns = Columns(scalars, items, restarts or [])
        return file

    def reset(self, tags: Tags) -> None:
        """Discard everything read so far, because the file was replaced."""
        self.rereads += 1
        self.version += 1
        keep = None if self._source is None else b""
        self.decoder = Decoder(tags, is_in_order=self._is_in_order, keep=keep)
        self.columns = _NO_COLUMNS
        # The reason why the file could not be read at all, if any.
        self.trouble: Problem | None = None
        self._notes: Sequence[tuple[int, int, int]] = ()
        self._state: FileState | None = None
        self._head = b""
        self._before = b""

    @property
    def size(self) -> int:
        """The size of the file in bytes when it was last checked."""
        return self._state.size if self._state else 0

    @property
    def state(self) -> FileState | None:
        """The size, times and identity of the file at the last read; None if that failed."""
        return self._state

    @property
    def edges(self) -> tuple[bytes, bytes]:
        """The first bytes of the file, and the last ones that were decoded."""
        return self._head, self._before

    @property
    def has_notes(self) -> bool:
        """Whether any record in the file has a problem."""
        return bool(self._notes)

    @property
    def points(self) -> int:
        """The number of values of any kind read so far."""
        return len(self.columns.items) + self.columns.scalars.total

    def open(self) -> OpenedFile:
        """Return the file, open. Raises OSError."""
        return open_file(self.path, self.opener)

    def expect(self) -> int:
        """Prepare for reading the file further; return the number of bytes to hold until then."""
        if self.opener is None:
            return 0
        return self.opener.expect(self.path, self.decoder.offset, self._state)

    def measure(self) -> int:
        """Return the current size of the file. Raises OSError."""
        return os.stat(self.path).st_size if self.opener is None else self.opener.size(self.path)

    def has_changed(self, stat: Status) -> bool:
        """Return whether the file has changed since the last read."""
        return self._state is None or not self._state.is_same(stat)

    def needs_no_read(self) -> bool:
        """Return whether opening the file would certainly show nothing new.

        Only for a file on a local disk: a `stat` call on a remote one can be out of date.
        """
        state = self._state
        if state is None or self.trouble is not None or self.opener is not None:
            return False
        try:
            return state.is_same(os.stat(self.path))
        except OSError:
            return False

    def is_another(self) -> bool:
        """Return whether the path now refers to a different file.

        Files on disk are compared by device and inode number, others by their content.
        """
        if self._state is None:
            return False
        try:
            if self.opener is not None:
                with closing(self.open()) as opened:
                    return self.was_replaced(opened.status(), opened)
            stat = os.stat(self.path)
        except OSError:
            return False
        return (stat.st_dev, stat.st_ino) != (self._state.device, self._state.inode)

    def was_replaced(self, stat: Status, opened: OpenedFile) -> bool:
        """Return whether the bytes read earlier have been replaced."""
        return self._file_mark().is_replaced(stat, opened)

    def _file_mark(self) -> FileMark:
        seen = self._state
        return FileMark(
            None if seen is None else seen.device,
            None if seen is None else seen.inode,
            self.decoder.offset,
            self._head,
            self._before,
        )

    def distrust(self) -> None:
        """Treat the file as replaced at the next read."""
        self._state, self._head = None, _NEVER_READ

    def end(self, stat: Status) -> int:
        """Return the position up to which an open file should be read."""
        return stat.st_size

    def mark(self, stretch: memoryview, start: int) -> None:
        """Remember bytes that identify the file, after decoding a stretch from byte `start`."""
        end = self.decoder.offset - start
        if start == 0:
            # Decoded bytes never change, but a torn record or a range of zeros can.
            self._head = bytes(stretch[: min(end, MARK_BYTES) or MARK_BYTES])
        if end > 0:
            self._before = bytes(stretch[max(0, end - MARK_BYTES) : end])

    def settle(self, state: FileState | None) -> None:
        """Store the data that the decoder collected during this read.

        If `state` is None, the read failed partway, and the file is treated as not
        yet checked.
        """
        if state is not None:
            self._state = state
        counted = None if self._source is None else self._count(self._source)
        scalars, items, notes, restarts = self.decoder.take()
        new = Columns(scalars if counted is None else counted, items, restarts)
        if new:
            self.version += 1
            if self.columns:
                self.columns.append(new)
            else:
                self.columns = new
        if notes:
            self._notes = [*self._notes, *notes]

    def _count(self, source: PointSource) -> LazyPoints:
        return LazyPoints(
            self.path,
            self._file_mark(),
            self.decoder.tags,
            *self.decoder.counts(),
            source,
            self.opener,
        )

    def save(self) -> ReadState:
        """Return what was read so far, without the points."""
        scalars = self.columns.scalars
        counts = scalars.counts()
        numbers = np.fromiter(counts, np.int32, len(counts))
        sizes = np.fromiter(counts.values(), np.int64, len(counts))
        order = np.argsort(numbers)
        return ReadState(
            self.path,
            self._state,
            self.decoder.position(),
            self._head,
            self._before,
            self.trouble,
            list(self._notes),
            self.columns.items,
            self.columns.restarts,
            numbers[order],
            sizes[order],
        )

    def restore(self, saved: ReadState) -> None:
        """Continue from what another `EventFile` has read. Nothing may have been read so far.

        The tags must be equal to those of the other file's run, and there must be a source.
        """
        if self._source is None:
            raise ValueError("Points that are not in memory need a source.")
        self.decoder.resume(*saved.position)
        self._state, self._head, self._before = saved.state, saved.head, saved.before
        self.trouble = saved.trouble
        self._notes = list(saved.notes)
        points = LazyPoints(
            self.path,
            self._file_mark(),
            self.decoder.tags,
            saved.tags,
            saved.counts,
            self._source,
            self.opener,
        )
        self.columns = Columns(points, saved.items, list(saved.restarts))
        self.version += bool(self.columns)

    def take(self) -> Columns:
        """Return the data read since the last call, and release it."""
        taken, self.columns = self.columns, _NO_COLUMNS
        return taken

    def problems(self, tag_names: Sequence[str]) -> Iterator[Problem]:
        """Yield every problem in this file, in file order."""
        if self.trouble is not None:
            yield self.trouble
        for offset, code, tag in self._notes:
            detail = f"tag {tag_names[tag]!r}" if tag >= 0 else ""
            yield Problem.of(_NOTE_CODES[NoteCode(code)], self.path, offset, detail=detail)
        stopped = self._stopped()
        if stopped is not None:
            yield Problem.of(stopped, self.path, self.decoder.offset)

    def _stopped(self) -> Code | None:
        """Return why reading stopped before the end of the file, if that should be reported."""
        reason = self.decoder.stop
        if self._state is None or reason == StopReason.AT_END:
            return None
        if reason == StopReason.IS_TOO_LONG:
            return Code.RECORD_TOO_LONG
        if reason == StopReason.HAS_BAD_LENGTH:
            if self.decoder.offset > 0:
                return Code.BAD_LENGTH_CHECKSUM
            return Code.COMPRESSED if _is_compressed(self._head) else Code.NOT_AN_EVENT_FILE
        if time.time() - self._state.mtime_ns / 1e9 < IDLE_SECONDS:
            return None
        return Code.ZERO_FILLED_TAIL if reason == StopReason.IS_ZEROS else Code.INCOMPLETE_TAIL

    def fetch(self, items: Iterable[np.void]) -> Iterator[bytes]:
        """Yield the bytes of indexed values, read from the file and checked again.

        Raises FileChanged if the file no longer contains the indexed values.
        """
        at, payload = -1, b""
        table = items if isinstance(items, np.ndarray) else np.array(list(items), ITEM)
        positions = (table[name].tolist() for name in ("record", "start", "length"))
        with closing(self._open()) as opened:
            self._check(opened)
            window = _Window(opened, _WINDOW)
            for record, start, length in zip(*positions, strict=True):
                if record != at:
                    at, payload = record, self._read_payload(window, record)
                start -= record + HEADER_SIZE
                yield payload[start : start + length]

    def fetch_head(self, items: Iterable[np.void], size: int) -> Iterator[bytes]:
        """Yield at most the first `size` bytes of each indexed value.

        This is for large values whose remaining bytes are needed later or not at all.
        Only the record's header is checked.
        """
        with closing(self._open()) as opened:
            self._check(opened)
            window = _Window(opened, 0)
            for item in items:
                record, start, length = int(item["record"]), int(item["start"]), int(item["length"])
                if self._read_length(window, record) < start + length - record - HEADER_SIZE:
                    raise self._changed()
                yield self._read_at(window, min(size, length), start)

    def _open(self) -> OpenedFile:
        try:
            return self.open()
        except OSError as error:
            raise self._explain(error) from error

    def _check(self, opened: OpenedFile) -> None:
        """Raise FileChanged if another file has replaced the indexed one.

        The new file's records may be intact, but they are different records.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                was_replaced = self.was_replaced(opened.status(), opened)
                break
            except OSError as error:
                if error.errno != errno.ESTALE or attempt == _ATTEMPTS:
                    raise self._explain(error) from error
        if was_replaced:
            raise self._changed()

    def _read_length(self, window: _Window, record: int) -> int:
        header = self._read_at(window, HEADER_SIZE, record)
        length = int.from_bytes(header[:8], "little")
        if masked_crc32c(header[:8]) != _u32(header[8:]) or length > MAX_RECORD:
            raise self._changed()
        return length

    def _read_payload(self, window: _Window, record: int) -> bytes:
        length = self._read_length(window, record)
        body = self._read_at(window, length + 4, record + HEADER_SIZE)
        payload = body[:-4]
        if masked_crc32c(payload) != _u32(body[-4:]):
            raise self._changed()
        return payload

    def _read_at(self, window: _Window, size: int, offset: int) -> bytes:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                data = window.read(size, offset)
                break
            except OSError as error:
                if error.errno != errno.ESTALE or attempt == _ATTEMPTS:
                    raise self._explain(error) from error
                # There is another version of the file, which may only have grown.
                self._check(window.opened)
        if len(data) < size:
            raise self._changed()
        return data

    def _explain(self, error: OSError) -> RunfoldError:
        if isinstance(error, Unreachable):
            reason = escape(error.strerror or "")
            return CannotStore(
                f"{escape(error.filename)}: {reason}. Check the network and try again."
            )
        return self._changed()

    def _changed(self) -> FileChanged:
        return FileChanged(self.path)


class _Window:
    """An open file with read-ahead, because the next value is often close by."""

    __slots__ = ("_data", "_size", "_start", "opened")

    def __init__(self, opened: OpenedFile, size: int) -> None:
        self.opened = opened
        self._size = size
        self._start = 0
        self._data = b""

    def read(self, size: int, offset: int) -> bytes:
        """Return up to `size` bytes from `offset`, fewer at the end of the file."""
        at = offset - self._start
        if not 0 <= at <= len(self._data) - size:
            self._data = self.opened.pread(max(size, self._size), offset)
            self._start, at = offset, 0
        return self._data[at : at + size]


def _u32(data: bytes) -> int:
    return int.from_bytes(data, "little")


def _is_compressed(head: bytes) -> bool:
    """Return whether a file starts like gzip or zlib data; TFRecord files can be compressed."""
    return head[:2] in (b"\x1f\x8b", b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
