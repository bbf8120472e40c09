"""What a reader hands over, and whether two readers agree on it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

# Steps, wall times and values of one series; None is what a reader does not give.
Columns: TypeAlias = tuple[NDArray[Any], NDArray[Any] | None, NDArray[Any] | None]
# By run and tag.
Series: TypeAlias = dict[tuple[str, str], Columns]


class Reading(NamedTuple):
    """All series of a log, and the peak memory of a helper process in bytes.

    `complete` gives the series with what is only needed to compare them. It is
    called when the measurement is over.
    """

    series: Series
    helper_peak: int = 0
    complete: Callable[[], Series] | None = None


Read: TypeAlias = Callable[[Path], Reading]


def find_disagreement(ours: Series, theirs: Series, is_sample: bool = False) -> str | None:
    """The first difference in what both read, exactly compared; None if there is none.

    `theirs` may be of fewer runs. With `is_sample` it may also lack points.
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
        for name, one, other in zip(
            ("steps", "wall_times", "values"), reference, columns, strict=True
        ):
            if one is not None and other is not None and not np.array_equal(one, other):
                return f"{run}: {name} of tag {tag!r} differ: {_first(one, other)}"
    return None


def _take(columns: Columns, rows: NDArray[np.intp]) -> Columns:
    steps, wall_times, values = columns
    return (
        steps[rows],
        None if wall_times is None else wall_times[rows],
        None if values is None else values[rows],
    )


def _first(one: NDArray[Any], other: NDArray[Any]) -> str:
    if one.shape != other.shape:
        return f"{len(one):,} and {len(other):,} of them"
    row = int(np.flatnonzero(one != other)[0])
    return f"{one[row]!r} and {other[row]!r} at row {row:,}"
