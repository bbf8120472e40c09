"""The points of one series along an x-axis, sorted, with distinct x values."""

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
    """The points of one run, with increasing `x`: int64 for steps, otherwise float64.

    Three counters describe points that are not included: `lost` counts those without a
    finite x value, `doubles` those dropped in favor of another point with the same x,
    and `hidden` those hidden by the restart policy.
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

    def take(self, selection: NDArray[Any] | slice) -> Points:
        """Return the points that a slice, an index or a mask selects."""
        return replace(
            self,
            x=self.x[selection],
            wall_times=self.wall_times[selection],
            values=self.values[selection],
        )

    @property
    def nans(self) -> int:
        """The number of values that are NaN."""
        return int(np.count_nonzero(np.isnan(self.values)))

    def without_nan(self) -> Points:
        """Return the points without NaN values."""
        is_nan = np.isnan(self.values)
        return self.take(~is_nan) if is_nan.any() else self


def place(log: RunLog, series: Series, x: str, duplicates: str = "error") -> Points:
    """Return the points of a series along an axis: "step", "wall_time", "relative" or a tag.

    If the axis is a tag, x is that tag's value at the same step. Points without a finite x value
    are left out and counted. Points with equal x raise CannotFold, unless `duplicates` says which
    to keep: "first", "last" or their "mean". A value that was logged twice in a row at one
    step counts once. If `add_hparams` logged a metric again at the last step, only the
    later value counts.
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
    """Return the points, except those that repeat the step and value of the previous point.

    `add_hparams` logs a metric again at the last step. If the value differs, the later one is
    kept, as in TensorBoard.
    """
    is_repeat = points.x[1:] == points.x[:-1]
    if not is_repeat.any():
        return points
    before, after = points.values[:-1], points.values[1:]
    is_same = (before == after) | (np.isnan(before) & np.isnan(after))
    points = points.take(np.concatenate([[True], ~(is_repeat & is_same)]))
    is_repeat = points.x[1:] == points.x[:-1]
    if not is_repeat.any() or tag not in announced_metrics(log):
        return points
    replaced = int(np.count_nonzero(is_repeat))
    return replace(points.take(np.concatenate([~is_repeat, [True]])), doubles=replaced)


def _move(points: Points, x: NDArray[np.float64]) -> Points:
    """Return the points with new x values, without those whose x is NaN or infinite."""
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
    has_value = guide.x[at] == points.x
    lost = int(np.count_nonzero(~has_value))
    kept = replace(points.take(has_value), lost=lost)
    return _move(kept, guide.values[at[has_value]])


def _settle(points: Points, tag: str, x: str, duplicates: str) -> Points:
    """Return the points sorted by x, with distinct x values."""
    if _is_increasing(points.x):
        return points
    # Stable, so that points with equal x keep the order in which they were logged.
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
    with np.errstate(invalid="ignore"):  # infinity minus infinity
        values = np.add.reduceat(points.values, starts) / counts
        wall_times = np.add.reduceat(points.wall_times, starts) / counts
    return replace(points, x=points.x[starts], wall_times=wall_times, values=values)


def _is_increasing(x: NDArray[Any]) -> bool:
    return bool((x[1:] > x[:-1]).all())


def _twice(points: Points, tag: str, x: str, is_new: NDArray[np.bool_]) -> str:
    count = int(np.count_nonzero(~is_new))
    first = points.x[np.flatnonzero(~is_new)[0]]
    message = (
        f"Tag '{escape(tag)}' in run '{escape(points.run)}' has more than one value at "
        f"{name_axis(x)} {first} ({human_count(count, 'duplicate point')} in total), so nothing "
        "was reduced. Use duplicates='first', 'last' or 'mean' (--duplicates)"
    )
    if x != STEP:
        return f"{message}."
    return (
        f"{message}, or if the job was restarted, hide the older points with restarts='step' "
        "(--restarts step)."
    )
