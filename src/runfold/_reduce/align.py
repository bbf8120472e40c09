"""Alignment of runs: common x values, and which runs have a value at each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._reduce.run_stack import RunStack

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from runfold._reduce.curve_points import Points

    X = NDArray[Any]

AUTO, STRICT, INTERSECTION, BINS = "auto", "strict", "intersection", "bins"
INTERPOLATE = "interpolate"
ALIGNMENTS = (AUTO, STRICT, INTERSECTION, "union", "nearest", "ffill", INTERPOLATE, BINS)

# "auto" interpolates up to this number of cells (runs times x values).
_HANDY_CELLS = 4_000_000
# Average number of a run's points per bin, so that few bins are empty.
_PER_BIN = 4
MOST_BINS = 10_000
# Wall times added at a time, so that a long run needs little memory besides the result.
_BLOCK = 1 << 18


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
    cells = count_cells(groups)
    if not cells:
        return STRICT, None
    if cells <= _HANDY_CELLS:
        return INTERPOLATE, None
    return BINS, choose_bins([len(run_points) for points in groups for run_points in points])


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
    if has_same_places(points):
        return _stack(points)
    all_x = union(points)
    if how == INTERSECTION:
        common = all_x
        for run_points in points:
            common = common[np.isin(common, run_points.x, assume_unique=True)]
        kept = [
            run_points.take(np.isin(run_points.x, common, assume_unique=True))
            for run_points in points
        ]
        return replace(_stack(kept), dropped=len(all_x) - len(common))
    pick = {"union": _same, "nearest": _nearest, "ffill": _before, INTERPOLATE: _interpolate}
    return _fill(points, all_x, pick[how])


def range_of(points: Sequence[Points], bins: int) -> Range:
    """Return the range of all points, with at most as many bins as it has steps."""
    filled = [run_points.x for run_points in points if len(run_points)]
    low, high = min(x[0] for x in filled), max(x[-1] for x in filled)
    if isinstance(low, np.integer):
        bins = min(bins, int(high) - int(low) + 1)
    elif low == high:
        bins = 1
    return Range(low, high, bins)


def _stack(points: Sequence[Points]) -> Aligned:
    if isinstance(points, RunStack):
        return Aligned(points.x, points.values, points.mean_times())
    # A single run can have many millions of points, so they are not copied.
    values = (
        points[0].values[None]
        if len(points) == 1
        else np.stack([run_points.values for run_points in points])
    )
    times = _MeanTimes(len(points[0]))
    for run_points in points:
        times.add(slice(None), run_points.wall_times)
    return Aligned(points[0].x, values, times.mean())


class _MeanTimes:
    """The mean wall time at each x over the runs that have one, accumulated run by run.

    An array with all times would be as large as the array of values.
    """

    def __init__(self, size: int) -> None:
        self._sums, self._counts = np.zeros(size), np.zeros(size, np.int32)
        self._origin = np.nan

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
        if np.isnan(self._origin) and known.any():
            self._origin = times[known.argmax()]
        # Add times relative to one of them, because sums of times since 1970 would lose digits.
        sums[at] += np.where(known, times - self._origin, 0.0)
        counts[at] += known

    def mean(self) -> NDArray[np.float64]:
        """Return the means, NaN if no time is known; nothing can be added after it."""
        mean = self._sums
        with np.errstate(invalid="ignore"):
            mean /= self._counts
            mean += self._origin
        return mean


def _fill(
    points: Sequence[Points],
    x: X,
    pick: Callable[[Points, X], tuple[Any, NDArray[np.float64], NDArray[np.float64]]],
) -> Aligned:
    """Align the runs to `x`; `pick` returns the indices, values and times of each run."""
    shape = len(points), len(x)
    values, present = np.full(shape, np.nan), np.zeros(shape, np.bool_)
    times = _MeanTimes(len(x))
    for row, run_points in enumerate(points):
        if len(run_points):
            at, picked, own_times = pick(run_points, x)
            values[row, at], present[row, at] = picked, True
            times.add(at, own_times)
    return Aligned(x, values, times.mean(), present)


def _own_range(points: Points, x: X) -> slice:
    """Return the x values between a run's first and last point, as a slice."""
    low = int(np.searchsorted(x, points.x[0]))
    return slice(low, int(np.searchsorted(x, points.x[-1], side="right")))


def _same(points: Points, x: X) -> Any:
    return np.searchsorted(x, points.x), points.values, points.wall_times


def _before(points: Points, x: X) -> Any:
    own = _own_range(points, x)
    last = np.searchsorted(points.x, x[own], side="right") - 1
    return own, points.values[last], points.wall_times[last]


def _nearest(points: Points, x: X) -> Any:
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


def _interpolate(points: Points, x: X) -> Any:
    own = _own_range(points, x)
    start = points.x[0]
    known = _distance(points.x, np.full_like(points.x, start)).astype(np.float64)
    target = _distance(x[own], np.full_like(x[own], start)).astype(np.float64)
    values = np.interp(target, known, points.values)
    times = np.interp(target, known, points.wall_times)
    # A run's own points stay exact, even next to an infinite value.
    at = np.searchsorted(x[own], points.x)
    values[at], times[at] = points.values, points.wall_times
    return own, values, times


def _bin(points: Sequence[Points], bins: Range) -> Aligned:
    shape = len(points), bins.bins
    counts, values = np.zeros(shape, np.int64), np.zeros(shape)
    times = _MeanTimes(bins.bins)
    is_step = isinstance(bins.low, np.integer)
    # A step is one unit wide: with five bins, steps 0 to 9 give two steps per bin.
    span = float(int(bins.high) - int(bins.low) + 1) if is_step else float(bins.high - bins.low)
    width = span / bins.bins or 1.0
    for row, run_points in enumerate(points):
        distance = _distance(run_points.x, np.full_like(run_points.x, bins.low)).astype(np.float64)
        numbers = np.minimum((distance / width).astype(np.intp), bins.bins - 1)
        counts[row] = np.bincount(numbers, minlength=bins.bins)
        values[row] = np.bincount(numbers, run_points.values, bins.bins)
        with np.errstate(invalid="ignore"):
            mean_times = np.bincount(numbers, run_points.wall_times, bins.bins) / counts[row]
            times.add(slice(None), mean_times)
    with np.errstate(invalid="ignore"):
        values /= counts
    middles = (np.arange(bins.bins) + 0.5) * width
    if is_step:
        # Use unsigned numbers, which wrap around, because the distance can overflow int64.
        distances = np.rint(middles - 0.5).astype(np.uint64)
        x: X = (np.array(bins.low).view(np.uint64) + distances).view(np.int64)
    else:
        x = bins.low + middles
    present: NDArray[np.bool_] = counts > 0
    aligned = Aligned(x, values, times.mean(), present)
    # Empty bins do not count as dropped.
    return replace(aligned.take(np.logical_or.reduce(present, axis=0)), dropped=0)
