"""One event file taken apart: what its columns do not tell, so that it can be rebuilt.

A point of a series is found again in the file by its step, wall time and value,
all points of a tag at once. Where they do not agree to the last bit (an integer
tensor, a step spelt with more bytes than it needs), the events themselves are
kept, so that unpacking never depends on how well this file was understood.
"""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runfold._core import template as core
from runfold._core.decoder import MAX_RECORD
from runfold._events.event_file import HEADER_SIZE, OPEN_FLAGS
from runfold._events.wire import fields
from runfold._pack.pack_layout import BYTES, EVENT
from runfold.errors import FileChanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from runfold._core.tag_table import Tags
    from runfold._events.event_file import EventFile

# Large enough for nearly all records; one that is longer is read with more.
CHUNK = 16 << 20
# So much of what is broken is kept in one row.
_PIECE = 4 << 20

# Zeros at the end that are kept even if no disk block holds them.
_LONGEST_HOLE = 64 << 20

# Where the points of a tag are in the file (of the record, and of the value
# within it), and their templates.
Places = tuple["NDArray[np.int64]", "NDArray[np.int32]", "NDArray[np.int32]"]


@dataclass(slots=True)
class FileParts:
    """Where the points of each tag stand, and the stretches that must be kept as they are."""

    places: dict[int, Places]
    kept: list[tuple[str, int, int, int]]  # EVENT or BYTES, offset, start and length of its bytes


class Templates:
    """The templates of a whole pack, and the tag that each one names."""

    def __init__(self, table: Tags) -> None:
        self.table = table
        self._names: list[bytes] = []

    def names(self) -> list[bytes]:
        """The raw tag of each template."""
        for number in range(len(self._names), len(self.table)):
            value = self.table.raw_name(number)[core.TEMPLATE_HEAD :]
            tags = [field for field in fields(value) if field.number == 1]
            self._names.append(value[tags[-1].start : tags[-1].stop] if tags else b"")
        return self._names


def stored_size(file: EventFile) -> int:
    """Return the size of a file without a long tail that no disk block holds.

    A crash, or a copy, can leave a file that claims gigabytes and has no data there.
    Readers ignore such zeros.
    """
    descriptor = os.open(file.path, OPEN_FLAGS)
    try:
        end = file.decoder.offset
        while file.size - end > _LONGEST_HOLE:
            end = os.lseek(descriptor, os.lseek(descriptor, end, os.SEEK_DATA), os.SEEK_HOLE)
    except OSError as error:
        # ENXIO: no data follows. The zeros from here on were never written.
        return min(end, file.size) if error.errno == errno.ENXIO else file.size
    finally:
        os.close(descriptor)
    return file.size


def take_apart(
    file: EventFile, size: int, templates: Templates, numbers: Mapping[bytes, int]
) -> FileParts:
    """The parts of the first `size` bytes of a file; `numbers` are those of the run's tags.

    Raises FileChanged if there is less in the file than was read.
    """
    parts, rest = _scan(file, size, templates.table)
    index = parts["index"]
    kept = [
        (
            EVENT if one["index"] == core.EVENT else BYTES,
            int(one["record"]),
            int(one["start"]),
            int(one["length"]),
        )
        for one in parts[index < 0]
    ]
    kept += [(BYTES, at, at, min(_PIECE, size - at)) for at in range(rest, size, _PIECE)]
    values = parts[index >= 0]
    known = np.isin(values["start"], file.columns.items["start"])
    places = _match(file, values, known, templates, numbers)
    for record in np.unique(values["record"][~known]).tolist():
        kept.append((EVENT, record, record + HEADER_SIZE, -1))
    return FileParts(places, kept)


def _scan(file: EventFile, size: int, table: Tags) -> tuple[NDArray[np.void], int]:
    """The parts of a file, and where what is no sound record up to its end begins."""
    found = [np.empty(0, core.PART)]
    offset, chunk = 0, CHUNK
    descriptor = os.open(file.path, OPEN_FLAGS)
    try:
        while offset < size:
            wanted = min(chunk, size - offset)
            data = os.pread(descriptor, wanted, offset)
            if len(data) < wanted:
                raise FileChanged(file.path)
            parts, taken = core.take_apart(data, offset, table, MAX_RECORD)
            found.append(parts)
            offset += taken
            if taken:
                chunk = CHUNK
            elif wanted == size - offset or chunk > MAX_RECORD:
                break
            else:
                chunk *= 4
    finally:
        os.close(descriptor)
    return np.concatenate(found), offset


def _match(
    file: EventFile,
    values: NDArray[np.void],
    known: NDArray[np.bool_],
    templates: Templates,
    numbers: Mapping[bytes, int],
) -> dict[int, Places]:
    """Find the points of the file's series among its values, and mark those as known."""
    # Only the templates of this file: a pack of many runs may have as many templates.
    used, which = np.unique(values["template"], return_inverse=True)
    names = templates.names()
    tags = [-1 if one < 0 else numbers.get(names[one], -1) for one in used.tolist()]
    tag = np.where(known, -1, np.array(tags, np.int64)[which])
    order = np.argsort(tag, kind="stable")
    starts = np.searchsorted(tag[order], [*file.columns.scalars])
    ends = np.searchsorted(tag[order], [*file.columns.scalars], side="right")
    found = {}
    for number, start, end in zip(file.columns.scalars, starts, ends, strict=True):
        rows = order[start:end]
        columns = (values["step"][rows], values["wall_time"][rows], values["value"][rows])
        points = file.columns.scalars[number]
        if all(map(_is_same, columns, points)):
            known[rows] = True
            record = values["record"][rows]
            place = (values["start"][rows] - record).astype(np.int32)
            found[number] = (record, place, values["template"][rows])
    return found


def _is_same(a: NDArray[np.generic], b: NDArray[np.generic]) -> bool:
    """Whether two columns are equal to the last bit, NaN included."""
    return np.array_equal(a.view(np.int64), b.view(np.int64))


def read_kept(file: EventFile, parts: FileParts) -> Iterator[tuple[str, int, bytes]]:
    """Yield (EVENT or BYTES, offset, bytes) of what must be kept as it is."""
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
