"""The results of contenders, and whether two of them agree."""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Steps, wall times and values of one series; None if a reader does not return them.
Columns: TypeAlias = tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]
# By run and tag; in a fold, the statistics take the place of the runs.
Series: TypeAlias = dict[tuple[str, str], Columns]


class Reading(NamedTuple):
    """All series of a result, and the peak memory of a helper process in bytes.

    `complete` returns the series with data that is needed only for comparison. It
    is called after measuring. `parts` are times that the work measured itself, in
    seconds by heading.
    """

    series: Series
    helper_peak: int = 0
    complete: Callable[[], Series] | None = None
    parts: dict[str, float] | None = None


Read: TypeAlias = Callable[[Path], Reading]


# Returns where two arrays of values differ.
Differ: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.bool_]]


def find_disagreement(
    ours: Series, theirs: Series, is_sample: bool = False, differ: Differ = operator.ne
) -> str | None:
    """Return the first difference between two results, or None.

    `theirs` can have fewer runs. With `is_sample` it can also lack points. Steps
    and wall times are compared exactly and, by default, so are values.
    """
    runs = {run for run, _ in theirs}
    expected = {key for key in ours if key[0] in runs}
    if not theirs:
        return "nothing was read"
    if expected != set(theirs):
        run, tag = min(expected ^ set(theirs))
        return f"{run}: tag {tag!r} was read by only one of them"
    for (run, tag), columns in theirs.items():
        reference = ours[run, tag]
        if is_sample:
            rows = np.searchsorted(reference[0], columns[0]).clip(max=len(reference[0]) - 1)
            reference = _take(reference, rows)
        for name, ours_column, theirs_column, differ_there in zip(
            ("steps", "wall_times", "values"),
            reference,
            columns,
            (operator.ne, operator.ne, differ),
            strict=True,
        ):
            if ours_column is not None and theirs_column is not None:
                difference = _first(ours_column, theirs_column, differ_there)
                if difference:
                    return f"{run}: {name} of tag {tag!r} differ: {difference}"
    return None


def _take(columns: Columns, rows: NDArray[np.intp]) -> Columns:
    steps, wall_times, values = columns
    return (
        steps[rows],
        None if wall_times is None else wall_times[rows],
        None if values is None else values[rows],
    )


def _first(first: NDArray[Any], second: NDArray[Any], differ: Differ) -> str | None:
    if first.shape != second.shape:
        return f"{len(first):,} and {len(second):,} of them"
    rows = np.flatnonzero(differ(first, second))
    return f"{first[rows[0]]!r} and {second[rows[0]]!r} at row {rows[0]:,}" if rows.size else None
