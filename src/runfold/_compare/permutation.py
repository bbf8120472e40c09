"""The permutation test: how often random groups differ as much as the given ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain, combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]

_BLOCK = 1_000_000  # indices drawn at a time: 8 MB
_ROUNDING = 1e-13


def permute(a: Floats, b: Floats, resamples: int, seed: int) -> float:
    """Return the two-sided p-value of the difference of means under random assignment.

    If there are at most `resamples` ways to assign the scores to the groups, all of them are
    used, and the p-value matches `scipy.stats.permutation_test`. Otherwise, `resamples`
    assignments are drawn with `seed`, and the actual assignment is added to them. The
    p-value is twice the smaller tail.
    """
    both = np.concatenate([a, b])
    both = both / (np.abs(both).max() or 1.0)  # so that sums do not overflow
    both -= both.mean()
    # The sum over one group is sufficient, because the sum over both is constant.
    size = min(len(a), len(b))
    actual = float(both[: len(a)].sum() if size == len(a) else both[len(a) :].sum())
    slack = _ROUNDING * size  # the order of summation must not matter
    below, above, total = 0, 0, 0
    if math.comb(len(both), size) > resamples:
        below = above = total = 1
    for indices in _assignments(len(both), size, resamples, seed):
        sums = both[indices].sum(axis=1)
        below += int(np.count_nonzero(sums <= actual + slack))
        above += int(np.count_nonzero(sums >= actual - slack))
        total += len(sums)
    return min(2 * min(below, above) / total, 1.0)


def _assignments(n: int, size: int, resamples: int, seed: int) -> Iterator[Indices]:
    """Yield the indices of one group among n scores, one row per assignment, in blocks."""
    if math.comb(n, size) <= resamples:
        yield _all(n, size)
        return
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        yield _draw(n, size, min(block, resamples - start), seed, start)


# Cached, because pairs of equal size share assignments: ten groups make 45 pairs.
@lru_cache(maxsize=4)
def _all(n: int, size: int) -> Indices:
    indices = chain.from_iterable(combinations(range(n), size))
    return np.fromiter(indices, np.intp, math.comb(n, size) * size).reshape(-1, size)


@lru_cache(maxsize=4)
def _draw(n: int, size: int, rows: int, seed: int, start: int) -> Indices:
    random = np.random.default_rng([seed, start])
    return random.random((rows, n)).argpartition(size - 1, axis=1)[:, :size].copy()
