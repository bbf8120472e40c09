"""Where the points of a window are in the files of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events.event_file import join_points
from runfold._logdir.assemble import find_lazy
from runfold._logdir.point_cache import Positions, decode_stretches
from runfold._reduce.axes import RELATIVE, STEP, WALL_TIME
from runfold._reduce.curve_points import Points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._core.scalar_columns import Points as Columns
    from runfold._core.scalar_columns import ScalarPoints
    from runfold._events.lazy_points import LazyPoints
    from runfold._logdir.run_log import RunLog
    from runfold._logdir.series import Series
    from runfold._reduce.windows.window_plan import Window

# Bytes between two positions, at least: fewer for small files, so that they are divided too.
_SMALL_FILE, _SMALL, _LARGE = 4 << 20, 64 << 10, 256 << 10
# The share of the limit for all positions, and their bytes per tag.
_SHARE = 32
_BYTES = 24
# With more tags than this in a run, whole files are decoded.
_MOST_TAGS = 256


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The points of a series in one file.

    Attributes:
        points: the file.
        number: the number of the tag.
        offsets: positions in the file, from its start to its end.
        before: the number of points before each position.
        x: the x of the first point after each position that has one.
    """

    points: LazyPoints
    number: int
    offsets: NDArray[np.int64]
    before: NDArray[np.int64]
    x: NDArray[Any]

    def find(self, window: Window) -> tuple[int, int]:
        """Return the first and last position of the window's points and both neighbors."""
        low, high = window
        start = 0 if low is None else max(0, int(np.searchsorted(self.x, low)) - 1)
        stop = len(self.x) if high is None else int(np.searchsorted(self.x, high))
        if stop == len(self.x):
            return start, stop
        # The first point after the window; its own position may be a later one.
        return start, int(np.searchsorted(self.before, self.before[stop], side="right"))


class Stretches:
    """The positions of series whose points are stored in the order of their x values.

    Other series are decoded as a whole in every window: the x-axis is a tag, points are hidden or
    repeated, steps go back, or the run is in a pack.
    """

    def __init__(self, x: str, limit: int, logs: Sequence[RunLog], tags: int) -> None:
        self._x = x
        files = [file for log in logs for file in log.all_files]
        total = sum(file.size for file in files)
        least = _SMALL if total < _SMALL_FILE * len(files) else _LARGE
        size = max(least, total * tags * _BYTES * _SHARE // max(1, limit))
        can_be_used = x in (STEP, WALL_TIME, RELATIVE) and tags <= _MOST_TAGS
        self.positions = Positions(size) if can_be_used else None
        self._parts: dict[tuple[str, str], list[_Part]] = {}

    def add(self, log: RunLog, series: Series, points: Points) -> None:
        """Remember the positions of a series whose points have just been decoded."""
        # `place` returns the stored wall times only if it keeps all points in their order.
        if self.positions is None or series.hidden or points.wall_times is not series.wall_times:
            return
        lazy = find_lazy(log.scalars, series.tag)
        parts: list[_Part] = []
        start = 0
        for file, (number,) in () if lazy is None else lazy.requests([series.tag]):
            found = self.positions.found.get(file)
            if found is None or number not in found.tags:
                return
            before = found.before[:, found.tags.index(number)].copy()
            x = points.x[start : start + file.count(number)]
            start += len(x)
            x = x[before[before < len(x)]]
            parts.append(_Part(file, number, found.offsets, before, x))
        if start == len(points):
            self._parts[log.name, series.tag] = parts

    def has(self, log: RunLog, tags: Sequence[str]) -> bool:
        """Return whether `read` can be used for all of these tags."""
        return all((log.name, tag) in self._parts for tag in tags)

    def read(self, log: RunLog, tags: Sequence[str], window: Window) -> dict[str, Points]:
        """Return points of these tags that include those of a window and both neighbors."""
        # Tags that were decoded together have the same positions.
        by_file: dict[tuple[LazyPoints, int], list[_Part]] = {}
        for tag in tags:
            for part in self._parts[log.name, tag]:
                by_file.setdefault((part.points, id(part.offsets)), []).append(part)
        # By folder, because the files of a folder share their tags.
        stretches: dict[int, list[Any]] = {}
        for (file, grid), parts in by_file.items():
            ranges = [part.find(window) for part in parts]
            start, stop = min(first for first, _ in ranges), max(last for _, last in ranges)
            counts = {part.number: int(part.before[stop] - part.before[start]) for part in parts}
            offsets = parts[0].offsets
            item = file, counts, int(offsets[start]), int(offsets[stop])
            stretches.setdefault(id(file.source), []).append(((file, grid), item))
        found = {}
        for own in stretches.values():
            decoded = decode_stretches([item for _, item in own])
            found.update({key: columns for (key, _), columns in zip(own, decoded, strict=True)})
        return {
            tag: self._place(log, [_columns(part, found) for part in self._parts[log.name, tag]])
            for tag in tags
        }

    def _place(self, log: RunLog, pieces: list[Columns]) -> Points:
        steps, wall_times, values = pieces[0] if len(pieces) == 1 else join_points(pieces)
        x: NDArray[Any] = steps
        if self._x == WALL_TIME:
            x = wall_times
        elif self._x == RELATIVE:
            x = wall_times - log.wall_time_range[0]
        return Points(log.name, x, wall_times, values)


def _columns(part: _Part, found: Mapping[tuple[LazyPoints, int], ScalarPoints]) -> Columns:
    points = found[part.points, id(part.offsets)]
    if part.number in points:
        return points[part.number]
    return np.empty(0, np.int64), np.empty(0), np.empty(0)
