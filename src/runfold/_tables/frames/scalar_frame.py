"""Scalars as a DataFrame: long, with one row per point, or wide, with one column per tag."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runfold._tables.frames.column_values import categories

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._logdir.series import Series
    from runfold._tables.frames.frame import Table


def long_frame(series: Sequence[Series]) -> Table:
    """Return one row per point: run, tag (categorical), step, wall_time, value."""
    from runfold._tables.frames.frame import Table

    lengths = [len(curve) for curve in series]
    return Table(
        {
            "run": categories([curve.run for curve in series], lengths),
            "tag": categories([curve.tag for curve in series], lengths),
            "step": _join([curve.steps for curve in series], np.int64),
            "wall_time": _join([curve.wall_times for curve in series], np.float64),
            "value": _join([curve.values for curve in series], np.float64),
        },
        copy=False,
    )


def wide_frame(series: Sequence[Series]) -> Table:
    """Return one column per tag, indexed by run and step; NaN if a tag has no point.

    A step that occurs twice in a series takes two rows. Wall times are left out, because
    they differ between tags.
    """
    import pandas as pd

    from runfold._tables.frames.frame import Table

    tags = list(dict.fromkeys(curve.tag for curve in series))
    column_of = {tag: number for number, tag in enumerate(tags)}
    by_run: dict[str, list[Series]] = {}
    for curve in series:
        by_run.setdefault(curve.run, []).append(curve)
    blocks, steps = [], []
    for curves in by_run.values():
        rows, indices = _line_up([curve.steps for curve in curves])
        block = np.full((len(tags), len(rows)), np.nan)
        for curve, index in zip(curves, indices, strict=True):
            block[column_of[curve.tag], index] = curve.values
        blocks.append(block)
        steps.append(rows)
    labels = pd.MultiIndex.from_arrays(
        [categories(list(by_run), [len(rows) for rows in steps]), _join(steps, np.int64)],
        names=["run", "step"],
    )
    values = np.concatenate(blocks, axis=1) if blocks else np.empty((0, 0))
    return Table(values.T, index=labels, columns=pd.Index(tags, name="tag"), copy=False)


def _join(pieces: Sequence[NDArray[np.generic]], dtype: type) -> NDArray[np.generic]:
    if not pieces:
        return np.empty(0, dtype)
    return np.concatenate(pieces)


def _line_up(
    columns: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], list[NDArray[np.intp] | slice]]:
    """Return the sorted union of the steps, and the rows of each column's points."""
    first = columns[0]
    is_increasing = (first[1:] > first[:-1]).all()
    if is_increasing and all(np.array_equal(first, column) for column in columns[1:]):
        return first, [slice(None)] * len(columns)
    keys = [_numbered(steps) for steps in columns]
    rows = np.unique(np.concatenate(keys))
    return rows["step"].copy(), [np.searchsorted(rows, key) for key in keys]


def _numbered(steps: NDArray[np.int64]) -> NDArray[np.void]:
    """Return steps with a counter that distinguishes equal steps, starting at 0."""
    key = np.zeros(len(steps), [("step", np.int64), ("nth", np.int64)])
    key["step"] = steps
    order = np.argsort(steps, kind="stable")
    in_order = steps[order]
    starts = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]]) if len(steps) else order
    lengths = np.diff(np.r_[starts, len(steps)])
    key["nth"][order] = np.arange(len(steps)) - np.repeat(starts, lengths)
    return key
