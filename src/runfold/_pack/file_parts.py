"""Splits an event file into parts: the data needed to rebuild it from its columns.

Points of a series are located in the file by step, wall time and value, all points
of a tag at once. If these do not match to the last bit (an integer tensor, a step
encoded with more bytes than necessary), the events themselves are kept. Unpacking
therefore restores every file, even one that could not be fully decoded.
"""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import numpy as np

from runfold._core import template as core
from runfold._core.decoder import MAX_RECORD
from runfold._events.event_file import HEADER_SIZE
from runfold._events.opened_file import OPEN_FLAGS
from runfold._events.wire import fields
from runfold._pack.pack_layout import BYTES, EVENT
from runfold.errors import FileChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from runfold._core.scalar_columns import Points
    from runfold._core.tag_table import Tags
    from runfold._events.event_file import EventFile

# Large enough for nearly all records; longer ones are read with a larger chunk.
CHUNK = 16 << 20
# Damaged bytes are kept in rows of up to this size.
_PIECE = 4 << 20

# Trailing zeros up to this size are kept even if no disk block contains them.
_LONGEST_HOLE = 64 << 20

# The positions of a tag's points in the file (of the record, and of the value within
# it), and their templates.
Positions = tuple["NDArray[np.int64]", "NDArray[np.int32]", "NDArray[np.int32]"]


class Templates:
    """The templates of a whole pack, and the tag of each."""

    def __init__(self, table: Tags) -> None:
        self.table = table
        self._names: list[bytes] = []

    def names(self) -> list[bytes]:
        """Return the raw tag of each template."""
        for number in range(len(self._names), len(self.table)):
            value = self.table.raw_name(number)[core.TEMPLATE_HEAD :]
            tags = [field for field in fields(value) if field.number == 1]
            self._names.append(value[tags[-1].start : tags[-1].stop] if tags else b"")
        return self._names


def stored_size(file: EventFile) -> int:
    """Return the size of a file without a long tail that occupies no disk blocks.

    After a crash or a copy, the size of a file can include gigabytes that were never written.
    They read as zeros, which readers ignore.
    """
    descriptor = os.open(file.path, OPEN_FLAGS)
    try:
        end = file.decoder.offset
        while file.size - end > _LONGEST_HOLE:
            end = os.lseek(descriptor, os.lseek(descriptor, end, os.SEEK_DATA), os.SEEK_HOLE)
    except OSError as error:
        # ENXIO: no data follows. The remaining zeros were never written.
        return min(end, file.size) if error.errno == errno.ENXIO else file.size
    finally:
        os.close(descriptor)
    return file.size


class FileParts:
    """The parts of a file's first `size` bytes; `numbers` maps the run's tags to numbers.

    `kept` are the ranges that must be kept unchanged: EVENT or BYTES, offset, start and length.
    They are known after all tags have been located.
    """

    def __init__(
        self, file: EventFile, size: int, templates: Templates, numbers: Mapping[bytes, int]
    ) -> None:
        self._file = file
        self._size = size
        self._templates = templates
        self._numbers = numbers
        self._tags = np.fromiter(file.columns.scalars, np.int64, len(file.columns.scalars))
        self._items = np.sort(file.columns.items["start"])
        self._kept: list[tuple[str, int, int, int]] = []
        # The records of values that no row describes.
        self._unknown: list[NDArray[np.int64]] = []
        self._has_kept = False

    @property
    def kept(self) -> list[tuple[str, int, int, int]]:
        """The ranges that must be kept unchanged."""
        if not self._has_kept:
            self.locate({})
        records = np.unique(np.concatenate(self._unknown)).tolist() if self._unknown else []
        return [*self._kept, *((EVENT, record, record + HEADER_SIZE, -1) for record in records)]

    def locate(self, points: Mapping[int, Points]) -> dict[int, Positions]:
        """Return the positions of these series, without those that differ from their values.

        Reads the file once per call. Raises FileChanged if the file is shorter than `size`.
        """
        wanted = np.fromiter(points, np.int64, len(points))
        pieces = [(np.empty(0, core.PART), np.empty(0, np.int64))]
        for parts in self._scan():
            values = parts[parts["index"] >= 0]
            tag = self._find_tags(values)
            if not self._has_kept:
                self._unknown.append(values["record"][(tag >= -1) & ~np.isin(tag, self._tags)])
            is_wanted = np.isin(tag, wanted)
            pieces.append((values[is_wanted], tag[is_wanted]))
        self._has_kept = True
        values, tag = (np.concatenate(own) for own in zip(*pieces, strict=True))
        del pieces
        return self._match(values, tag, points)

    def _scan(self) -> Iterator[NDArray[np.void]]:
        """Yield the parts of the file, stretch by stretch."""
        offset, chunk = 0, CHUNK
        descriptor = os.open(self._file.path, OPEN_FLAGS)
        try:
            while offset < self._size:
                count = min(chunk, self._size - offset)
                data = os.pread(descriptor, count, offset)
                if len(data) < count:
                    raise FileChanged(self._file.path)
                parts, used = core.take_apart(data, offset, self._templates.table, MAX_RECORD)
                self._keep(parts)
                yield parts
                offset += used
                if used:
                    chunk = CHUNK
                elif count == self._size - offset or chunk > MAX_RECORD:
                    break
                else:
                    chunk *= 4
        finally:
            os.close(descriptor)
        if not self._has_kept:
            size = self._size
            rest = range(offset, size, _PIECE)
            self._kept += [(BYTES, at, at, min(_PIECE, size - at)) for at in rest]

    def _keep(self, parts: NDArray[np.void]) -> None:
        if not self._has_kept:
            self._kept += [
                (
                    EVENT if part["index"] == core.EVENT else BYTES,
                    int(part["record"]),
                    int(part["start"]),
                    int(part["length"]),
                )
                for part in parts[parts["index"] < 0]
            ]

    def _find_tags(self, values: NDArray[np.void]) -> NDArray[np.int64]:
        """Return the tag of each value: -1 if it is unknown, -2 if the value is an item."""
        # Look only at these templates: a pack of many runs can have very many of them.
        used, inverse = np.unique(values["template"], return_inverse=True)
        names = self._templates.names()
        tags = [-1 if index < 0 else self._numbers.get(names[index], -1) for index in used.tolist()]
        start = values["start"]
        near = np.searchsorted(self._items, start)
        is_item = np.zeros(len(values), np.bool_)
        inside = near < len(self._items)
        is_item[inside] = self._items[near[inside]] == start[inside]
        return np.where(is_item, -2, np.array(tags, np.int64)[inverse])

    def _match(
        self, values: NDArray[np.void], tag: NDArray[np.int64], points: Mapping[int, Points]
    ) -> dict[int, Positions]:
        order = np.argsort(tag, kind="stable")
        ordered = tag[order]
        positions = {}
        for number, columns in points.items():
            first, last = np.searchsorted(ordered, [number, number + 1])
            rows = order[first:last]
            record = values["record"][rows]
            found = (values["step"][rows], values["wall_time"][rows], values["value"][rows])
            if all(map(_is_same, found, columns)):
                position = (values["start"][rows] - record).astype(np.int32)
                positions[number] = (record, position, values["template"][rows])
            else:
                self._unknown.append(record)
        return positions


def _is_same(a: NDArray[np.generic], b: NDArray[np.generic]) -> bool:
    """Return whether two columns are equal to the last bit, including NaN."""
    return np.array_equal(a.view(np.int64), b.view(np.int64))


def read_kept(
    file: EventFile, kept: Iterable[tuple[str, int, int, int]]
) -> Iterator[tuple[str, int, bytes]]:
    """Yield (EVENT or BYTES, offset, bytes) for each range that must be kept unchanged."""
    descriptor = os.open(file.path, OPEN_FLAGS)
    try:
        for kind, offset, start, length in kept:
            if length < 0:
                length = int.from_bytes(os.pread(descriptor, 8, offset), "little")
                if length > MAX_RECORD:
                    raise FileChanged(file.path)
            data = os.pread(descriptor, length, start)
            if len(data) < length:
                raise FileChanged(file.path)
            yield kind, offset, data
    finally:
        os.close(descriptor)
