"""Splits an event file into parts: the data needed to rebuild it from its columns.

Points of a series are located in the file by step, wall time and value, all points
of a tag at once. If these do not match to the last bit (an integer tensor, a step
encoded with more bytes than necessary), the events themselves are kept. Unpacking
therefore restores every file, even one that could not be fully decoded.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
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
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

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


@dataclass(slots=True)
class FileParts:
    """The positions of each tag's points, and the ranges that must be kept unchanged."""

    positions: dict[int, Positions]
    kept: list[tuple[str, int, int, int]]  # EVENT or BYTES, offset, start, length


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


def take_apart(
    file: EventFile, size: int, templates: Templates, numbers: Mapping[bytes, int]
) -> FileParts:
    """Return the parts of a file's first `size` bytes; `numbers` maps the run's tags to numbers.

    Raises FileChanged if the file is shorter than `size`.
    """
    parts, rest = _scan(file, size, templates.table)
    index = parts["index"]
    kept = [
        (
            EVENT if part["index"] == core.EVENT else BYTES,
            int(part["record"]),
            int(part["start"]),
            int(part["length"]),
        )
        for part in parts[index < 0]
    ]
    kept += [(BYTES, at, at, min(_PIECE, size - at)) for at in range(rest, size, _PIECE)]
    values = parts[index >= 0]
    known = np.isin(values["start"], file.columns.items["start"])
    positions = _match(file, values, known, templates, numbers)
    for record in np.unique(values["record"][~known]).tolist():
        kept.append((EVENT, record, record + HEADER_SIZE, -1))
    return FileParts(positions, kept)


def _scan(file: EventFile, size: int, table: Tags) -> tuple[NDArray[np.void], int]:
    """Return the parts of a file, and the offset after its last intact record."""
    pieces = [np.empty(0, core.PART)]
    offset, chunk = 0, CHUNK
    descriptor = os.open(file.path, OPEN_FLAGS)
    try:
        while offset < size:
            count = min(chunk, size - offset)
            data = os.pread(descriptor, count, offset)
            if len(data) < count:
                raise FileChanged(file.path)
            parts, used = core.take_apart(data, offset, table, MAX_RECORD)
            pieces.append(parts)
            offset += used
            if used:
                chunk = CHUNK
            elif count == size - offset or chunk > MAX_RECORD:
                break
            else:
                chunk *= 4
    finally:
        os.close(descriptor)
    return np.concatenate(pieces), offset


def _match(
    file: EventFile,
    values: NDArray[np.void],
    known: NDArray[np.bool_],
    templates: Templates,
    numbers: Mapping[bytes, int],
) -> dict[int, Positions]:
    """Locate the points of the file's series among its values, and mark those values as known."""
    # Look only at this file's templates: a pack of many runs can have very many of them.
    used, inverse = np.unique(values["template"], return_inverse=True)
    names = templates.names()
    tags = [-1 if index < 0 else numbers.get(names[index], -1) for index in used.tolist()]
    tag = np.where(known, -1, np.array(tags, np.int64)[inverse])
    order = np.argsort(tag, kind="stable")
    starts = np.searchsorted(tag[order], [*file.columns.scalars])
    ends = np.searchsorted(tag[order], [*file.columns.scalars], side="right")
    positions = {}
    for number, start, end in zip(file.columns.scalars, starts, ends, strict=True):
        rows = order[start:end]
        columns = (values["step"][rows], values["wall_time"][rows], values["value"][rows])
        points = file.columns.scalars[number]
        if all(map(_is_same, columns, points)):
            known[rows] = True
            record = values["record"][rows]
            position = (values["start"][rows] - record).astype(np.int32)
            positions[number] = (record, position, values["template"][rows])
    return positions


def _is_same(a: NDArray[np.generic], b: NDArray[np.generic]) -> bool:
    """Return whether two columns are equal to the last bit, including NaN."""
    return np.array_equal(a.view(np.int64), b.view(np.int64))


def read_kept(file: EventFile, parts: FileParts) -> Iterator[tuple[str, int, bytes]]:
    """Yield (EVENT or BYTES, offset, bytes) for each range that must be kept unchanged."""
    descriptor = os.open(file.path, OPEN_FLAGS)
    try:
        for kind, offset, start, length in parts.kept:
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
