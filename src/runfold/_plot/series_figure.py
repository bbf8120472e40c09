"""Figures of one series, drawn as a fold of one run so that they look like other figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import escape
from runfold._plot.figure import plot_folded
from runfold._reduce.folded import Curve, Folded, Group
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from runfold._logdir.series import Series

_AXES = ("step", "wall_time")


def plot_series(series: Series, x: str, **options: Any) -> Figure:
    """Return a figure of one series over steps or wall times. See `plot_folded` for the options.

    Points are drawn in the order of the axis, without points whose time is unknown.
    Raises RunfoldError for any other axis.
    """
    if x not in _AXES:
        raise RunfoldError(f"Unknown axis '{escape(str(x))}': x must be {' or '.join(_AXES)}.")
    axis = series.steps if x == "step" else series.wall_times
    order = np.argsort(axis, kind="stable")
    order = order[np.isfinite(axis[order])]
    curve = Curve(
        series.tag,
        (series.run,),
        axis[order],
        series.wall_times[order],
        np.ones(len(order), np.int64),
        {"value": series.values[order]},
    )
    group = Group(series.run, {}, curve.runs, curves={series.tag: curve})
    return plot_folded(Folded({series.run: group}, ("value",), x), stacklevel=5, **options)
