"""What a contender hands over, and whether two of them agree on it."""

import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Steps, wall times and values of one series; None is what a reader does not give.
Columns: TypeAlias = tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]
# By run and tag; the runs of a fold are its statistics.
Series: TypeAlias = dict[tuple[str, str], Columns]


class Reading(NamedTuple):
    """All series that came of the work, and the peak memory of a helper process in bytes.

    `complete` gives the series with what is only needed to compare them. It is
    called when the measurement is over. `parts` are seconds of parts of the work,
    by heading, which it took itself.
    """

    series: Series
    helper_peak: int = 0
    complete: Callable[[], Series] | None = None
    parts: dict[str, float] | None = None


Read: TypeAlias = Callable[[Path], Reading]


# Where two arrays of values differ.
Differ: TypeAlias = Callable[[NDArray[Any], NDArray[Any]], NDArray[np.bool_]]


def find_disagreement(
    ours: Series, theirs: Series, is_sample: bool = False, differ: Differ = operator.ne
) -> str | None:
    """The first difference in what both gave; None if there is none.

    `theirs` may be of fewer runs. With `is_sample` it may also lack points.
    Steps and wall times are exactly compared, and so are values by default.
    """
    runs = {run for run, _ in theirs}
    expected = {key for key in ours if key[0] in runs}
    if not theirs:
        return "nothing was read"
    if expected != set(theirs):
        run, tag = min(expected ^ set(theirs))
        return f"{run}: tag {tag!r} was read by one of them only"
    for (run, tag), columns in theirs.items():
        reference = ours[run, tag]
        if is_sample:
            rows = np.searchsorted(reference[0], columns[0]).clip(max=len(reference[0]) - 1)
            reference = _take(reference, rows)
        for name, one, other, differ_there in zip(
            ("steps", "wall_times", "values"),
            reference,
            columns,
            (operator.ne, operator.ne, differ),
            strict=True,
        ):
            if one is not None and other is not None:
                difference = _first(one, other, differ_there)
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


def _first(one: NDArray[Any], other: NDArray[Any], differ: Differ) -> str | None:
    if one.shape != other.shape:
        return f"{len(one):,} and {len(other):,} of them"
    rows = np.flatnonzero(differ(one, other))
    return f"{one[rows[0]]!r} and {other[rows[0]]!r} at row {rows[0]:,}" if rows.size else None
