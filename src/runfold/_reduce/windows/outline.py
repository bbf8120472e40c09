"""What is known about the points of a run after they have been decoded once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._reduce.axes import FILLS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._reduce.align import Range
    from runfold._reduce.curve_points import Points
    from runfold._reduce.fold import FoldOptions


@dataclass(frozen=True, slots=True, eq=False)
class Outline:
    """The points of a run without their values.

    Attributes:
        run, lost, doubles, hidden: as in `Points`.
        size: the number of points.
        nans: the number of values that are NaN.
        low, high: the x of the first and last point; None if there are no points.
        key: equal for runs with the same x values.
        time: the first known wall time; NaN if none is known.
        has_all_times: whether all wall times are known.
        is_odd: whether a zero among the x values is negative; which one is kept is not defined.
        marks: the x of every `stride`-th point, from the first one.
        used: the same for the points whose value is not NaN; None if all are used.
    """

    run: str
    size: int
    lost: int
    doubles: int
    hidden: int
    nans: int
    low: Any
    high: Any
    key: tuple[int, bytes]
    time: float
    has_all_times: bool
    is_odd: bool
    marks: NDArray[Any]
    stride: int
    used: Outline | None

    @property
    def without_nan(self) -> Outline:
        """The outline of the points whose value is not NaN."""
        return self.used or self

    def __len__(self) -> int:
        return self.size


class Outlines:
    """Makes outlines with at most `most_marks` marks each; equal marks are stored once."""

    def __init__(self, most_marks: int) -> None:
        self._most = most_marks
        self._marks: dict[tuple[int, bytes], NDArray[Any]] = {}

    def make(self, points: Points) -> Outline:
        """Return the outline of the points of a run."""
        nans = points.nans
        return self._outline(points, nans, self._outline(points.without_nan()) if nans else None)

    def _outline(self, points: Points, nans: int = 0, used: Outline | None = None) -> Outline:
        x = points.x
        size = len(x)
        key = size, _digest(x)
        stride = -(-size // self._most) or 1
        known = ~np.isnan(points.wall_times)
        has_time = bool(known.any())
        return Outline(
            points.run,
            size,
            points.lost,
            points.doubles,
            points.hidden,
            nans,
            x[0] if size else None,
            x[-1] if size else None,
            key,
            float(points.wall_times[known.argmax()]) if has_time else np.nan,
            bool(known.all()),
            x.dtype.kind == "f" and bool(((x == 0) & np.signbit(x)).any()),
            self._marks.setdefault(key, x[::stride].copy()),
            stride,
            used,
        )


def _digest(x: NDArray[Any]) -> bytes:
    # `tobytes` would copy all of them.
    return hashlib.blake2b(np.ascontiguousarray(x).view(np.uint8).data, digest_size=16).digest()


@dataclass(frozen=True, slots=True)
class Task:
    """A tag of a group: the outlines of its runs, the options, and the range of its bins."""

    outlines: Sequence[Outline]
    options: FoldOptions
    bins: Range | None

    @property
    def used(self) -> list[Outline]:
        """The outlines of the points that are aligned."""
        # A skipped NaN is treated as if it had not been logged, so gaps are filled across it.
        if self.skips_nan:
            return [outline.without_nan for outline in self.outlines]
        return [*self.outlines]

    @property
    def skips_nan(self) -> bool:
        """Whether NaN is left out before the runs are aligned."""
        return self.options.align in FILLS and self.options.nan == "skip"

    @property
    def is_same(self) -> bool:
        """Whether all runs have the same x values."""
        return len({outline.key for outline in self.used}) == 1
