"""Histograms: buckets with edges and counts, decoded many at a time.

Old values store the right edge of each bucket, and the outermost edges can be the
largest finite numbers. They are converted as in TensorBoard: empty buckets at both
ends are dropped, the first bucket starts at the smallest value seen and the last
one ends at the largest. New values store both edges of every bucket and are
returned as stored.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from runfold._core.histogram_proto import decode_histograms
from runfold._events import wire
from runfold._events.kinds import stored_value


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """One histogram: counts[i] values were between left[i] and right[i].

    New values do not store `sum` and `sum_squares`, so these are NaN. Their `num`,
    `min` and `max` come from the non-empty buckets.
    """

    left: np.ndarray
    right: np.ndarray
    counts: np.ndarray
    min: float
    max: float
    num: float
    sum: float
    sum_squares: float


@dataclass(frozen=True, slots=True, eq=False)
class Histograms:
    """Many histograms as columns, one row per histogram; `histograms[row]` returns one.

    The buckets of a row are left[offsets[row]:offsets[row + 1]], and so on.
    """

    left: np.ndarray
    right: np.ndarray
    counts: np.ndarray
    offsets: np.ndarray
    min: np.ndarray
    max: np.ndarray
    num: np.ndarray
    sum: np.ndarray
    sum_squares: np.ndarray

    def __len__(self) -> int:
        return len(self.min)

    def __getitem__(self, row: int) -> Histogram:
        buckets = slice(self.offsets[row], self.offsets[row + 1])
        return Histogram(
            self.left[buckets],
            self.right[buckets],
            self.counts[buckets],
            *(float(getattr(self, name)[row]) for name in TOTALS),
        )


TOTALS = ("min", "max", "num", "sum", "sum_squares")


def decode(value: bytes) -> Histogram:
    """Return one histogram."""
    histograms, errors = decode_many([value])
    if errors:
        raise ValueError(errors[0][1])
    return histograms[0]


def decode_many(values: Sequence[bytes]) -> tuple[Histograms, list[tuple[int, str]]]:
    """Return one row per value, and (index, reason) for each value that could not be decoded.

    The row of such a value has no buckets and NaN totals, so row numbers match
    value numbers.
    """
    errors: list[tuple[int, str]] = []
    protos: dict[int, bytes] = {}
    tensors: dict[int, np.ndarray] = {}
    for index, value in enumerate(values):
        try:
            parsed = stored_value.parse(value)
            if parsed.form == stored_value.HISTOGRAM:
                protos[index] = parsed.body
            else:
                tensors[index] = _buckets(stored_value.tensor_of(parsed, "a histogram"))
        except ValueError as error:
            errors.append((index, str(error)))
    from_protos, bad = _from_protos(list(protos.values()))
    rows = list(protos)
    errors += [(rows[row], _fact(protos[rows[row]])) for row in bad]
    both = _joined(from_protos, _from_tensors(list(tensors.values())))
    return _reordered(both, [*rows, *tensors], len(values)), sorted(errors)


def _buckets(tensor: np.ndarray) -> np.ndarray:
    if tensor.ndim != 2 or tensor.shape[1] != 3 or tensor.dtype.kind not in "fiu":
        raise ValueError(
            f"expected rows of left, right and count, got {stored_value.describe(tensor)}"
        )
    return tensor.astype(np.float64, copy=False)


def _fact(message: bytes) -> str:
    try:
        list(wire.fields(message))
    except wire.Malformed as error:
        return f"the histogram is malformed: {error}"
    return "the histogram's limits and counts are malformed or differ in length"


def _from_protos(messages: list[bytes]) -> tuple[Histograms, list[int]]:
    columns = decode_histograms(messages)
    first, last = _filled(columns.counts, columns.offsets)
    offsets = _offsets(last - first)
    positions = _positions(first, offsets)
    right = columns.right_edges[positions]
    left = np.roll(right, 1)
    some = last > first
    left[offsets[:-1][some]] = columns.min[some]
    right[offsets[1:][some] - 1] = columns.max[some]
    totals = (getattr(columns, name) for name in TOTALS)
    rows = Histograms(left, right, columns.counts[positions], offsets, *totals)
    return rows, np.flatnonzero(~columns.valid).tolist()


def _from_tensors(tensors: list[np.ndarray]) -> Histograms:
    left, right, counts = np.concatenate([np.empty((0, 3)), *tensors]).T.copy()
    offsets = _offsets([len(tensor) for tensor in tensors])
    first, last = _filled(counts, offsets)
    some = last > first
    low, high, num = np.full((3, len(tensors)), np.nan)
    low[some] = left[first[some]]
    high[some] = right[last[some] - 1]
    num[:] = [tensor[:, 2].sum() for tensor in tensors]
    unknown = np.full(len(tensors), np.nan)
    return Histograms(left, right, counts, offsets, low, high, num, unknown, unknown)


def _filled(counts: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each row's non-empty buckets start and end; the two are equal if it has none."""
    filled = np.flatnonzero(counts > 0)
    begin, end = np.searchsorted(filled, offsets[:-1]), np.searchsorted(filled, offsets[1:])
    first, last = offsets[:-1].copy(), offsets[:-1].copy()
    some = end > begin
    first[some] = filled[begin[some]]
    last[some] = filled[end[some] - 1] + 1
    return first, last


def _joined(above: Histograms, below: Histograms) -> Histograms:
    """Return both tables, the second below the first."""
    columns = {
        field.name: np.concatenate([getattr(above, field.name), getattr(below, field.name)])
        for field in fields(Histograms)
        if field.name != "offsets"
    }
    offsets = np.concatenate([above.offsets, above.offsets[-1] + below.offsets[1:]])
    return Histograms(offsets=offsets, **columns)


def _reordered(rows: Histograms, order: list[int], count: int) -> Histograms:
    """Return `count` rows: row order[i] is the given row i, and all other rows are empty."""
    if order == list(range(count)):
        return rows
    lengths, starts = np.zeros((2, count), np.int64)
    lengths[order] = np.diff(rows.offsets)
    starts[order] = rows.offsets[:-1]
    offsets = _offsets(lengths)
    positions = _positions(starts, offsets)
    totals = np.full((len(TOTALS), count), np.nan)
    for total, name in zip(totals, TOTALS, strict=True):
        total[order] = getattr(rows, name)
    left, right = rows.left[positions], rows.right[positions]
    return Histograms(left, right, rows.counts[positions], offsets, *totals)


def _offsets(lengths: np.ndarray | list[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _positions(starts: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return the positions start, start + 1, ... of every row, one row after the other."""
    shifts: np.ndarray = np.repeat(starts - offsets[:-1], np.diff(offsets))
    return shifts + np.arange(offsets[-1])
