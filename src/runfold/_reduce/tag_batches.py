"""The tags of a fold, in batches whose points fit into the memory limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._humanize import escape
from runfold._logdir.point_cache import POINT_BYTES
from runfold._logdir.run_batches import count_points, hold
from runfold._reduce.align import BINS, STRICT, has_same_places, union
from runfold._reduce.axes import AXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runfold._logdir.point_cache import PointCache
    from runfold._reduce.curve_points import Points
    from runfold._reduce.groups import Members

# Bytes per point of the tag that is being folded, in addition to its points: sorted copies and
# the matrix of values.
_WORK = 40
# Bytes per value of the matrix if runs have different steps: the value and two masks.
_CELL = 10


class TagBatches:
    """Batches of tags over all runs of a fold.

    Without a memory limit, all tags are one batch. If the x-axis is a tag, every batch also has
    its points. `columns` is the number of statistics of a curve.
    """

    def __init__(
        self, members: Sequence[Members], tags: Sequence[str], x: str, columns: int
    ) -> None:
        self._members = members
        self._tags = tags
        self._logs = [log for own in members for log in own.logs]
        self._cache = next((log.cache for log in self._logs), None)
        self._axis = [] if x in AXES else [x]
        self._row = 8 * (3 + columns)
        self._postponed: list[str] = []
        # Bytes for points, for the matrix of the current tag, and for results beyond the estimate.
        self._held = self._excess = 0
        if self._cache is not None:
            self._counts = {tag: self._count(tag) for tag in {*self._axis, *tags}}
            self._results = {tag: self._row * self._longest(tag) for tag in tags}

    def __iter__(self) -> Iterator[list[str]]:
        """Yield tags whose points are in memory until the next ones are requested.

        Raises NotEnoughMemory, before anything is decoded, if a tag has too many points.
        """
        if self._cache is None:
            yield list(self._tags)
            return
        for batch in self._plan(self._cache):
            # One by one, because the copies and the matrix of a tag also take memory.
            yield from self._hold(batch)
        for tag in self._postponed:
            yield from self._hold([tag])

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
        if need > self._cache.limit and tag not in self._postponed:
            self._postponed.append(tag)
            return False
        self._check(self._cache, tag, need)
        self._excess += excess
        return True

    def _check(self, cache: PointCache, tag: str, need: int) -> None:
        cache.check(need, f"Tag '{escape(tag)}', with the results of all tags,")

    def _plan(self, cache: PointCache) -> list[list[str]]:
        reserved = sum(self._results.values()) + POINT_BYTES * sum(
            self._counts[tag] for tag in self._axis
        )
        longest = max(self._tags, key=self._counts.__getitem__)
        self._check(cache, longest, reserved + (POINT_BYTES + _WORK) * self._counts[longest])
        batches: list[list[str]] = []
        points = largest = 0
        for tag in self._tags:
            points += self._counts[tag]
            largest = max(largest, self._counts[tag])
            if not batches or reserved + POINT_BYTES * points + _WORK * largest > cache.limit:
                batches.append([])
                points = largest = self._counts[tag]
            batches[-1].append(tag)
        return batches

    def _count(self, tag: str) -> int:
        return sum(count_points(log, tag) for log in self._logs if tag in log.scalars)

    def _longest(self, tag: str) -> int:
        """Return the number of x values in all groups, if the runs of a group have the same."""
        return sum(
            max((count_points(log, tag) for log in own.logs if tag in log.scalars), default=0)
            for own in self._members
        )


def _columns(points: Sequence[Points], align: str) -> int:
    """Return the number of common x values, or 0 if there are at most as many as points."""
    if not points or align in (STRICT, BINS) or has_same_places(points):
        return 0
    return len(union(points))
