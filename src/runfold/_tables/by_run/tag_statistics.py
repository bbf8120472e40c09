"""Statistics of one tag in many runs: one number per run, computed for all runs at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._logdir.series import Series

    # The rows of the runs that have a value, and these values.
    Found = tuple[NDArray[np.intp], NDArray[np.float64] | NDArray[np.int64]]


class Ends:
    """The first and last points of one tag in many runs, by step.

    If a step occurs twice, the later point is treated as the last, and the earlier as the first.
    """

    def __init__(
        self,
        rows: NDArray[np.intp],
        first: NDArray[np.float64],
        last: NDArray[np.float64],
        last_steps: NDArray[np.int64],
    ) -> None:
        self.rows = rows
        self._first = first
        self._last = last
        self._last_steps = last_steps

    def first(self) -> Found:
        """Return the values at the lowest steps."""
        return self.rows, self._first

    def last(self) -> Found:
        """Return the values at the highest steps."""
        return self.rows, self._last

    def last_step(self) -> Found:
        """Return the highest steps."""
        return self.rows, self._last_steps


class Curves:
    """The series of one tag in many runs, sorted by step. No series may be empty.

    If a step occurs twice, the later point is treated as the last. `min`, `max`, `best` and
    `mean` ignore NaN; they are NaN only if all values are NaN. The arguments are the row and the
    number of points of each run, and the points of all runs.
    """

    def __init__(
        self,
        rows: NDArray[np.intp],
        lengths: NDArray[np.int64],
        steps: NDArray[np.int64],
        values: NDArray[np.float64],
    ) -> None:
        self.rows = rows
        self.lengths = lengths
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths
        self.steps = steps
        self.values = values
        falls = self.steps[1:] < self.steps[:-1]
        falls[self.ends[:-1] - 1] = False
        if falls.any():  # concurrent writers, or a restart whose older points are kept
            order = np.lexsort((self.steps, np.repeat(np.arange(len(lengths)), lengths)))
            self.steps, self.values = self.steps[order], self.values[order]

    @classmethod
    def of(cls, rows: Sequence[int], series: Sequence[Series]) -> Curves:
        """Return the curves of these series."""
        return cls(
            np.array(rows, np.intp),
            np.array([curve.steps.size for curve in series]),
            np.concatenate([curve.steps for curve in series]),
            np.concatenate([curve.values for curve in series]),
        )

    def split(self, most: int) -> Iterator[Curves]:
        """Yield the curves of some runs at a time, with about this many points each.

        Statistics of many short curves are quicker to compute in memory that fits in the cache.
        """
        begin, count = 0, len(self.rows)
        while begin < count:
            start = int(self.starts[begin])
            end = max(begin + 1, int(np.searchsorted(self.ends, start + most, side="right")))
            points = slice(start, int(self.ends[end - 1]))
            part = Curves.__new__(Curves)
            part.rows, part.lengths = self.rows[begin:end], self.lengths[begin:end]
            part.starts, part.ends = self.starts[begin:end] - start, self.ends[begin:end] - start
            part.steps, part.values = self.steps[points], self.values[points]
            yield part
            begin = end

    def first(self) -> Found:
        """Return the values at the lowest steps."""
        return self.rows, self.values[self.starts]

    def last(self) -> Found:
        """Return the values at the highest steps."""
        return self.rows, self.values[self.ends - 1]

    def last_step(self) -> Found:
        """Return the highest steps."""
        return self.rows, self.steps[self.ends - 1]

    def min(self) -> Found:
        """Return the smallest values."""
        return self.rows, np.fmin.reduceat(self.values, self.starts)

    def max(self) -> Found:
        """Return the largest values."""
        return self.rows, np.fmax.reduceat(self.values, self.starts)

    def mean(self) -> Found:
        """Return the unweighted means of the points."""
        is_number = ~np.isnan(self.values)
        if is_number.all():
            return self.rows, np.add.reduceat(self.values, self.starts) / self.lengths
        sums = np.add.reduceat(np.where(is_number, self.values, 0.0), self.starts)
        counts = np.add.reduceat(is_number, self.starts, dtype=np.int64)
        with np.errstate(invalid="ignore"):
            return self.rows, sums / counts

    def auc(self) -> Found:
        """Return the areas under the curves by the trapezoidal rule.

        The area is NaN if the curve contains NaN, and missing for a single point.
        """
        areas = np.zeros(len(self.values))
        with np.errstate(invalid="ignore", over="ignore"):  # infinity minus infinity
            # In place, because new memory costs more than the arithmetic.
            inner = np.add(self.values[1:], self.values[:-1], out=areas[:-1])
            steps = self.steps.astype(np.float64)
            inner *= np.subtract(steps[1:], steps[:-1], out=steps[:-1])
            inner /= 2
            areas[self.ends - 1] = 0.0
            found = np.add.reduceat(areas, self.starts)
        has_area = self.lengths > 1
        return self.rows[has_area], found[has_area]

    def best_step(self, is_lowest: bool) -> Found:
        """Return the first steps that have the smallest or largest value."""
        _, best = self.min() if is_lowest else self.max()
        positions = np.flatnonzero(self.values == np.repeat(best, self.lengths))
        numbers = np.searchsorted(self.ends, positions, side="right")
        firsts = np.flatnonzero(np.diff(numbers, prepend=-1))
        return self.rows[numbers[firsts]], self.steps[positions[firsts]]

    def at(self, step: int) -> Found:
        """Return the last values up to a step; missing if a series starts later or ends earlier."""
        counts = np.add.reduceat(self.steps <= step, self.starts, dtype=np.int64)
        has_step = (counts > 0) & (self.steps[self.ends - 1] >= step)
        return self.rows[has_step], self.values[(self.starts + counts - 1)[has_step]]


# All statistics that do not depend on an option.
STATISTICS: dict[str, Callable[[Curves], Found]] = {
    **{name: getattr(Curves, name) for name in ("first", "last", "last_step")},
    **{name: getattr(Curves, name) for name in ("min", "max", "mean", "auc")},
    "lowest_step": lambda curves: curves.best_step(True),
    "highest_step": lambda curves: curves.best_step(False),
}


class CurveStatistics:
    """The statistics of one tag in many runs, computed for some of the runs at a time.

    It has the methods of `Curves`, except `at`.
    """

    def __init__(self) -> None:
        self._found: dict[str, list[Found]] = {name: [] for name in STATISTICS}

    def add(self, curves: Curves) -> None:
        """Add runs whose rows follow those of the previous ones."""
        # Statistics that nobody requests must not warn.
        with np.errstate(all="ignore"):
            for name, statistic in STATISTICS.items():
                self._found[name].append(statistic(curves))

    def append(self, later: CurveStatistics, start: int) -> None:
        """Add the statistics of later runs. The first of these runs has row `start`."""
        for name, found in later._found.items():
            self._found[name] += [(rows + start, values) for rows, values in found]

    def _join(self, name: str) -> Found:
        return join_found(self._found[name])

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows of the runs with points."""
        return self._join("first")[0]

    def first(self) -> Found:
        """Return the values at the lowest steps."""
        return self._join("first")

    def last(self) -> Found:
        """Return the values at the highest steps."""
        return self._join("last")

    def last_step(self) -> Found:
        """Return the highest steps."""
        return self._join("last_step")

    def min(self) -> Found:
        """Return the smallest values."""
        return self._join("min")

    def max(self) -> Found:
        """Return the largest values."""
        return self._join("max")

    def mean(self) -> Found:
        """Return the unweighted means of the points."""
        return self._join("mean")

    def auc(self) -> Found:
        """Return the areas under the curves."""
        return self._join("auc")

    def best_step(self, is_lowest: bool) -> Found:
        """Return the first steps that have the smallest or largest value."""
        return self._join("lowest_step" if is_lowest else "highest_step")


def join_found(pieces: Sequence[Found]) -> Found:
    """Return the rows and values of several groups of runs, in their order."""
    rows, values = zip(*pieces, strict=True)
    return np.concatenate(rows), np.concatenate(values)
