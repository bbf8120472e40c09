"""The points of one series along the chosen x-axis, sorted, each place once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import escape, human_count
from runfold._reduce.axes import RELATIVE, STEP, WALL_TIME, name_axis
from runfold._tables.frames.hparam_values import announced_metrics
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._logdir.run_log import RunLog
    from runfold._logdir.series import Series

DUPLICATES = ("error", "first", "last", "mean")


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Points of one run, `x` increasing: int64 for steps, otherwise float64.

    Of the points that the series does not have here, `lost` counts those without
    a place on the axis, `doubles` those left out for another at the same place,
    and `hidden` those that the restart policy left out.
    """

    run: str
    x: NDArray[Any]
    wall_times: NDArray[np.float64]
    values: NDArray[np.float64]
    lost: int = 0
    doubles: int = 0
    hidden: int = 0

    def __len__(self) -> int:
        return len(self.x)

    def take(self, chosen: NDArray[Any]) -> Points:
        """Some of the points, by their numbers or by a mask."""
        return replace(
            self,
            x=self.x[chosen],
            wall_times=self.wall_times[chosen],
            values=self.values[chosen],
        )

    def without_nan(self) -> Points:
        """The points whose value is a number."""
        is_nan = np.isnan(self.values)
        return self.take(~is_nan) if is_nan.any() else self


def place(log: RunLog, series: Series, x: str, duplicates: str = "error") -> Points:
    """The points of a series along an axis: "step", "wall_time", "relative" or a tag.

    Along another tag, a point is placed at that tag's value of the same step.
    A point without a finite place there, or with an unknown wall time, is left
    out and counted. Raises CannotFold for equal places, unless `duplicates` says
    which of them to keep: "first", "last" or their "mean". A value that was logged
    twice in succession at one step is one point, and so is an hparams metric, of
    which the later value counts.
    """
    points = Points(
        series.run, series.steps, series.wall_times, series.values, hidden=series.hidden
    )
    if x == STEP and _is_increasing(points.x):
        return points
    if duplicates in ("error", "last"):
        points = _merge_repeats(points, log, series.tag)
    if x == WALL_TIME:
        points = _move(points, points.wall_times)
    elif x == RELATIVE:
        points = _move(points, points.wall_times - log.wall_time_range[0])
    elif x != STEP:
        points = _along(points, log, x)
    return _settle(points, series.tag, x, duplicates)


def _merge_repeats(points: Points, log: RunLog, tag: str) -> Points:
    """The points without those that repeat the step and value of the one before.

    `add_hparams` logs a metric once more at the last step. Where the value differs, the
    later one counts, which is also the one on TensorBoard's page.
    """
    is_again = points.x[1:] == points.x[:-1]
    if not is_again.any():
        return points
    one, next_one = points.values[:-1], points.values[1:]
    is_same = (one == next_one) | (np.isnan(one) & np.isnan(next_one))
    points = points.take(np.concatenate([[True], ~(is_again & is_same)]))
    is_again = points.x[1:] == points.x[:-1]
    if not is_again.any() or tag not in announced_metrics(log):
        return points
    replaced = int(np.count_nonzero(is_again))
    return replace(points.take(np.concatenate([~is_again, [True]])), doubles=replaced)


def _move(points: Points, x: NDArray[np.float64]) -> Points:
    """The points at other places, without those at none: NaN, or infinitely far."""
    known = np.isfinite(x)
    moved = replace(points, x=x, lost=points.lost + int(np.count_nonzero(~known)))
    return moved if known.all() else moved.take(known)


def _along(points: Points, log: RunLog, tag: str) -> Points:
    other = log.series(tag)
    guide = _settle(
        Points(other.run, other.steps, other.wall_times, other.values), tag, STEP, "last"
    )
    if not len(guide):
        none = np.zeros(len(points), np.bool_)
        return replace(points.take(none), lost=len(points))
    at = np.minimum(np.searchsorted(guide.x, points.x), len(guide) - 1)
    found = guide.x[at] == points.x
    lost = int(np.count_nonzero(~found))
    kept = replace(points.take(found), lost=lost)
    return _move(kept, guide.values[at[found]])


def _settle(points: Points, tag: str, x: str, duplicates: str) -> Points:
    """The points in the order of x, each place once."""
    if _is_increasing(points.x):
        return points
    # Stable: of equal places the one that was logged first stays first.
    points = points.take(np.argsort(points.x, kind="stable"))
    if _is_increasing(points.x):
        return points
    is_new = np.concatenate([[True], points.x[1:] != points.x[:-1]])
    if duplicates == "error":
        raise CannotFold(_twice(points, tag, x, is_new))
    if duplicates in ("first", "last"):
        kept = is_new if duplicates == "first" else np.concatenate([is_new[1:], [True]])
        doubles = points.doubles + int(np.count_nonzero(~kept))
        return replace(points.take(kept), doubles=doubles)
    starts = np.flatnonzero(is_new)
    counts = np.diff(starts, append=len(points))
    with np.errstate(invalid="ignore"):  # infinity less infinity
        values = np.add.reduceat(points.values, starts) / counts
        wall_times = np.add.reduceat(points.wall_times, starts) / counts
    return replace(points, x=points.x[starts], wall_times=wall_times, values=values)


def _is_increasing(x: NDArray[Any]) -> bool:
    return bool((x[1:] > x[:-1]).all())


def _twice(points: Points, tag: str, x: str, is_new: NDArray[np.bool_]) -> str:
    count = int(np.count_nonzero(~is_new))
    first = points.x[np.flatnonzero(~is_new)[0]]
    again = human_count(count, "point")
    told = (
        f"Tag '{escape(tag)}' in run '{escape(points.run)}' has more than one value at "
        f"{name_axis(x)} {first}, {again} too many in all, so nothing was folded. Choose with "
        "duplicates='first', 'last' or 'mean' (--duplicates)"
    )
    if x != STEP:
        return f"{told}."
    return (
        f"{told}; if the job was restarted, restarts='step' (--restarts step) hides the older "
        "branch."
    )
