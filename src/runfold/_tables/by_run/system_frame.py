"""The system metrics of a run, as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._logdir.series import Series
from runfold._tables.by_run.run_story import read_system
from runfold._tables.frames.scalar_frame import wide_frame

if TYPE_CHECKING:
    from runfold._logdir.run_log import RunLog
    from runfold._tables.frames.frame import Table


def system_frame(log: RunLog) -> Table:
    """Return the scalars under `system/`, one column per tag, sorted by `wall_time`."""
    series = read_system(log)
    times = [
        Series(curve.run, curve.tag, curve.steps, curve.wall_times, curve.wall_times)
        for curve in series
    ]
    frame = wide_frame(series)
    frame.insert(0, "wall_time", wide_frame(times).min(axis=1))
    # Rows are not sorted by step, because a resumed run counts from 0 again.
    return frame.droplevel("run").sort_values("wall_time", kind="stable")
