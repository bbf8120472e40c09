"""The tags of a fold, in batches whose points fit into the memory limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._humanize import escape
from runfold._logdir.point_cache import POINT_BYTES
from runfold._logdir.run_batches import count_points, hold
from runfold._reduce.align import has_same_places, union
from runfold._reduce.axes import AXES, BINS, STRICT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runfold._logdir.point_cache import PointCache
    from runfold._reduce.curve_points import Points
    from runfold._reduce.fold import FoldOptions
    from runfold._reduce.groups import Members
    from runfold._reduce.operations import Statistic
    from runfold._reduce.windows.window_folds import WindowFolds

# Bytes per point of the tag that is being folded, in addition to its points: sorted copies and
# the matrix of values.
_WORK = 40
# Bytes per value of the matrix if runs have different steps: the value and two masks.
_CELL = 10


class TagBatches:
    """Batches of tags over all runs of a fold.

    Without a memory limit, all tags are one batch. If the x-axis is a tag, every batch also has
    its points. A tag that does not fit is folded window by window, unless a statistic requires all
    of its points at once.
    """

    def __init__(
        self,
        members: Sequence[Members],
        tags: Sequence[str],
        statistics: Sequence[Statistic],
        options: FoldOptions,
    ) -> None:
        x = options.x
        self._members = members
        self._tags = tags
        self._statistics = statistics
        self._options = options
        self._is_divisible = all(statistic.is_divisible for statistic in statistics)
        self._logs = [log for own in members for log in own.logs]
        self._cache = next((log.cache for log in self._logs), None)
        self._axis = [] if x in AXES else [x]
        self._row = 8 * (3 + sum(len(statistic.columns) for statistic in statistics))
        self._postponed: list[str] = []
        self._oversized: list[str] = []
        # The bytes that these tags need if they are not divided.
        self._alone: dict[str, int] = {}
        # Bytes for points, for the matrix of the current tag, and for results beyond the estimate.
        self._held = self._excess = 0
        if self._cache is not None:
            self._counts = {tag: self._count(tag) for tag in {*self._axis, *tags}}
            self._results = {tag: self._row * self._longest(tag) for tag in tags}

    def __iter__(self) -> Iterator[list[str] | WindowFolds]:
        """Yield tags whose points are in memory until the next ones are requested, or windows.

        Raises NotEnoughMemory, before anything is decoded, if a tag has too many points.
        """
        if self._cache is None:
            yield list(self._tags)
            return
        for batch in self._plan(self._cache):
            if self._fit_alone(batch[0]):
                # One by one, because the copies and the matrix of a tag also take memory.
                yield from self._hold(batch)
            else:
                yield self._windows(batch, self._cache)
        for tag in self._postponed:
            yield from self._hold([tag])
        if self._oversized:
            yield self._windows(self._oversized, self._cache)

    def _windows(self, tags: Sequence[str], cache: PointCache) -> WindowFolds:
        from runfold._reduce.windows.window_folds import WindowFolds

        reserved = sum(self._results.values()) + self._excess
        return WindowFolds(
            self._members,
            tags,
            self._statistics,
            self._options,
            cache,
            reserved,
            self._row,
            {tag: self._need(self._counts[tag], self._counts[tag]) for tag in tags} | self._alone,
        )

    def _hold(self, batch: list[str]) -> Iterator[list[str]]:
        wanted = [*self._axis, *batch]
        self._held = POINT_BYTES * sum(map(self._counts.__getitem__, wanted))
        parts = [(log, [tag for tag in wanted if tag in log.scalars]) for log in self._logs]
        with hold(self._cache, parts):
            for tag in batch:
                yield [tag]

    def fits(self, tag: str, groups: Iterable[tuple[Sequence[Points], str]]) -> bool:
        """Return whether a tag can be folded now; otherwise it is yielded again, alone.

        `groups` are the points of each group, and how they are aligned. Raises NotEnoughMemory if
        the tag is alone already.
        """
        if self._cache is None:
            return True
        cells = sum(len(points) * _columns(points, align) for points, align in groups)
        rows = sum(_columns(points, align) for points, align in groups)
        work = _WORK * self._counts[tag] + _CELL * cells
        excess = max(0, self._row * rows - self._results[tag]) if cells else 0
        need = self._held + work + excess + self._excess + sum(self._results.values())
        if need > self._cache.limit:
            if tag not in self._postponed:
                self._postponed.append(tag)
                return False
            if self._is_divisible:
                self._oversized.append(tag)
                self._alone[tag] = need
                return False
        self._check(self._cache, tag, need)
        self._excess += excess
        return True

    def _check(self, cache: PointCache, tag: str, need: int) -> None:
        cache.check(need, f"Tag '{escape(tag)}', with the results of all tags,")

    def _plan(self, cache: PointCache) -> list[list[str]]:
        """Return batches: tags that fit together, or tags that do not even fit alone."""
        if not self._is_divisible:
            longest = max(self._tags, key=self._counts.__getitem__)
            self._check(cache, longest, self._need(self._counts[longest], self._counts[longest]))
        batches: list[list[str]] = []
        points = largest = 0
        fits = True
        for tag in self._tags:
            points += self._counts[tag]
            largest = max(largest, self._counts[tag])
            is_full = fits and self._need(points, largest) > cache.limit
            if not batches or is_full or self._fit_alone(tag) != fits:
                batches.append([])
                fits = self._fit_alone(tag)
                points = largest = self._counts[tag]
            batches[-1].append(tag)
        return batches

    def _fit_alone(self, tag: str) -> bool:
        assert self._cache is not None
        return self._need(self._counts[tag], self._counts[tag]) <= self._cache.limit

    def _need(self, points: int, largest: int) -> int:
        """Return the bytes for tags with this many points; the largest tag has `largest`."""
        axis = POINT_BYTES * sum(self._counts[tag] for tag in self._axis)
        return sum(self._results.values()) + axis + POINT_BYTES * points + _WORK * largest

    def _count(self, tag: str) -> int:
        return sum(count_points(log, tag) for log in self._logs if tag in log.scalars)

    def _longest(self, tag: str) -> int:
        """Return the number of x values in all groups, if the runs of a group have the same."""
        longest = [
            max((count_points(log, tag) for log in own.logs if tag in log.scalars), default=0)
            for own in self._members
        ]
        if self._options.align == BINS and self._options.bins is not None:
            longest = [min(count, self._options.bins) for count in longest]
        return sum(longest)


def _columns(points: Sequence[Points], align: str) -> int:
    """Return the number of common x values, or 0 if there are at most as many as points."""
    if not points or align in (STRICT, BINS) or has_same_places(points):
        return 0
    return len(union(points))
