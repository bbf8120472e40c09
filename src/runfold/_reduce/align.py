"""Alignment of runs: common x values, and which runs have a value at each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from runfold._reduce.axes import BINS, INTERPOLATE, INTERSECTION, STRICT
from runfold._reduce.run_stack import RunStack
from runfold._reduce.windows.pieces import Piece

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runfold._reduce.curve_points import Points

X = NDArray[Any]

# "auto" interpolates up to this number of cells (runs times x values).
_HANDY_CELLS = 4_000_000
# Average number of a run's points per bin, so that few bins are empty.
_PER_BIN = 4
MOST_BINS = 10_000
# Wall times added at a time, so that a long run needs little memory besides the result.
_BLOCK = 1 << 18


class NotDivisible(Exception):
    """Raised for a curve that cannot be aligned window by window."""


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """The values of many runs at common x values.

    Attributes:
        x: the x values, increasing.
        values: float64, one row per run and one column per x; NaN if a run has no value.
        wall_times: float64, the mean over the runs that have a value at x.
        present: mask of the values that exist; None if all do.
        dropped: the number of x values that were left out.
    """

    x: X
    values: NDArray[np.float64]
    wall_times: NDArray[np.float64]
    present: NDArray[np.bool_] | None = None
    dropped: int = 0

    def take(self, kept: NDArray[np.bool_]) -> Aligned:
        """Return the values at the x values that a mask selects."""
        if kept.all():
            return self
        present = None if self.present is None else self.present[:, kept]
        dropped = self.dropped + int(np.count_nonzero(~kept))
        return Aligned(self.x[kept], self.values[:, kept], self.wall_times[kept], present, dropped)


@dataclass(frozen=True, slots=True)
class Range:
    """The range that is divided into bins, the same for all groups to make curves comparable."""

    low: Any
    high: Any
    bins: int


def has_same_places(points: Sequence[Points]) -> bool:
    """Return whether all runs have the same x values."""
    if isinstance(points, RunStack):
        return True
    first, *others = points
    return all(np.array_equal(first.x, run_points.x) for run_points in others)


def union(points: Sequence[Points]) -> X:
    """Return the sorted x values of all runs."""
    # np.unique takes five times as long, because it hashes integers before sorting.
    merged = np.concatenate([run_points.x for run_points in points])
    merged.sort()
    return merged[np.concatenate([[True], merged[1:] != merged[:-1]])] if len(merged) else merged


def choose_alignment(groups: Sequence[Sequence[Points]]) -> tuple[str, int | None]:
    """Return the alignment that "auto" selects for the groups of a tag, and the number of bins.

    Runs with the same x values are not changed. Others are interpolated, or averaged over
    bins if interpolation would take too much memory. If no bins are used, the number is None.
    """
    sizes = [len(run_points) for points in groups for run_points in points]
    return choose_by_cells(count_cells(groups), sizes)


def choose_by_cells(cells: int, sizes: Sequence[int]) -> tuple[str, int | None]:
    """Return the alignment for runs with these numbers of points; see `count_cells`."""
    if not cells:
        return STRICT, None
    if cells <= _HANDY_CELLS:
        return INTERPOLATE, None
    return BINS, choose_bins(sizes)


def count_cells(groups: Sequence[Sequence[Points]]) -> int:
    """Return the number of cells needed to give every run all x values of its group.

    Groups whose runs already have the same x values do not count.
    """
    different = [points for points in groups if not has_same_places(points)]
    return sum(len(union(points)) * len(points) for points in different)


def choose_bins(sizes: Sequence[int]) -> int:
    """Return a suitable number of bins for runs with these numbers of points."""
    most = min(MOST_BINS, _HANDY_CELLS // len(sizes))
    return max(1, min(int(np.median(sizes)) // _PER_BIN, most))


def align(points: Sequence[Points], how: str, bins: Range | None = None) -> Aligned:
    """Align runs to common x values.

    "intersection" keeps the x values that all runs have, and "union" those that any run has.
    "nearest", "ffill" and "interpolate" also use the union, and fill gaps with the nearest, the
    previous or a linearly interpolated value, but never before a run's first point or after its
    last. "bins" divides the range into equal parts; the mean of a run's points in a part is placed
    in the part's middle. "strict" is for runs that already have the same x values.
    """
    if bins is not None:
        return _bin(points, bins)
    origin = Origin()
    if has_same_places(points):
        return _stack(points, origin)
    if how == INTERSECTION:
        return _intersect(points, origin)
    return _fill([Piece.whole(run_points) for run_points in points], union(points), how, origin)


def align_window(
    pieces: Sequence[Piece], how: str, is_same: bool, origin: Origin, most: int
) -> Iterator[Aligned]:
    """Yield the part of an alignment that belongs to a window, at most `most` x values at a time.

    Together, the parts of all windows are the alignment of the whole curve. `is_same` says whether
    the runs have the same x values in all windows.
    """
    inner = [piece.inner for piece in pieces]
    if is_same:
        yield _stack(inner, origin)
    elif how == INTERSECTION:
        yield _intersect(inner, origin)
    else:
        all_x = union(inner)
        for start in range(0, len(all_x), most):
            x = all_x[start : start + most]
            high = all_x[start + most] if start + most < len(all_x) else None
            yield _fill([piece.cut(x[0], high) for piece in pieces], x, how, origin)


def range_of(points: Sequence[Points], bins: int) -> Range:
    """Return the range of all points, with at most as many bins as it has steps."""
    filled = [run_points.x for run_points in points if len(run_points)]
    return divide(min(x[0] for x in filled), max(x[-1] for x in filled), bins)


def divide(low: Any, high: Any, bins: int) -> Range:
    """Return the range between two x values, with at most as many bins as it has steps."""
    if isinstance(low, np.integer):
        bins = min(bins, int(high) - int(low) + 1)
    elif low == high:
        bins = 1
    return Range(low, high, bins)


class Origin:
    """The wall time that others are relative to: the first known one of the first run that has any.

    It is the same in all windows of a curve.
    """

    def __init__(self, time: float = np.nan) -> None:
        self.time = time


def _intersect(points: Sequence[Points], origin: Origin) -> Aligned:
    common = all_x = union(points)
    for run_points in points:
        common = common[np.isin(common, run_points.x, assume_unique=True)]
    kept = [
        run_points.take(np.isin(run_points.x, common, assume_unique=True)) for run_points in points
    ]
    return replace(_stack(kept, origin), dropped=len(all_x) - len(common))


def _stack(points: Sequence[Points], origin: Origin) -> Aligned:
    if isinstance(points, RunStack):
        return Aligned(points.x, points.values, points.mean_times())
    # A single run can have many millions of points, so they are not copied.
    values = (
        points[0].values[None]
        if len(points) == 1
        else np.stack([run_points.values for run_points in points])
    )
    times = _MeanTimes(len(points[0]), origin)
    for run_points in points:
        times.add(slice(None), run_points.wall_times)
    return Aligned(points[0].x, values, times.mean())


class _MeanTimes:
    """The mean wall time at each x over the runs that have one, accumulated run by run.

    An array with all times would be as large as the array of values.
    """

    def __init__(self, size: int, origin: Origin) -> None:
        self._sums, self._counts = np.zeros(size), np.zeros(size, np.int32)
        self._origin = origin

    def add(self, at: Any, times: NDArray[np.float64]) -> None:
        """Add the times of one run at `at`, which is a slice or distinct indices."""
        if isinstance(at, slice):
            sums, counts = self._sums[at], self._counts[at]
            for start in range(0, len(times), _BLOCK):
                part = slice(start, start + _BLOCK)
                self._add(sums, counts, part, times[part])
        else:
            self._add(self._sums, self._counts, at, times)

    def _add(
        self,
        sums: NDArray[np.float64],
        counts: NDArray[np.int32],
        at: Any,
        times: NDArray[np.float64],
    ) -> None:
        known = ~np.isnan(times)
        if np.isnan(self._origin.time) and known.any():
            self._origin.time = times[known.argmax()]
        # Add times relative to one of them, because sums of times since 1970 would lose digits.
        sums[at] += np.where(known, times - self._origin.time, 0.0)
        counts[at] += known

    def mean(self) -> NDArray[np.float64]:
        """Return the means, NaN if no time is known; nothing can be added after it."""
        mean = self._sums
        if np.isnan(self._origin.time):
            mean[:] = np.nan
            return mean
        with np.errstate(invalid="ignore"):
            mean /= self._counts
            mean += self._origin.time
        return mean


def _fill(pieces: Sequence[Piece], x: X, how: str, origin: Origin) -> Aligned:
    """Align the runs to `x`, the x values of a window."""
    pick = _PICKS[how]
    shape = len(pieces), len(x)
    values, present = np.full(shape, np.nan), np.zeros(shape, np.bool_)
    times = _MeanTimes(len(x), origin)
    for row, piece in enumerate(pieces):
        if len(piece.points):
            at, picked, own_times = pick(piece, x)
            values[row, at], present[row, at] = picked, True
            times.add(at, own_times)
    return Aligned(x, values, times.mean(), present)


def _own_range(points: Points, x: X) -> slice:
    """Return the x values between a run's first and last point, as a slice."""
    low = int(np.searchsorted(x, points.x[0]))
    return slice(low, int(np.searchsorted(x, points.x[-1], side="right")))


# Each function returns the indices, values and times of a run's piece.


def _same(piece: Piece, x: X) -> Any:
    points = piece.inner
    return np.searchsorted(x, points.x), points.values, points.wall_times


def _before(piece: Piece, x: X) -> Any:
    points = piece.points
    own = _own_range(points, x)
    last = np.searchsorted(points.x, x[own], side="right") - 1
    return own, points.values[last], points.wall_times[last]


def _nearest(piece: Piece, x: X) -> Any:
    points = piece.points
    own = _own_range(points, x)
    after = np.searchsorted(points.x, x[own])
    before = np.maximum(after - 1, 0)
    # If both are equally near, the earlier one is used.
    to_before = _distance(x[own], points.x[before])
    nearest = np.where(_distance(points.x[after], x[own]) < to_before, after, before)
    return own, points.values[nearest], points.wall_times[nearest]


def _distance(high: X, low: X) -> NDArray[Any]:
    """Return the distance between x values; unsigned for steps, because int64 could overflow."""
    if high.dtype == np.int64:
        return high.view(np.uint64) - low.view(np.uint64)
    distance: NDArray[Any] = high - low
    return distance


def _interpolate(piece: Piece, x: X) -> Any:
    points = piece.points
    own = _own_range(points, x)
    known = _distance(points.x, np.full_like(points.x, piece.start)).astype(np.float64)
    target = _distance(x[own], np.full_like(x[own], piece.start)).astype(np.float64)
    if len(target) and piece.end < len(known) and known[piece.end] <= target[-1]:
        # Rounded to the same distance, so the result depends on points after the next one.
        raise NotDivisible
    values = np.interp(target, known, points.values)
    times = np.interp(target, known, points.wall_times)
    # A run's own points stay exact, even next to an infinite value.
    points = piece.inner
    at = np.searchsorted(x[own], points.x)
    values[at], times[at] = points.values, points.wall_times
    return own, values, times


_PICKS: dict[str, Callable[[Piece, X], tuple[Any, NDArray[np.float64], NDArray[np.float64]]]] = {
    "union": _same,
    "nearest": _nearest,
    "ffill": _before,
    INTERPOLATE: _interpolate,
}


def _bin(points: Sequence[Points], bins: Range) -> Aligned:
    binned = Binned(len(points), bins)
    for run_points in points:
        binned.add(run_points)
    return binned.finish()


class Binned:
    """The means of runs in the bins of a range; the points of a run are not needed afterwards."""

    def __init__(self, runs: int, bins: Range) -> None:
        self._bins = bins
        shape = runs, bins.bins
        self._counts, self._values = np.zeros(shape, np.int64), np.zeros(shape)
        self._times = _MeanTimes(bins.bins, Origin())
        self._is_step = isinstance(bins.low, np.integer)
        # A step is one unit wide: with five bins, steps 0 to 9 give two steps per bin.
        span = (
            float(int(bins.high) - int(bins.low) + 1)
            if self._is_step
            else float(bins.high - bins.low)
        )
        self._width = span / bins.bins or 1.0
        self._row = 0

    def add(self, points: Points) -> None:
        """Add the next run."""
        low, bins, row = self._bins.low, self._bins.bins, self._row
        distance = _distance(points.x, np.full_like(points.x, low)).astype(np.float64)
        numbers = np.minimum((distance / self._width).astype(np.intp), bins - 1)
        self._counts[row] = np.bincount(numbers, minlength=bins)
        self._values[row] = np.bincount(numbers, points.values, bins)
        with np.errstate(invalid="ignore"):
            mean_times = np.bincount(numbers, points.wall_times, bins) / self._counts[row]
            self._times.add(slice(None), mean_times)
        self._row += 1

    def finish(self) -> Aligned:
        """Return the means of all runs; nothing can be added after it."""
        values, bins = self._values, self._bins
        with np.errstate(invalid="ignore"):
            values /= self._counts
        middles = (np.arange(bins.bins) + 0.5) * self._width
        if self._is_step:
            # Use unsigned numbers, which wrap around, because the distance can overflow int64.
            distances = np.rint(middles - 0.5).astype(np.uint64)
            x: X = (np.array(bins.low).view(np.uint64) + distances).view(np.int64)
        else:
            x = bins.low + middles
        present: NDArray[np.bool_] = self._counts > 0
        aligned = Aligned(x, values, self._times.mean(), present)
        # Empty bins do not count as dropped.
        return replace(aligned.take(np.logical_or.reduce(present, axis=0)), dropped=0)
