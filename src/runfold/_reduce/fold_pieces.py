"""A fold on an engine: points are placed where they are decoded, and folded where they meet.

The groups and tags are divided into buckets. A bucket has all points of its groups and tags, so
that medians, quantiles and bootstrap intervals are the same as without an engine.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from runfold._logdir.point_cache import POINT_BYTES
from runfold._logdir.run_batches import count_points, split_runs
from runfold._reduce.axes import AUTO, AXES, BINS
from runfold._reduce.curve_points import Points, place
from runfold._reduce.folding import Folding
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from runfold._logdir.run_engine import Engine
    from runfold._logdir.run_log import RunLog
    from runfold._reduce.fold import FoldOptions
    from runfold._reduce.groups import Members
    from runfold._reduce.operations import Statistic

# Bytes of points in a bucket. Folding takes a few times as much.
_BUCKET = 64 << 20
# The number of buckets, unless the points are few or many. Each run has a piece for each bucket.
_FEWEST, _MOST = 16, 256
# A bucket with fewer bytes takes longer to send than to fold.
_SMALLEST = 1 << 20


class Piece(NamedTuple):
    """The points of some runs for one bucket.

    The points of all series follow one another. `series` has a row per series: the numbers of its
    run and tag, of its points, and of those that are lost, doubles and hidden (see `Points`).
    """

    names: list[str]
    series: NDArray[np.int64]
    x: NDArray[Any]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    # The errors of series that could not be placed, by run and tag.
    errors: dict[tuple[int, int], CannotFold]


@dataclass(frozen=True)
class Buckets:
    """A division of groups and tags: a bucket has every nth tag in consecutive groups.

    `ends` are the numbers of the runs after each group, and `cuts` the number of the group that
    follows each part of the groups.
    """

    tags: Sequence[str]
    ends: Sequence[int]
    cuts: Sequence[int]
    width: int

    @property
    def count(self) -> int:
        """The number of buckets."""
        return len(self.cuts) * self.width

    def find(self, run: int, tag: int) -> int:
        """Return the bucket of a run and a tag."""
        group = bisect_right(self.ends, run)
        return bisect_right(self.cuts, group) * self.width + tag % self.width

    def first_group(self, bucket: int) -> int:
        """Return the number of the first group in a bucket."""
        part = bucket // self.width
        return self.cuts[part - 1] if part else 0

    def groups(self, bucket: int) -> range:
        """Return the numbers of the groups in a bucket."""
        return range(self.first_group(bucket), self.cuts[bucket // self.width])

    def tags_of(self, bucket: int) -> Sequence[str]:
        """Return the tags in a bucket."""
        return self.tags[bucket % self.width :: self.width]


def add_from_engine(
    engine: Engine,
    folding: Folding,
    members: Sequence[Members],
    advance: Callable[[int], object],
) -> None:
    """Fold all tags of all groups on an engine."""
    logs = [log for own in members for log in own.logs]
    buckets = _divide(members, folding.tags, folding.options)
    split = Split(buckets, folding.options)
    join = Join(buckets, folding.statistics, folding.options, folding.is_complete)
    for number, part in engine.combine(logs, split, join, buckets.count):
        folding.merge(part, buckets.first_group(number))
        advance(part.count)


def _divide(members: Sequence[Members], tags: Sequence[str], options: FoldOptions) -> Buckets:
    ends = list(accumulate(len(own.logs) for own in members))
    total = POINT_BYTES * sum(
        count_points(log, tag)
        for own in members
        for log in own.logs
        for tag in tags
        if tag in log.scalars
    )
    wanted = max(min(_FEWEST, total // _SMALLEST), min(_MOST, total // _BUCKET), 1)
    width = min(len(tags), wanted)
    parts = min(len(members), -(-wanted // width))
    if options.align in (AUTO, BINS):
        # The alignment depends on all groups of a tag.
        parts = 1
    # Parts of about the same number of runs.
    marks = (number * ends[-1] // parts for number in range(1, parts))
    cuts = sorted({bisect_right(ends, mark) for mark in marks} - {0, len(members)})
    return Buckets(tags, ends, [*cuts, len(members)], width)


@dataclass(frozen=True)
class Split:
    """Places the points of runs on the x-axis, and returns a piece for each bucket."""

    buckets: Buckets
    options: FoldOptions

    def __call__(self, start: int, logs: Sequence[RunLog]) -> list[Piece]:
        """Return the pieces of runs. The first of these runs has the number `start`."""
        numbers = {log: number for number, log in enumerate(logs, start)}
        tags = {tag: number for number, tag in enumerate(self.buckets.tags)}
        needed = {*tags} if self.options.x in AXES else {*tags, self.options.x}
        found: list[dict[tuple[int, int], Points | CannotFold]] = [
            {} for _ in range(self.buckets.count)
        ]
        for batch in split_runs(logs, needed.__contains__):
            for log, own in batch:
                for tag in own:
                    if tag in tags:
                        key = numbers[log], tags[tag]
                        found[self.buckets.find(*key)][key] = self._place(log, tag)
        return [_pack(piece) for piece in found]

    def _place(self, log: RunLog, tag: str) -> Points | CannotFold:
        try:
            return place(log, log.scalars[tag], self.options.x, self.options.duplicates)
        except CannotFold as error:  # raised when the group is folded
            return error


def _pack(found: dict[tuple[int, int], Points | CannotFold]) -> Piece:
    points = {key: own for key, own in sorted(found.items()) if isinstance(own, Points)}
    errors = {key: own for key, own in sorted(found.items()) if isinstance(own, CannotFold)}
    every = list(points.values())
    series = [(*key, len(own), own.lost, own.doubles, own.hidden) for key, own in points.items()]
    return Piece(
        [own.run for own in every],
        np.array(series, np.int64).reshape(-1, 6),
        np.concatenate([own.x for own in every]) if every else np.empty(0, np.int64),
        np.concatenate([np.empty(0), *(own.wall_times for own in every)]),
        np.concatenate([np.empty(0), *(own.values for own in every)]),
        errors,
    )


def _unpack(piece: Piece) -> Iterator[tuple[tuple[int, int], Points | CannotFold]]:
    """Yield the points of each run and tag."""
    yield from piece.errors.items()
    start = 0
    for name, row in zip(piece.names, piece.series.tolist(), strict=True):
        run, tag, length, *counters = row
        end = start + length
        own = slice(start, end)
        points = Points(name, piece.x[own], piece.wall_times[own], piece.values[own], *counters)
        yield (run, tag), points
        start = end


@dataclass(frozen=True)
class Join:
    """Folds the pieces of all runs for one bucket."""

    buckets: Buckets
    statistics: Sequence[Statistic]
    options: FoldOptions
    is_complete: bool

    def __call__(self, bucket: int, pieces: Sequence[Piece]) -> Folding:
        """Return the curves of a bucket."""
        groups, tags = self.buckets.groups(bucket), self.buckets.tags_of(bucket)
        starts = [0, *self.buckets.ends]
        sizes = [self.buckets.ends[group] - starts[group] for group in groups]
        found: dict[tuple[int, str], dict[int, Points | CannotFold]] = {}
        for piece in pieces:
            for (run, tag), own in _unpack(piece):
                group = bisect_right(self.buckets.ends, run) - groups.start
                found.setdefault((group, self.buckets.tags[tag]), {})[run] = own

        def gather(number: int, tag: str) -> list[Points]:
            points = []
            for _, own in sorted(found.get((number, tag), {}).items()):
                if isinstance(own, CannotFold):
                    raise own
                points.append(own)
            return points

        folding = Folding(sizes, tags, self.statistics, self.options, is_complete=self.is_complete)
        for name in tags:
            folding.add([name], gather)
        return folding
