"""The points of one tag in runs that logged it at the same steps, in one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

import numpy as np

from runfold._core.point_table import stack_points
from runfold._logdir.assemble import MOST_SERIES
from runfold._reduce.curve_points import Points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._core.scalar_columns import ScalarPoints
    from runfold._logdir.run_log import RunLog

# The arrays of a run with fewer points take more memory than a copy of the points.
_MOST_POINTS = 64


class RunStack(Sequence[Points]):
    """The points of each run along the steps, which are the same in all runs and increase.

    No value or wall time is NaN.

    Attributes:
        runs: the names of the runs.
        x: the steps.
        wall_times, values: with one row per run.
    """

    def __init__(
        self,
        runs: Sequence[str],
        x: NDArray[np.int64],
        wall_times: NDArray[np.float64],
        values: NDArray[np.float64],
    ) -> None:
        self.runs = runs
        self.x = x
        self.wall_times = wall_times
        self.values = values

    def __len__(self) -> int:
        return len(self.runs)

    @overload
    def __getitem__(self, row: int) -> Points: ...
    @overload
    def __getitem__(self, row: slice) -> list[Points]: ...
    def __getitem__(self, row: int | slice) -> Points | list[Points]:
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        return Points(self.runs[row], self.x, self.wall_times[row], self.values[row])

    def mean_times(self) -> NDArray[np.float64]:
        """Return the mean wall time at each step, like `align` for separate runs."""
        # Relative to the first, because sums of times since 1970 would lose digits.
        origin = self.wall_times[0, 0]
        distances = self.wall_times - origin
        # One run after the other: NumPy would sum a single column pairwise.
        sums = np.add.accumulate(distances, out=distances)[-1]
        mean: NDArray[np.float64] = sums / np.int32(len(self)) + origin
        return mean


def find_stack(logs: Sequence[RunLog], tag: str) -> RunStack | None:
    """Return the points of a tag in several loaded runs; None if a stack cannot hold them."""
    if len(logs) < 2:
        return None
    all_points: list[ScalarPoints] = []
    numbers = []
    names, number = None, -1
    for log in logs:
        points = log.plain_points
        if points is None or len(points) > MOST_SERIES:
            return None
        # Runs with equal tags usually share the list.
        if log.names is not names:
            names, number = log.names, log.numbers.get(tag, -1)
        all_points.append(points)
        numbers.append(number)
    arrays = stack_points(all_points, np.array(numbers, np.int32), _MOST_POINTS)
    return None if arrays is None else RunStack([log.name for log in logs], *arrays)
