"""Scalars as a DataFrame: long, one row a point, or wide, one column a tag."""

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
    """One row a point: run, tag (categorical), step, wall_time, value."""
    from runfold._tables.frames.frame import Table

    lengths = [len(one) for one in series]
    return Table(
        {
            "run": categories([one.run for one in series], lengths),
            "tag": categories([one.tag for one in series], lengths),
            "step": _join([one.steps for one in series], np.int64),
            "wall_time": _join([one.wall_times for one in series], np.float64),
            "value": _join([one.values for one in series], np.float64),
        },
        copy=False,
    )


def wide_frame(series: Sequence[Series]) -> Table:
    """One column a tag, indexed by run and step; NaN where a tag has no point.

    A tag that has a step twice in a run takes two rows for it. Wall times are
    left out: each tag has its own.
    """
    import pandas as pd

    from runfold._tables.frames.frame import Table

    tags = list(dict.fromkeys(one.tag for one in series))
    column_of = {tag: number for number, tag in enumerate(tags)}
    by_run: dict[str, list[Series]] = {}
    for one in series:
        by_run.setdefault(one.run, []).append(one)
    blocks, steps = [], []
    for group in by_run.values():
        rows, places = _line_up([one.steps for one in group])
        block = np.full((len(tags), len(rows)), np.nan)
        for one, place in zip(group, places, strict=True):
            block[column_of[one.tag], place] = one.values
        blocks.append(block)
        steps.append(rows)
    index = pd.MultiIndex.from_arrays(
        [categories(list(by_run), [len(rows) for rows in steps]), _join(steps, np.int64)],
        names=["run", "step"],
    )
    values = np.concatenate(blocks, axis=1) if blocks else np.empty((0, 0))
    return Table(values.T, index=index, columns=pd.Index(tags, name="tag"), copy=False)


def _join(pieces: Sequence[NDArray[np.generic]], dtype: type) -> NDArray[np.generic]:
    if not pieces:
        return np.empty(0, dtype)
    return np.concatenate(pieces)


def _line_up(
    columns: Sequence[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], list[NDArray[np.intp] | slice]]:
    """The steps that any column has, in order, and the row of each point of each column."""
    first = columns[0]
    if (first[1:] > first[:-1]).all() and all(np.array_equal(first, one) for one in columns[1:]):
        return first, [slice(None)] * len(columns)
    keys = [_numbered(steps) for steps in columns]
    rows = np.unique(np.concatenate(keys))
    return rows["step"].copy(), [np.searchsorted(rows, key) for key in keys]


def _numbered(steps: NDArray[np.int64]) -> NDArray[np.void]:
    """Steps with a counter that tells equal ones apart: the first is 0."""
    key = np.zeros(len(steps), [("step", np.int64), ("nth", np.int64)])
    key["step"] = steps
    order = np.argsort(steps, kind="stable")
    in_order = steps[order]
    starts = np.flatnonzero(np.r_[True, in_order[1:] != in_order[:-1]]) if len(steps) else order
    lengths = np.diff(np.r_[starts, len(steps)])
    key["nth"][order] = np.arange(len(steps)) - np.repeat(starts, lengths)
    return key
