"""The points of files in a pack, decoded on access."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runfold._core.scalar_columns import ScalarPoints
from runfold._events.event_file import join_points
from runfold._events.lazy_points import LazyPoints

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from runfold._core.scalar_columns import Points
    from runfold._events.lazy_points import Request
    from runfold._logdir.point_cache import PointCache
    from runfold._pack.pack_file import Pack

NO_SEGMENTS: NDArray[np.int32] = np.empty(0, np.int32)


class PackedPoints(Mapping[int, "Points"]):
    """The points of each scalar tag in one file, decoded on access.

    `segments` are the numbers of the file's segments in the pack, in tag order.
    """

    def __init__(self, pack: Pack, segments: NDArray[np.int32]) -> None:
        self._pack = pack
        self._segments = segments
        self._tags = pack.index.segments["tag"][segments]
        # The index of each tag's first segment.
        self._first = np.flatnonzero(np.diff(self._tags, prepend=-1))

    def __getitem__(self, tag: int) -> Points:
        first, end = self._tags.searchsorted((tag, tag + 1)).tolist()
        pieces = [self._pack.points(segment) for segment in self._segments[first:end].tolist()]
        if not pieces:
            raise KeyError(tag)
        return pieces[0] if len(pieces) == 1 else join_points(pieces)

    def __contains__(self, tag: object) -> bool:
        if not isinstance(tag, int):
            return False
        index = self._tags.searchsorted(tag)
        return bool(index < len(self._tags) and self._tags[index] == tag)

    def __iter__(self) -> Iterator[int]:
        return (int(tag) for tag in self._tags[self._first])

    def __len__(self) -> int:
        return len(self._first)

    def counts(self) -> dict[int, int]:
        """Return the number of points per tag."""
        counts = self._pack.index.segments["count"][self._segments]
        sums = np.add.reduceat(counts, self._first) if len(counts) else counts
        return dict(zip(self, sums.tolist(), strict=True))

    @property
    def total(self) -> int:
        """The total number of points."""
        return int(self._pack.index.segments["count"][self._segments].sum())

    def find(self, tags: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield each tag with the numbers of its segments, in order."""
        for tag in tags:
            first, end = self._tags.searchsorted((tag, tag + 1)).tolist()
            for segment in self._segments[first:end].tolist():
                yield tag, segment


@dataclass(frozen=True, slots=True)
class PackSource:
    """The source of the points in a pack that is read with a memory limit."""

    pack: Pack
    cache: PointCache
    is_packed = True

    def count(self, path: str, key: tuple[int, int]) -> LazyPackedPoints:
        """Return the points of a file, given the numbers of its run and itself."""
        return LazyPackedPoints(path, self._points(key), self, key)

    def _points(self, key: tuple[int, int]) -> PackedPoints:
        return PackedPoints(self.pack, self.pack.series.get(key, NO_SEGMENTS))

    def read(self, points: LazyPoints, tag: int) -> Points:
        """Return the points of one tag of a file."""
        return self.cache.read(points, tag)

    def decode(self, requests: Sequence[Request]) -> dict[LazyPoints, ScalarPoints]:
        """Return the points of the requested tags. Each row group is decoded once."""
        segments = self.pack.index.segments
        # By row group: where each segment belongs.
        wanted: dict[int, list[tuple[LazyPoints, int, int]]] = {}
        for points, tags in requests:
            assert isinstance(points, LazyPackedPoints)
            for tag, segment in self._points(points.key).find(tags):
                group = int(segments["group"][segment])
                wanted.setdefault(group, []).append((points, tag, segment))
        pieces: dict[tuple[LazyPoints, int], list[Points]] = {}
        # A tag's segments are in order, because groups are.
        for group in sorted(wanted):
            columns = self.pack.read_points(group)
            for points, tag, segment in wanted[group]:
                start = int(self.pack.starts[segment])
                rows = slice(start, start + int(segments["count"][segment]))
                # A copy, because the rest of the row group is not needed.
                piece = join_points([(columns[0][rows], columns[1][rows], columns[2][rows])])
                pieces.setdefault((points, tag), []).append(piece)
        found = {points: ScalarPoints() for points, _ in requests}
        for (points, tag), own in pieces.items():
            found[points][tag] = own[0] if len(own) == 1 else join_points(own)
        return found

    def distrust(self, points: LazyPoints) -> None:
        """Do nothing: a refresh opens a pack that has replaced this one."""

    def siblings(self) -> list[LazyPoints]:
        """Return nothing: no pass over an event file fails."""
        return []


class LazyPackedPoints(LazyPoints):
    """The points of each tag in one file of a pack; only their numbers are in memory."""

    __slots__ = ("key",)

    def __init__(
        self, path: str, points: PackedPoints, source: PackSource, key: tuple[int, int]
    ) -> None:
        counts = points.counts()
        numbers = np.fromiter(counts, np.int32, len(counts))
        sizes = np.fromiter(counts.values(), np.int64, len(counts))
        super().__init__(path, None, None, numbers, sizes, source)
        # The numbers of the run and the file in the pack.
        self.key = key
