"""Figures of one series: a fold of one run, so that it looks like one."""

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
    """A figure of one series along its steps or wall times; for the options see `plot_folded`.

    Points are drawn in the order of the axis, those without a time not at all.
    Raises RunfoldError for another axis.
    """
    if x not in _AXES:
        raise RunfoldError(f"No axis '{escape(str(x))}': x is {' or '.join(_AXES)}.")
    places = series.steps if x == "step" else series.wall_times
    order = np.argsort(places, kind="stable")
    order = order[np.isfinite(places[order])]
    curve = Curve(
        series.tag,
        (series.run,),
        places[order],
        series.wall_times[order],
        np.ones(len(order), np.int64),
        {"value": series.values[order]},
    )
    group = Group(series.run, {}, curve.runs, curves={series.tag: curve})
    return plot_folded(Folded({series.run: group}, ("value",), x), stacklevel=5, **options)
