"""Folds of odd runs with many options, and all numbers and texts of a fold."""

import warnings
from typing import Any

import runfold as rf
from runfold.errors import CannotFold

OPTIONS: list[dict[str, Any]] = [
    {"ops": "mean,std,min,max,median,count,iqm,q05,ci95,ci95-t"},
    {"by": "lr", "min_runs": 2},
    {"by": "run", "align": "strict", "duplicates": "last"},
    {"align": "interpolate"},
    {"align": "union"},
    {"align": "intersection"},
    {"align": "ffill", "nan": "propagate"},
    {"bins": 5, "by": "lr"},
    {"duplicates": "mean"},
    {"duplicates": "error"},
    {"align": "strict", "lax_tags": False},
    {"x": "wall_time"},
    {"x": "relative", "by": "run"},
    {"x": "acc", "align": "union"},
    {"tags": ["late", "loss"]},
    {"ops": [lambda column: column.max(axis=0)]},
    {"ops": [lambda column: column.shape[7]], "by": "run"},
]


def fold(runs: rf.Runs, options: dict[str, Any]) -> object:
    """Return all numbers and texts of a fold, or its error."""
    options = {"lax_tags": True, "align": "auto", "duplicates": "last"} | options
    if "bins" in options:
        del options["align"]
    try:
        with warnings.catch_warnings(action="ignore"):
            reduced = runs.reduce(**options)
    except (CannotFold, IndexError) as error:
        return type(error), str(error)
    curves = []
    for group in reduced.groups.values():
        for tag, curve in group.curves.items():
            columns = {"x": curve.x, "time": curve.wall_times, "runs": curve.counts}
            numbers = {
                name: (str(column.dtype), column.tobytes())
                for name, column in (columns | curve.statistics).items()
            }
            curves.append((group.name, tag, curve.runs, numbers))
    return curves, reduced.left_out, reduced.remarks, reduced.align, repr(reduced)
