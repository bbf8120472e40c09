"""One tag in many runs: a number for each run, computed for all of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._logdir.series import Series

    # The rows that have a value, and their values.
    Found = tuple[NDArray[np.intp], NDArray[np.float64] | NDArray[np.int64]]


class Curves:
    """The series of one tag, each under the row of its run, in the order of their steps.

    Series may be joined only where they have a point. Of two points at one step the
    later one is the last. `min`, `max`, `best` and `mean` pass over NaN; where there
    is nothing else they are NaN.
    """

    def __init__(self, rows: Sequence[int], series: Sequence[Series]) -> None:
        lengths = np.array([one.steps.size for one in series])
        self.rows = np.array(rows, np.intp)
        self.lengths = lengths
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths
        self.steps = np.concatenate([one.steps for one in series])
        self.values = np.concatenate([one.values for one in series])
        falls = self.steps[1:] < self.steps[:-1]
        falls[self.ends[:-1] - 1] = False
        if falls.any():  # two writers at once, or a restart of which nothing is hidden
            order = np.lexsort((self.steps, np.repeat(np.arange(len(lengths)), lengths)))
            self.steps, self.values = self.steps[order], self.values[order]

    def first(self) -> Found:
        """The value at the lowest step."""
        return self.rows, self.values[self.starts]

    def last(self) -> Found:
        """The value at the highest step."""
        return self.rows, self.values[self.ends - 1]

    def last_step(self) -> Found:
        """The highest step."""
        return self.rows, self.steps[self.ends - 1]

    def min(self) -> Found:
        """The smallest value."""
        return self.rows, np.fmin.reduceat(self.values, self.starts)

    def max(self) -> Found:
        """The largest value."""
        return self.rows, np.fmax.reduceat(self.values, self.starts)

    def mean(self) -> Found:
        """The mean of the values, each point counting alike."""
        is_number = ~np.isnan(self.values)
        sums = np.add.reduceat(np.where(is_number, self.values, 0.0), self.starts)
        counts = np.add.reduceat(is_number, self.starts, dtype=np.int64)
        with np.errstate(invalid="ignore"):
            return self.rows, sums / counts

    def auc(self) -> Found:
        """The area under the curve by trapezoids; NaN in a curve makes it NaN, a point has none."""
        areas = np.zeros(len(self.values))
        with np.errstate(invalid="ignore", over="ignore"):  # infinity less infinity
            widths = np.diff(self.steps.astype(np.float64))
            areas[:-1] = widths * (self.values[1:] + self.values[:-1]) / 2
            areas[self.ends - 1] = 0.0
            found = np.add.reduceat(areas, self.starts)
        has_area = self.lengths > 1
        return self.rows[has_area], found[has_area]

    def best_step(self, is_lowest: bool) -> Found:
        """The first step at which the smallest or the largest value stands."""
        _, best = self.min() if is_lowest else self.max()
        places = np.flatnonzero(self.values == np.repeat(best, self.lengths))
        numbers = np.searchsorted(self.ends, places, side="right")
        numbers, firsts = np.unique(numbers, return_index=True)
        return self.rows[numbers], self.steps[places[firsts]]

    def at(self, step: int) -> Found:
        """The last value up to a step; none where a series begins after it or ends before it."""
        counts = np.add.reduceat(self.steps <= step, self.starts, dtype=np.int64)
        has_step = (counts > 0) & (self.steps[self.ends - 1] >= step)
        return self.rows[has_step], self.values[(self.starts + counts - 1)[has_step]]
