"""Rows to be packed: collected run by run, sorted by tag, divided into row groups.

Rows are written whenever enough have been collected, so memory stays bounded however
large the logdir is. With several batches, a tag has at least one row group in each.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np

from runfold._core.event import Form
from runfold._pack.pack_index import SEGMENT
from runfold._pack.pack_layout import KEY, MOST_ROWS, SCALAR, schema, writer_options

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

# Up to this many points are collected, at about 40 bytes each.
_BATCH_POINTS = 2_000_000
# A tag with fewer points than the first number shares its row group with the next tag,
# because each group costs a kilobyte in the footer. A tag with more points than the second
# number gets several groups, so that none of them needs much memory.
_LEAST_POINTS = 1 << 15
_MOST_POINTS = MOST_ROWS

# Up to this many bytes of other values are collected. They are divided into row groups of
# this size, so that one image can be read without decompressing many others.
_BATCH_BYTES = 64 << 20
_GROUP_BYTES = 8 << 20


class Place(NamedTuple):
    """The run, file and tag that rows belong to: the number of each, and its name as stored."""

    run: int
    file: int
    tag: int
    run_name: str
    file_name: str
    tag_name: str | None


@dataclass(slots=True)
class Points:
    """The points of one tag in one file; `offset` is -1 if the position of a point is unknown."""

    at: Place
    step: NDArray[np.int64]
    wall_time: NDArray[np.float64]
    value: NDArray[np.float64]
    offset: NDArray[np.int64] | None
    place: NDArray[np.int32] | None
    template: NDArray[np.int32] | None

    def cut(self, start: int, stop: int) -> Points:
        """Return the points [start, stop)."""
        columns = (self.step, self.wall_time, self.value, self.offset, self.place, self.template)
        pieces = (None if column is None else column[start:stop] for column in columns)
        return Points(self.at, *pieces)  # type: ignore[arg-type]


class Other(NamedTuple):
    """A non-scalar value, or bytes that are kept unchanged."""

    kind: str
    at: Place
    offset: int
    place: int
    step: int | None
    wall_time: float | None
    form: int | None
    plugin: int | None
    payload: bytes


class RowWriter:
    """Writes rows to a Parquet file and records their positions."""

    def __init__(self, file: BinaryIO, most_points: int | None = None) -> None:
        """Write to a file; `most_points` limits the number of points that are collected."""
        import pyarrow.parquet as pq

        self._schema = schema()
        self._writer = pq.ParquetWriter(file, self._schema, **writer_options())
        self._most_points = min(_BATCH_POINTS, most_points or _BATCH_POINTS)
        self._points: dict[str, list[Points]] = {}
        self._held_points = 0
        self._others: list[Other] = []
        self._held_bytes = 0
        self.is_scalar: list[bool] = []
        self._segments: list[tuple[int, int, int, int, int]] = []

    def add_points(self, points: Points) -> None:
        """Add the points of a tag in a file."""
        self._points.setdefault(points.at.tag_name or "", []).append(points)
        self._held_points += len(points.step)
        if self._held_points >= self._most_points:
            self._write_points()

    def add_other(self, other: Other) -> None:
        """Add a non-scalar value, or bytes that are kept unchanged."""
        self._others.append(other)
        self._held_bytes += len(other.payload) + 200
        if self._held_bytes >= _BATCH_BYTES:
            self._write_others()

    def flush(self) -> None:
        """Write all collected rows."""
        self._write_points()
        self._write_others()

    def segments(self) -> NDArray[np.void]:
        """Return the segments, in the order of their rows."""
        return np.array(self._segments, SEGMENT)

    def finish(self, index: bytes) -> None:
        """Write the footer with the index."""
        self._writer.add_key_value_metadata({KEY: index})
        self._writer.close()

    def abandon(self) -> None:
        """Close a file that will not be finished, without raising another error."""
        with suppress(Exception):
            self._writer.close()

    def _write_points(self) -> None:
        held, self._points, self._held_points = self._points, {}, 0
        for group in _group_points([held[tag] for tag in sorted(held)]):
            self._write(
                True,
                [points.at for points in group],
                [len(points.step) for points in group],
                _point_columns(group),
            )

    def _write_others(self) -> None:
        held, self._others, self._held_bytes = self._others, [], 0
        held.sort(
            key=lambda row: (row.kind, row.at.tag_name or "", *row.at[:3], row.offset, row.place)
        )
        for group in _group_others(held):
            ats = [row.at for row in group]
            self._write(False, ats, [1] * len(ats), _other_columns(group))

    def _write(
        self, is_scalar: bool, ats: Sequence[Place], lengths: Sequence[int], columns: dict[str, Any]
    ) -> None:
        import pyarrow as pa

        number = len(self.is_scalar)
        self.is_scalar.append(is_scalar)
        for at, length in zip(ats, lengths, strict=True):
            last = self._segments[-1] if self._segments else None
            if last and last[:4] == (number, *at[:3]):
                self._segments[-1] = (*last[:4], last[4] + length)
            else:
                self._segments.append((number, *at[:3], length))
        columns |= {
            "run": _names([at.run_name for at in ats], lengths),
            "tag": _names([at.tag_name for at in ats], lengths),
            "file": _names([at.file_name for at in ats], lengths),
        }
        rows = sum(lengths)
        arrays = [
            columns[field.name] if field.name in columns else pa.nulls(rows, field.type)
            for field in self._schema
        ]
        table = pa.Table.from_arrays(arrays, schema=self._schema)
        self._writer.write_table(table, row_group_size=max(rows, 1))


def _group_points(tags: Iterable[list[Points]]) -> Iterator[list[Points]]:
    """Divide the points of all tags into row groups: several small tags, or part of a large one."""
    group: list[Points] = []
    size = 0
    for pieces in tags:
        total = sum(len(piece.step) for piece in pieces)
        if group and size + total > _LEAST_POINTS:
            yield group
            group, size = [], 0
        for piece in pieces:
            start, length = 0, len(piece.step)
            while start < length:
                count = min(length - start, _MOST_POINTS - size)
                group.append(piece.cut(start, start + count))
                start, size = start + count, size + count
                if size == _MOST_POINTS:
                    yield group
                    group, size = [], 0
    if group:
        yield group


def _group_others(rows: Sequence[Other]) -> Iterator[list[Other]]:
    group: list[Other] = []
    size = 0
    for row in rows:
        group.append(row)
        size += len(row.payload) + 100
        if size >= _GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _point_columns(group: Sequence[Points]) -> dict[str, Any]:
    import pyarrow as pa

    lengths = [len(piece.step) for piece in group]
    rows = sum(lengths)
    is_placed = np.repeat([piece.offset is not None for piece in group], lengths)

    def optional(pieces: list[NDArray[Any] | None], dtype: type) -> pa.Array:
        full = [
            np.zeros(length, dtype) if piece is None else piece
            for piece, length in zip(pieces, lengths, strict=True)
        ]
        return pa.array(np.concatenate(full).astype(dtype, copy=False), mask=~is_placed)

    return {
        "kind": _names([SCALAR], [rows]),
        "step": pa.array(np.concatenate([piece.step for piece in group])),
        "wall_time": pa.array(np.concatenate([piece.wall_time for piece in group])),
        "value": pa.array(np.concatenate([piece.value for piece in group])),
        "offset": optional([piece.offset for piece in group], np.int64),
        "place": optional([piece.place for piece in group], np.int32),
        "template": optional([piece.template for piece in group], np.int32),
        "form": pa.array(np.full(rows, int(Form.SCALAR), np.int16)),
    }


def _other_columns(group: Sequence[Other]) -> dict[str, Any]:
    import pyarrow as pa

    return {
        "kind": _names([row.kind for row in group], [1] * len(group)),
        "step": pa.array([row.step for row in group], pa.int64()),
        "wall_time": pa.array([row.wall_time for row in group], pa.float64()),
        "offset": pa.array([row.offset for row in group], pa.int64()),
        "place": pa.array([row.place for row in group], pa.int32()),
        "form": pa.array([row.form for row in group], pa.int16()),
        "plugin": pa.array([row.plugin for row in group], pa.int16()),
        "size": pa.array([len(row.payload) for row in group], pa.int64()),
        "payload": pa.array([row.payload for row in group], pa.binary()),
    }


def _names(names: Sequence[str | None], lengths: Sequence[int]) -> pa.DictionaryArray:
    """Return a dictionary-encoded array with names[i] repeated lengths[i] times."""
    import pyarrow as pa

    distinct = {
        name: code for code, name in enumerate(n for n in dict.fromkeys(names) if n is not None)
    }
    codes = np.repeat([distinct.get(name, -1) for name in names], lengths).astype(np.int32)  # type: ignore[arg-type]
    return pa.DictionaryArray.from_arrays(
        pa.array(codes, mask=codes < 0), pa.array([*distinct], pa.string())
    )
