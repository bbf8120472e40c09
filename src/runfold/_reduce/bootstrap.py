"""Bootstrap confidence intervals of the mean, median and interquartile mean of runs.

The unit of resampling is a run, because another seed would have produced another run. A
resample consists of n runs drawn with replacement, and the same draws are used for every
step, so that points of one run stay together. Ranks are drawn instead of runs (the lowest
run of a step, the second lowest, ...). At each step, the result has the same distribution, and the
interval does not depend on the order of the runs.

The mean, median and interquartile mean of a resample are all means of the middle of its
sorted values, so each is a product of weights and sorted values.

Few runs have few distinct resamples (126 for five runs). If there are at most `resamples`
of them, all are used, weighted by their probability, and the result is exact.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING

import numpy as np

from runfold._reduce.statistics import CUTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    # The center and the level.
    Interval = tuple[str, float]
    # The number of the interval, steps, and the lower and upper end at each of them.
    Done = tuple[int, NDArray[np.intp], tuple[NDArray[np.float64], NDArray[np.float64]]]

# Size of a block of steps times resamples; a few of these arrays exist at once.
_BLOCK_BYTES = 8 << 20
_MOST_THREADS = 4


def bootstrap_intervals(
    ordered: NDArray[np.float64],
    statistic: str = "mean",
    level: float = 0.95,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lower and upper ends of the percentile interval of each row of sorted values.

    `ordered` has the shape (steps, n). At most half of the remaining probability, 1 - `level`,
    is below the lower end, and at most half is above the upper end. The ends are NaN if n is
    less than two. Infinity counts as a value; NaN is not allowed.
    """
    steps, n = ordered.shape
    low, high = np.full((2, steps), np.nan)
    if n < 2:
        return low, high
    ranks, chances = _draw(n, resamples, seed)
    cut = CUTS[statistic](n)
    weights = _count(ranks[:, cut : n - cut], n) / (n - 2 * cut)
    tail = (1 - level) / 2
    width = _block_rows(n, resamples)

    def fill(start: int) -> None:
        part = slice(start, start + width)
        low[part], high[part] = _ends(_resample(ordered[part], weights), chances, tail)

    # Products and partitions release the GIL. The blocks do not depend on the number of threads.
    starts = range(0, steps, width)
    with ThreadPoolExecutor(min(_MOST_THREADS, len(starts), os.cpu_count() or 1)) as pool:
        list(pool.map(fill, starts))
    return low, high


class Intervals:
    """The intervals of a curve that is computed in parts.

    They are the same, to the last bit, as with one part. The last bits of a matrix product depend
    on its size, so steps are kept until they fill a block.
    """

    def __init__(self, requests: Sequence[Interval], resamples: int, seed: int) -> None:
        self._requests = requests
        self._resamples = resamples
        self._seed = seed
        # By number of values: the steps that are not in a full block yet, and their sorted values.
        self._waiting: dict[int, list[tuple[NDArray[np.intp], NDArray[np.float64]]]] = {}

    def add(self, n: int, steps: NDArray[np.intp], ordered: NDArray[np.float64]) -> Iterator[Done]:
        """Add steps with n sorted values each, and yield results that are complete."""
        if n < 2 or not len(steps):
            return
        rows = _block_rows(n, self._resamples)
        waiting = self._waiting.pop(n, [])
        held = sum(len(own) for own, _ in waiting)
        full = (held + len(steps)) // rows * rows - held
        if full <= 0:
            self._waiting[n] = [*waiting, (steps, ordered)]
            return
        yield from self._compute([*waiting, (steps[:full], ordered[:full])])
        if full < len(steps):
            self._waiting[n] = [(steps[full:].copy(), ordered[full:].copy())]

    def finish(self) -> Iterator[Done]:
        """Yield the remaining results."""
        while self._waiting:
            _, waiting = self._waiting.popitem()
            yield from self._compute(waiting)

    def _compute(
        self, waiting: Sequence[tuple[NDArray[np.intp], NDArray[np.float64]]]
    ) -> Iterator[Done]:
        steps = np.concatenate([own for own, _ in waiting])
        ordered = (
            waiting[0][1] if len(waiting) == 1 else np.concatenate([own for _, own in waiting])
        )
        for number, (center, level) in enumerate(self._requests):
            ends = bootstrap_intervals(ordered, center, level, self._resamples, self._seed)
            yield number, steps, ends


def _block_rows(n: int, resamples: int) -> int:
    """Return the number of steps per matrix product."""
    return max(1, _BLOCK_BYTES // (8 * min(math.comb(2 * n - 1, n), resamples)))


def _draw(n: int, resamples: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.int64] | None]:
    """Return the sorted ranks of each resample, and the weights, or None for equal weights."""
    if math.comb(2 * n - 1, n) > resamples:
        ranks = np.random.default_rng(seed).integers(0, n, (resamples, n), dtype=np.intp)
        ranks.sort(axis=1)
        return ranks, None
    ranks = np.array(list(combinations_with_replacement(range(n), n)), dtype=np.intp)
    factorials = np.array([math.factorial(count) for count in range(n + 1)])
    return ranks, factorials[n] // factorials[_count(ranks, n)].prod(axis=0)


def _count(ranks: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Return how often each of n ranks occurs in each row of ranks: (n, rows)."""
    rows = len(ranks)
    cells = ranks * rows + np.arange(rows)[:, None]
    return np.bincount(cells.ravel(), minlength=n * rows).reshape(n, rows)


def _resample(ordered: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the statistic of every resample: (steps, resamples)."""
    if np.isfinite(ordered).all():
        return ordered @ weights
    # Zero times infinity is NaN, but a resample without the diverged run is finite.
    drawn = (weights > 0).astype(np.float64)
    with np.errstate(invalid="ignore"):
        return (
            np.where(np.isfinite(ordered), ordered, 0.0) @ weights
            + np.where((ordered == np.inf).astype(np.float64) @ drawn > 0, np.inf, 0.0)
            - np.where((ordered == -np.inf).astype(np.float64) @ drawn > 0, np.inf, 0.0)
        )


def _ends(
    statistics: NDArray[np.float64], chances: NDArray[np.int64] | None, tail: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the values at which the share of resamples below and above reaches `tail`."""
    undefined = np.isnan(statistics).any(axis=1)
    total = statistics.shape[1] if chances is None else int(chances.sum())
    # In floating point, 0.025 of 10,000 is 250.00000000000023.
    needed = max(1, math.ceil(round(tail * total, 6)))
    if chances is None:
        statistics.partition((needed - 1, total - needed), axis=1)
        low, high = statistics[:, needed - 1], statistics[:, total - needed]
    else:
        order = np.argsort(statistics, axis=1)
        reached = np.cumsum(chances[order], axis=1)
        steps = np.arange(len(statistics))
        low, high = (
            statistics[steps, order[steps, np.count_nonzero(below, axis=1)]]
            for below in (reached < needed, reached <= total - needed)
        )
    return np.where(undefined, np.nan, low), np.where(undefined, np.nan, high)
