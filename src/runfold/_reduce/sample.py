"""The values of many runs at common x values, and intermediate results that statistics share."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

# 2 MiB of float64: temporaries fit into a core's cache, and use little memory however long
# the runs are.
_BLOCK = 1 << 18
# Blocks per part: results of a part are small next to those of a long curve.
_BLOCKS = 4


class Sample:
    """The values of many runs at common steps.

    With `nan="skip"`, NaN counts as missing. With `nan="propagate"`, a NaN makes all
    statistics except `count` NaN at its step. Missing values are always ignored.

    Attributes:
        values: float64, (runs, steps); NaN also for missing values.
        here: mask of the values that are numbers; None if all are.
        counts: int64, the number of values used at each step.
        blank: mask of the steps without statistics: no value is used, or NaN propagates.
        seed: seed for the statistics that draw random samples.
        resamples: the number of bootstrap resamples.
    """

    def __init__(
        self,
        values: NDArray[np.float64],
        present: NDArray[np.bool_] | None = None,
        nan: str = "skip",
        seed: int = 0,
        resamples: int = 10_000,
    ) -> None:
        """Keep a reference to values, with NaN for missing ones; the array must not change later.

        `present` distinguishes missing values from logged NaN; None if none are missing.
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
        # A sum is finite only if all values are, so most samples need no further check.
        if not self._has_finite_sums() and not (here := ~np.isnan(self.values)).all():
            vars(self).pop("sums", None)  # the cached sum includes NaN
            self.here = here
            numbers = np.count_nonzero(here, axis=0)
            if nan == "propagate":
                broken = numbers < self.counts
            else:
                self.counts = numbers
        self.blank = broken | (self.counts == 0)

    def _has_finite_sums(self) -> bool:
        parts = list(self.split())
        if len(parts) == 1:
            return bool(np.isfinite(self.sums).all())
        # The sums of a long curve would take as much memory as one of its statistics.
        with np.errstate(all="ignore"):
            return all(np.isfinite(self.values[:, part].sum(axis=0)).all() for part in parts)

    def expect_gaps(self) -> None:
        """Compute as if a value was missing, because one is in another part of the curve."""
        if self.here is None:
            vars(self).pop("sums", None)
            self.here = np.ones(self.values.shape, np.bool_)

    def split(self) -> Iterator[slice]:
        """Yield the parts of the steps in which statistics are computed: all, if they are few."""
        steps = self.values.shape[1]
        # Sums within a part must add the same numbers in the same order as without parts. So a
        # part consists of whole blocks, and has more than one step, because NumPy sums a single
        # column pairwise.
        size = _BLOCKS * self.width
        ends = range(size, steps - 1, size) if self.width > 1 else ()
        for start, end in pairwise((0, *ends, steps)):
            yield slice(start, end)

    def part(self, steps: slice) -> Sample:
        """Return the sample at one of the parts that `split` yields."""
        part = object.__new__(Sample)
        part.seed, part.resamples = self.seed, self.resamples
        part.values = self.values[:, steps]
        part.here = None if self.here is None else self.here[:, steps]
        part.counts, part.blank = self.counts[steps], self.blank[steps]
        for name in ("sums", "ordered"):
            if name in vars(self):
                vars(part)[name] = vars(self)[name][steps]
        return part

    @cached_property
    def sums(self) -> NDArray[np.float64]:
        """The sum at each step; 0 if no value is used."""
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
        """The mean at each step."""
        with np.errstate(all="ignore"):
            return self.sums / self.counts

    @cached_property
    def variances(self) -> NDArray[np.float64]:
        """The sample variance at each step (ddof 1); exactly 0 if all values are equal."""
        variances = np.empty(len(self.counts))
        with np.errstate(all="ignore"):
            for part in self._blocks():
                deviations = self.values[:, part] - self.means[part]
                if self.here is not None:
                    deviations[~self.here[:, part]] = 0.0
                variances[part] = np.einsum("ij,ij->j", deviations, deviations)
            variances /= self.counts - 1
            # The mean of three values of 0.1 is not exactly 0.1, but equal values must not seem
            # to have a spread, because tests divide by the spread.
            noise = (np.finfo(float).eps * self.counts * self.means) ** 2
            if ((variances > 0) & (variances <= noise)).any():
                variances[(variances <= noise) & (self.lowest == self.highest)] = 0.0
        return variances

    @cached_property
    def lowest(self) -> NDArray[np.float64]:
        """The smallest value at each step; -0.0 is smaller than 0.0."""
        lowest: NDArray[np.float64] = np.fmin.reduce(self.values, axis=0)
        return self._with_signs(lowest, True)

    @cached_property
    def highest(self) -> NDArray[np.float64]:
        """The largest value at each step; 0.0 is larger than -0.0."""
        highest: NDArray[np.float64] = np.fmax.reduce(self.values, axis=0)
        return self._with_signs(highest, False)

    def _with_signs(self, extremes: NDArray[np.float64], is_lowest: bool) -> NDArray[np.float64]:
        """Set the sign of zeros; NumPy's depends on the position of the step."""
        for part in self._blocks():
            steps = np.flatnonzero(extremes[part] == 0)
            if len(steps):
                values = self.values[:, part][:, steps]
                is_found = ((values == 0) & (np.signbit(values) == is_lowest)).any(axis=0)
                extremes[part][steps] = np.where(is_found == is_lowest, -0.0, 0.0)
        return extremes

    @cached_property
    def ordered(self) -> NDArray[np.float64]:
        """The sorted values at each step, (steps, runs), with NaN for missing ones at the end."""
        ordered = np.array(self.values.T, order="C")
        ordered.sort(axis=1)
        return ordered

    @property
    def deviations(self) -> NDArray[np.float64]:
        """The standard deviation at each step (ddof 1)."""
        return np.sqrt(self.variances)

    @property
    def standard_errors(self) -> NDArray[np.float64]:
        """The standard error of the mean at each step."""
        return np.sqrt(self.variances / self.counts)

    def quantile(self, percent: float) -> NDArray[np.float64]:
        """Return the quantile at each step, with linear interpolation between values."""
        quantiles = np.full(len(self.counts), np.nan)
        for size, steps in self.sizes():
            below, part = divmod(percent / 100 * (size - 1), 1)
            lower = self.ordered[steps, int(below)]
            upper = self.ordered[steps, min(int(below) + 1, size - 1)]
            quantiles[steps] = lower if part == 0 else _between(lower, upper, part)
        return quantiles

    def trimmed_mean(self, cut: Callable[[int], int]) -> NDArray[np.float64]:
        """Return the mean at each step without the first and last `cut(n)` of n sorted values."""
        means = np.full(len(self.counts), np.nan)
        for size, steps in self.sizes():
            left_out = cut(size)
            means[steps] = self.ordered[steps, left_out : size - left_out].mean(axis=1)
        return means

    def sizes(self) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield each distinct number of values, and the steps that have that many."""
        for size in np.unique(self.counts[~self.blank]):
            yield int(size), np.flatnonzero((self.counts == size) & ~self.blank)

    def patterns(self) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Yield sets of runs, and the steps at which exactly these runs have a value.

        `values[np.ix_(runs, steps)]` has no gaps, for functions that cannot handle them.
        """
        steps = np.flatnonzero(~self.blank)
        if self.here is None:
            yield np.arange(len(self.values)), steps
            return
        # Pack eight runs per byte, and compare the bytes of a step as one item.
        packed = np.ascontiguousarray(np.packbits(self.here[:, steps], axis=0).T)
        _, first, inverse = np.unique(
            packed.view(f"V{packed.shape[1]}").ravel(), return_index=True, return_inverse=True
        )
        order = np.argsort(inverse, kind="stable")
        ends = np.cumsum(np.bincount(inverse))
        for step, same in zip(first, np.split(order, ends[:-1]), strict=True):
            yield np.flatnonzero(self.here[:, steps[step]]), steps[same]

    @property
    def width(self) -> int:
        """The number of steps in a block."""
        return block_width(len(self.values))

    def _blocks(self) -> Iterator[slice]:
        width = self.width
        return (slice(start, start + width) for start in range(0, self.values.shape[1], width))


def block_width(runs: int) -> int:
    """Return the number of steps per block for this many runs.

    The last bits of a sum depend on where blocks begin.
    """
    return max(1, _BLOCK // max(1, runs))


def _between(
    lower: NDArray[np.float64], upper: NDArray[np.float64], part: float
) -> NDArray[np.float64]:
    distance = upper - lower
    # Start at the nearer value, so that the result stays between the two and is monotonic
    # in `part`.
    between = lower + distance * part if part < 0.5 else upper - distance * (1 - part)
    # The difference of infinities, or of two huge numbers, is not finite.
    return np.where(np.isfinite(distance), between, lower * (1 - part) + upper * part)
