"""The points of runs in a window of x values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from runfold._reduce.curve_points import Points


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """The points of a run in a window, and one point on each side, if the run has one.

    Attributes:
        points: the points of the window and its neighbors.
        begin, end: the positions of the points in the window.
        start: the x of the run's first point; None if it has no points.
    """

    points: Points
    begin: int
    end: int
    start: Any

    @classmethod
    def whole(cls, points: Points) -> Piece:
        """Return all points of a run as one piece."""
        return cls(points, 0, len(points), points.x[0] if len(points) else None)

    @property
    def inner(self) -> Points:
        """The points in the window."""
        if self.end - self.begin == len(self.points):
            return self.points
        return self.points.take(slice(self.begin, self.end))

    def cut(self, low: Any, high: Any) -> Piece:
        """Return the part with x values from `low` up to, but not including, `high`.

        None sets no limit. The part has the neighbors that this piece has.
        """
        x = self.points.x
        begin = self.begin if low is None else max(self.begin, int(np.searchsorted(x, low)))
        end = self.end if high is None else min(self.end, int(np.searchsorted(x, high)))
        end = max(begin, end)
        first, last = max(begin - 1, 0), min(end + 1, len(x))
        return Piece(self.points.take(slice(first, last)), begin - first, end - first, self.start)

    def copy(self) -> Piece:
        """Return a piece that does not keep the arrays of the whole run in memory."""
        points = replace(
            self.points,
            x=self.points.x.copy(),
            wall_times=self.points.wall_times.copy(),
            values=self.points.values.copy(),
        )
        return replace(self, points=points)
