"""The values of many runs at the same places, and what several statistics of them share."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

# 2 MiB of float64: temporaries of this size stay in the cache of a core, and
# in memory they do not count, however long the runs are.
_BLOCK = 1 << 18


class Sample:
    """Values of many runs at the same places: (runs, steps), and which of them are there.

    With `nan="skip"` a NaN counts as not there. With `nan="propagate"` a NaN
    that is there makes every statistic but `count` NaN at its step. What is
    not present never enters.

    Attributes:
        values: float64, (runs, steps); NaN also where a run is not present.
        here: which of the values are numbers; None when all are.
        counts: int64, how many values enter at each step.
        blank: the steps at which there is no statistic: nothing enters, or a NaN does.
        seed, resamples: for the statistics that draw at random.
    """

    def __init__(
        self,
        values: NDArray[np.float64],
        present: NDArray[np.bool_] | None = None,
        nan: str = "skip",
        seed: int = 0,
        resamples: int = 10_000,
    ) -> None:
        """Take values that no one changes any more, NaN where a run is not present.

        `present` tells that from a NaN that was logged; None says all are there.
        """
        self.seed = seed
        self.resamples = resamples
        runs, steps = values.shape
        self.values = values
        self.here: NDArray[np.bool_] | None = None
        self.counts = np.full(steps, runs, dtype=np.int64)
        if present is not None and not present.all():
            self.counts = np.count_nonzero(present, axis=0)
        broken = np.zeros(steps, bool)
        # A sum is finite only where every value is, so that most samples need no other look.
        if not np.isfinite(self.sums).all() and not (here := ~np.isnan(self.values)).all():
            del self.sums  # it was taken of the NaN too
            self.here = here
            numbers = np.count_nonzero(here, axis=0)
            if nan == "propagate":
                broken = numbers < self.counts
            else:
                self.counts = numbers
        self.blank = broken | (self.counts == 0)

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """The sum of each step; 0 where nothing enters."""
        with np.errstate(all="ignore"):
            if self.here is None:
                dense: NDArray[np.float64] = self.values.sum(axis=0)
                return dense
            sums = np.empty(len(self.counts))
            for part in self._blocks():
                sums[part] = np.where(self.here[:, part], self.values[:, part], 0.0).sum(axis=0)
            return sums

    @cached_property
    def means(self) -> NDArray[np.float64]:
        """The mean of each step."""
        with np.errstate(all="ignore"):
            return self.sums / self.counts

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """The sample variance of each step (ddof 1), exactly 0 where all values are equal."""
        variances = np.empty(len(self.counts))
        with np.errstate(all="ignore"):
            for part in self._blocks():
                deviations = self.values[:, part] - self.means[part]
                if self.here is not None:
                    deviations[~self.here[:, part]] = 0.0
                variances[part] = np.einsum("ij,ij->j", deviations, deviations)
            variances /= self.counts - 1
            # The mean of three times 0.1 is not 0.1, and a test that divides by
            # the spread of equal values must not find one.
            noise = (np.finfo(float).eps * self.counts * self.means) ** 2
            if ((variances > 0) & (variances <= noise)).any():
                variances[(variances <= noise) & (self.lowest == self.highest)] = 0.0
        return variances

    @cached_property
    def lowest(self) -> NDArray[np.float64]:
        """The smallest value of each step."""
        lowest: NDArray[np.float64] = np.fmin.reduce(self.values, axis=0)
        return lowest

    @cached_property
    def highest(self) -> NDArray[np.float64]:
        """The largest value of each step."""
        highest: NDArray[np.float64] = np.fmax.reduce(self.values, axis=0)
        return highest

    @cached_property
    def ordered(self) -> NDArray[np.float64]:
        """The values of each step in increasing order, (steps, runs), the missing as NaN last."""
        ordered = np.array(self.values.T, order="C")
        ordered.sort(axis=1)
        return ordered

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation of each step (ddof 1)."""
        return np.sqrt(self.variances)

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """The standard error of the mean of each step."""
        return np.sqrt(self.variances / self.counts)

    def quantile(self, percent: float) -> NDArray[np.float64]:
        """The quantile of each step, between two values by linear interpolation."""
        quantiles = np.full(len(self.counts), np.nan)
        for size, steps in self.sizes():
            below, part = divmod(percent / 100 * (size - 1), 1)
            lower = self.ordered[steps, int(below)]
            upper = self.ordered[steps, min(int(below) + 1, size - 1)]
            quantiles[steps] = lower if part == 0 else _between(lower, upper, part)
        return quantiles

    def trimmed_mean(self, cut: Callable[[int], int]) -> NDArray[np.float64]:
        """The mean of each step without the first and last `cut(n)` of its n sorted values."""
        means = np.full(len(self.counts), np.nan)
        for size, steps in self.sizes():
            left_out = cut(size)
            means[steps] = self.ordered[steps, left_out : size - left_out].mean(axis=1)
        return means

    def sizes(self) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield each number of values that enter somewhere, and the steps where that many do."""
        for size in np.unique(self.counts[~self.blank]):
            yield int(size), np.flatnonzero((self.counts == size) & ~self.blank)

    def patterns(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield runs, and the steps at which just these have a value.

        `values[np.ix_(runs, steps)]` has no gaps, for functions that know of none.
        """
        steps = np.flatnonzero(~self.blank)
        if self.here is None:
            yield np.arange(len(self.values)), steps
            return
        # Eight runs make a byte, and the bytes of a step one item to sort by.
        packed = np.ascontiguousarray(np.packbits(self.here[:, steps], axis=0).T)
        _, first, inverse = np.unique(
            packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True
        )
        order = np.argsort(inverse, kind="stable")
        ends = np.cumsum(np.bincount(inverse))
        for step, same in zip(first, np.split(order, ends[:-1]), strict=True):
            yield np.flatnonzero(self.here[:, steps[step]]), steps[same]

    def _blocks(self) -> Iterator[slice]:
        runs, steps = self.values.shape
        width = max(1, _BLOCK // max(1, runs))
        return (slice(start, start + width) for start in range(0, steps, width))


def _between(
    lower: NDArray[np.float64], upper: NDArray[np.float64], part: float
) -> NDArray[np.float64]:
    apart = upper - lower
    # From the nearer end, so that it stays between the two and never falls with `part`.
    between = lower + apart * part if part < 0.5 else upper - apart * (1 - part)
    # The distance of two infinities, or of two huge numbers, is no number.
    return np.where(np.isfinite(apart), between, lower * (1 - part) + upper * part)
