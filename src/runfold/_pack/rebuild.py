"""Rebuilds an event file from the rows of a pack, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import numpy as np

from runfold._core.decoder import MAX_RECORD
from runfold._core.encoder import EventBuffer
from runfold._core.event import Form
from runfold._core.template import fill, put_together
from runfold._pack.pack_layout import BYTES, EVENT
from runfold.errors import BadPack

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._pack.pack_file import Pack
    from runfold._pack.pack_index import StoredFile

# The fields of an event that contain a value by themselves.
_FIELDS = {Form.GRAPH: 4, Form.RUN_METADATA: 8, Form.META_GRAPH: 9}

_POINT_COLUMNS = ["offset", "place", "template", "step", "wall_time", "value"]
_OTHER_COLUMNS = ["offset", "place", "step", "wall_time", "form", "kind"]

# The number of scalars encoded per call. More are encoded only to complete an event. Each
# scalar takes _ROOM bytes in addition to its template.
_AT_ONCE = 50_000
_ROOM = 64

# The maximum number of cached rows of the columns above, at about 40 bytes each. Rows were
# packed by run, so the next run is mostly in the same row groups.
_HELD_ROWS = 6_000_000


class SizedFile:
    """An event file that accepts exactly as many bytes as the index says, or raises BadPack."""

    def __init__(self, pack: Pack, file: StoredFile, out: BinaryIO) -> None:
        self._pack = pack
        self._file = file
        self._out = out
        self._left = file.size

    def write(self, data: bytes | EventBuffer) -> None:
        """Write more bytes."""
        self._left -= len(memoryview(data))
        if self._left < 0:
            self._refuse()
        self._out.write(data)

    def finish(self) -> None:
        """Check that no bytes are missing."""
        if self._left:
            self._refuse()

    def _refuse(self) -> NoReturn:
        raise BadPack(self._pack.path, f"its rows do not reproduce {self._file.name!r}")


@dataclass(slots=True)
class _Other:
    """A row that is not a scalar."""

    offset: int
    place: int
    step: int
    wall_time: float
    form: int
    kind: str
    row: int


class Rows:
    """The rows of a pack by the file they came from."""

    def __init__(self, pack: Pack) -> None:
        self.pack = pack
        self._held: dict[int, dict[str, NDArray[Any]]] = {}
        self._by_file: dict[tuple[int, int], list[int]] = {}
        segments = pack.index.segments
        for number, (run, file) in enumerate(
            zip(segments["run"].tolist(), segments["file"].tolist(), strict=True)
        ):
            self._by_file.setdefault((run, file), []).append(number)

    def points(self, key: tuple[int, int]) -> dict[str, NDArray[Any]]:
        """Return a file's scalars with known positions, in file order."""
        pieces = list(self._pieces(key, True))
        if not pieces:
            return {}
        columns = {
            name: np.concatenate([columns[name][rows] for columns, rows, _, _ in pieces])
            for name in _POINT_COLUMNS
        }
        placed = columns["offset"] >= 0
        order = np.lexsort((columns["place"][placed], columns["offset"][placed]))
        return {name: column[placed][order] for name, column in columns.items()}

    def others(self, key: tuple[int, int]) -> list[_Other]:
        """Return the non-scalar rows of a file, in file order."""
        rows_found = []
        for columns, rows, group, start in self._pieces(key, False):
            values = [columns[name][rows].tolist() for name in _OTHER_COLUMNS]
            for at, value in enumerate(zip(*values, strict=True), start):
                rows_found.append(_Other(*(*value, (group << 32) + at)))
        return sorted(rows_found, key=lambda row: (row.offset, row.place))

    def _pieces(self, key: tuple[int, int], is_scalar: bool) -> Any:
        index = self.pack.index
        for number in self._by_file.get(key, ()):
            group, count = int(index.segments["group"][number]), index.segments["count"][number]
            if index.is_scalar[group] == is_scalar:
                start = int(self.pack.starts[number])
                yield self._group(group), slice(start, start + int(count)), group, start

    def _group(self, group: int) -> dict[str, NDArray[Any]]:
        held = self._held.pop(group, None)
        if held is None:
            is_scalar = self.pack.index.is_scalar[group]
            held = self.pack.columns(group, _POINT_COLUMNS if is_scalar else _OTHER_COLUMNS)
            while sum(len(columns["offset"]) for columns in self._held.values()) > _HELD_ROWS:
                del self._held[next(iter(self._held))]
        self._held[group] = held  # most recently used last
        return held


def write_file(rows: Rows, key: tuple[int, int], out: SizedFile) -> None:
    """Write a file with its original bytes; `key` has the numbers of the run and the file.

    Raises BadPack if the rows do not reproduce it.
    """
    points, others = rows.points(key), rows.others(key)
    kept = _kept_spans(others, rows.pack)
    others = [row for row in others if row.kind in (EVENT, BYTES) or not _is_in(row.offset, kept)]
    if points:
        whole = ~_are_in(points["offset"], kept)
        points = {name: column[whole] for name, column in points.items()}
    done = 0
    offsets = points["offset"] if points else np.empty(0, np.int64)
    for event in _events(others):
        first, last = np.searchsorted(offsets, [event[0].offset, event[0].offset + 1]).tolist()
        _write_points(rows.pack, points, done, first, out)
        _write_event(rows.pack, event, points, range(first, last), out)
        done = last
    _write_points(rows.pack, points, done, len(offsets), out)


def _kept_spans(others: Sequence[_Other], pack: Pack) -> NDArray[np.int64]:
    """Return the start and end of each range kept unchanged; rows inside a range are part of it."""
    spans = [
        (row.offset, row.offset + (len(pack.payload(row.row)) if row.kind == BYTES else 1))
        for row in others
        if row.kind in (EVENT, BYTES)
    ]
    return np.array(spans, np.int64).reshape(-1, 2)


def _are_in(offsets: NDArray[np.int64], spans: NDArray[np.int64]) -> NDArray[np.bool_]:
    last = np.searchsorted(spans[:, 0], offsets, side="right") - 1
    ends = np.append(spans[:, 1], -1)
    return offsets < ends[last]


def _is_in(offset: int, spans: NDArray[np.int64]) -> bool:
    return bool(_are_in(np.array([offset]), spans)[0])


def _events(others: Sequence[_Other]) -> list[list[_Other]]:
    """Group rows by event."""
    events: list[list[_Other]] = []
    for row in others:
        if events and events[-1][0].offset == row.offset:
            events[-1].append(row)
        else:
            events.append([row])
    return events


def _write_points(
    pack: Pack, points: dict[str, NDArray[Any]], start: int, stop: int, out: SizedFile
) -> None:
    """Write the events of scalars from row `start` to `stop`, in batches."""
    while start < stop:
        end = min(stop, start + _AT_ONCE)
        if end < stop:  # include the whole event of the last row
            end = int(np.searchsorted(points["offset"], points["offset"][end - 1], side="right"))
        offset, _, template, step, wall_time, value = (
            points[name][start:end] for name in _POINT_COLUMNS
        )
        # A pack of many runs can have very many templates, but a file uses only a few.
        used, inverse = np.unique(template, return_inverse=True)
        templates = [_template(pack, number) for number in used.tolist()]
        sizes = np.array([len(template) + _ROOM for template in templates])
        if sizes[inverse].sum() > 2 * MAX_RECORD:
            raise BadPack(pack.path, "one of its events has too many values")
        try:
            numbers = inverse.astype(np.int32)
            out.write(put_together(templates, offset, numbers, step, wall_time, value))
        except ValueError as error:
            raise BadPack(pack.path, str(error)) from None
        start = end


def _template(pack: Pack, number: int) -> bytes:
    if not 0 <= number < len(pack.index.templates):
        raise BadPack(pack.path, f"it has no template {number}")
    return pack.index.templates[number]


def _write_event(
    pack: Pack,
    event: Sequence[_Other],
    points: dict[str, NDArray[Any]],
    rows: range,
    out: SizedFile,
) -> None:
    """Write one event with values other than scalars, or bytes without a record."""
    first = event[0]
    payload = pack.payload(first.row)
    buffer = EventBuffer()
    if first.kind == BYTES:
        out.write(payload)
        return
    if first.kind == EVENT:
        buffer.event(payload)
    elif first.form in _FIELDS:
        buffer.field(_FIELDS[Form(first.form)], payload, first.step, first.wall_time)
    else:
        values = []
        size = 0
        for position, value in _values(pack, event, points, rows):
            size += len(value)
            if size > MAX_RECORD:
                raise BadPack(pack.path, "one of its events is longer than any record")
            values.append((position, value))
        messages = [value for _, value in sorted(values, key=lambda entry: entry[0])]
        buffer.summary(messages, first.step, first.wall_time)
    out.write(buffer)


def _values(
    pack: Pack, event: Sequence[_Other], points: dict[str, NDArray[Any]], rows: range
) -> Iterator[tuple[int, bytes]]:
    """Yield the position and bytes of all values of one event."""
    for other in event:
        yield other.place, pack.payload(other.row)
    for row in rows:
        template = _template(pack, int(points["template"][row]))
        try:
            yield int(points["place"][row]), fill(template, float(points["value"][row]))
        except ValueError as error:
            raise BadPack(pack.path, str(error)) from None
