"""Runs brought together: the same places for all, and which run has a value at which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from runfold._reduce.curve_points import Points

    Places = NDArray[Any]

AUTO, STRICT, INTERSECTION, BINS = "auto", "strict", "intersection", "bins"
INTERPOLATE = "interpolate"
ALIGNMENTS = (AUTO, STRICT, INTERSECTION, "union", "nearest", "ffill", INTERPOLATE, BINS)

# As many values of runs times places as "auto" aligns by lines between points.
_HANDY_CELLS = 4_000_000
# So many points of a run are in a bin on average, so that few bins are without any.
_PER_BIN = 4
MOST_BINS = 10_000


@dataclass(frozen=True, slots=True, eq=False)
class Aligned:
    """The values of many runs at the same places.

    Attributes:
        x: the places, increasing.
        values: (runs, places) float64; NaN where a run has none.
        wall_times: float64, the mean over the runs that have a value there.
        present: which run has a value where; None when all have one everywhere.
        dropped: how many places were left out.
    """

    x: Places
    values: NDArray[np.float64]
    wall_times: NDArray[np.float64]
    present: NDArray[np.bool_] | None = None
    dropped: int = 0

    def take(self, kept: NDArray[np.bool_]) -> Aligned:
        """Some of the places."""
        if kept.all():
            return self
        present = None if self.present is None else self.present[:, kept]
        dropped = self.dropped + int(np.count_nonzero(~kept))
        return Aligned(self.x[kept], self.values[:, kept], self.wall_times[kept], present, dropped)


@dataclass(frozen=True, slots=True)
class Range:
    """The range that bins divide: the same for all groups, so that their curves compare."""

    low: Any
    high: Any
    bins: int


def has_same_places(points: Sequence[Points]) -> bool:
    """Whether all runs have the same places."""
    first, *others = points
    return all(np.array_equal(first.x, one.x) for one in others)


def union(points: Sequence[Points]) -> Places:
    """The places that any of the runs has."""
    # Not np.unique, which hashes integers before it sorts them, for five times as long.
    every = np.concatenate([one.x for one in points])
    every.sort()
    return every[np.concatenate([[True], every[1:] != every[:-1]])] if len(every) else every


def choose_alignment(groups: Sequence[Sequence[Points]]) -> tuple[str, int | None]:
    """What "auto" means for the groups of one tag, and how many bins where it means bins.

    Runs with the same places stay as they are. Others are aligned by lines between
    their points or, where that would take too much memory, by means over bins.
    """
    cells = count_cells(groups)
    if not cells:
        return STRICT, None
    if cells <= _HANDY_CELLS:
        return INTERPOLATE, None
    return BINS, choose_bins([len(one) for points in groups for one in points])


def count_cells(groups: Sequence[Sequence[Points]]) -> int:
    """How many values it takes to give every run of a group all places; 0 where all have them."""
    apart = [points for points in groups if not has_same_places(points)]
    return sum(len(union(points)) * len(points) for points in apart)


def choose_bins(sizes: Sequence[int]) -> int:
    """How many bins suit runs with so many points."""
    most = min(MOST_BINS, _HANDY_CELLS // len(sizes))
    return max(1, min(int(np.median(sizes)) // _PER_BIN, most))


def align(points: Sequence[Points], how: str, bins: Range | None = None) -> Aligned:
    """Bring runs to the same places.

    "intersection" takes those that all runs have, and "union" those that any
    has, as do "nearest", "ffill" and "interpolate", which also give a run that
    has no value there the nearest one, the one before, or one on the straight
    line between its neighbours. None of them gives a run a value before its
    first point or after its last. "bins" divides the range into equal parts,
    takes the mean of each run's points in each, and places it in their middle.
    "strict" is for runs that have the same places already.
    """
    if bins is not None:
        return _bin(points, bins)
    if has_same_places(points):
        return _stack(points)
    places = union(points)
    if how == INTERSECTION:
        common = places
        for one in points:
            common = common[np.isin(common, one.x, assume_unique=True)]
        kept = [one.take(np.isin(one.x, common, assume_unique=True)) for one in points]
        return replace(_stack(kept), dropped=len(places) - len(common))
    pick = {"union": _same, "nearest": _nearest, "ffill": _before, INTERPOLATE: _interpolate}
    return _fill(points, places, pick[how])


def range_of(points: Sequence[Points], bins: int) -> Range:
    """The range of all the points; no more bins than there are steps in it."""
    filled = [one.x for one in points if len(one)]
    low, high = min(x[0] for x in filled), max(x[-1] for x in filled)
    if isinstance(low, np.integer):
        bins = min(bins, int(high) - int(low) + 1)
    elif low == high:
        bins = 1
    return Range(low, high, bins)


def _stack(points: Sequence[Points]) -> Aligned:
    values = np.stack([one.values for one in points])
    times = _MeanTimes(len(points[0]))
    for one in points:
        times.add(slice(None), one.wall_times)
    return Aligned(points[0].x, values, times.mean())


class _MeanTimes:
    """The mean wall time of each place over the runs that have one there, run by run.

    An array of (runs, places) would be as large as that of the values.
    """

    def __init__(self, places: int) -> None:
        self._sums, self._counts = np.zeros(places), np.zeros(places)
        self._origin = np.nan

    def add(self, at: Any, times: NDArray[np.float64]) -> None:
        """Take the times of one run, and the numbers of the places at which it has them."""
        known = ~np.isnan(times)
        if np.isnan(self._origin) and known.any():
            self._origin = times[known.argmax()]
        # From one of them: times since 1970 would lose digits in a sum over many runs.
        self._sums[at] += np.where(known, times - self._origin, 0.0)
        self._counts[at] += known

    def mean(self) -> NDArray[np.float64]:
        """The means; NaN where no time is known."""
        with np.errstate(invalid="ignore"):
            mean: NDArray[np.float64] = self._origin + self._sums / self._counts
        return mean


def _fill(
    points: Sequence[Points],
    places: Places,
    pick: Callable[[Points, Places], tuple[Any, NDArray[np.float64], NDArray[np.float64]]],
) -> Aligned:
    """Values of each run where `pick` finds them: the numbers of the places, values, times."""
    shape = len(points), len(places)
    values, present = np.full(shape, np.nan), np.zeros(shape, np.bool_)
    times = _MeanTimes(len(places))
    for row, one in enumerate(points):
        if len(one):
            at, found, own_times = pick(one, places)
            values[row, at], present[row, at] = found, True
            times.add(at, own_times)
    return Aligned(places, values, times.mean(), present)


def _own_range(one: Points, places: Places) -> slice:
    """The places between a run's first and last point."""
    low = int(np.searchsorted(places, one.x[0]))
    return slice(low, int(np.searchsorted(places, one.x[-1], side="right")))


def _same(one: Points, places: Places) -> Any:
    return np.searchsorted(places, one.x), one.values, one.wall_times


def _before(one: Points, places: Places) -> Any:
    own = _own_range(one, places)
    last = np.searchsorted(one.x, places[own], side="right") - 1
    return own, one.values[last], one.wall_times[last]


def _nearest(one: Points, places: Places) -> Any:
    own = _own_range(one, places)
    after = np.searchsorted(one.x, places[own])
    before = np.maximum(after - 1, 0)
    # Of two equally near the earlier one.
    to_before = _distance(places[own], one.x[before])
    nearest = np.where(_distance(one.x[after], places[own]) < to_before, after, before)
    return own, one.values[nearest], one.wall_times[nearest]


def _distance(high: Places, low: Places) -> NDArray[Any]:
    """How far two places are apart; unsigned for steps, whose distance may not fit an int64."""
    if high.dtype == np.int64:
        return high.view(np.uint64) - low.view(np.uint64)
    distance: NDArray[Any] = high - low
    return distance


def _interpolate(one: Points, places: Places) -> Any:
    own = _own_range(one, places)
    start = np.full_like(one.x, one.x[0])
    have = _distance(one.x, start).astype(np.float64)
    want = _distance(places[own], np.full_like(places[own], one.x[0])).astype(np.float64)
    values, times = np.interp(want, have, one.values), np.interp(want, have, one.wall_times)
    # At its own points a run has its own values, also beside an infinite one.
    at = np.searchsorted(places[own], one.x)
    values[at], times[at] = one.values, one.wall_times
    return own, values, times


def _bin(points: Sequence[Points], bins: Range) -> Aligned:
    shape = len(points), bins.bins
    counts, values = np.zeros(shape, np.int64), np.zeros(shape)
    times = _MeanTimes(bins.bins)
    is_step = isinstance(bins.low, np.integer)
    # A step takes up one unit: steps 0 to 9 in five bins are two steps each.
    span = float(int(bins.high) - int(bins.low) + 1) if is_step else float(bins.high - bins.low)
    width = span / bins.bins or 1.0
    for row, one in enumerate(points):
        distance = _distance(one.x, np.full_like(one.x, bins.low)).astype(np.float64)
        which = np.minimum((distance / width).astype(np.intp), bins.bins - 1)
        counts[row] = np.bincount(which, minlength=bins.bins)
        values[row] = np.bincount(which, one.values, bins.bins)
        with np.errstate(invalid="ignore"):
            times.add(slice(None), np.bincount(which, one.wall_times, bins.bins) / counts[row])
    with np.errstate(invalid="ignore"):
        values /= counts
    middles = (np.arange(bins.bins) + 0.5) * width
    if is_step:
        # Unsigned and around the corner: the distance of two steps may not fit an int64.
        distances = np.rint(middles - 0.5).astype(np.uint64)
        x: Places = (np.array(bins.low).view(np.uint64) + distances).view(np.int64)
    else:
        x = bins.low + middles
    present: NDArray[np.bool_] = counts > 0
    aligned = Aligned(x, values, times.mean(), present)
    # An empty bin is no place that was left out.
    return replace(aligned.take(np.logical_or.reduce(present, axis=0)), dropped=0)
