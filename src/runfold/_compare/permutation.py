"""The permutation test: how often chance alone would part two groups as far as they are."""

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
    Places = NDArray[np.intp]

_BLOCK = 1_000_000  # places drawn at a time: 8 MB
_ROUNDING = 1e-13


def permute(a: Floats, b: Floats, resamples: int, seed: int) -> float:
    """The two-sided p-value of the difference of means, if who is in which group were chance.

    It looks at all ways to share the scores out where these are at most
    `resamples`, and otherwise at so many drawn with `seed`; what was seen counts
    as one of those. Twice the smaller tail, as `scipy.stats.permutation_test`
    has it, whose p-values these are where all ways are looked at.
    """
    both = np.concatenate([a, b])
    both = both / (np.abs(both).max() or 1.0)  # so that no sum is beyond float64
    both -= both.mean()
    # The sum over one group says all, as the sum over both is always the same.
    size = min(len(a), len(b))
    seen = float(both[: len(a)].sum() if size == len(a) else both[len(a) :].sum())
    slack = _ROUNDING * size  # sums of the same scores in another order are equal
    below, above, total = 0, 0, 0
    if math.comb(len(both), size) > resamples:
        below = above = total = 1
    for places in _ways(len(both), size, resamples, seed):
        sums = both[places].sum(axis=1)
        below += int(np.count_nonzero(sums <= seen + slack))
        above += int(np.count_nonzero(sums >= seen - slack))
        total += len(sums)
    return min(2 * min(below, above) / total, 1.0)


def _ways(n: int, size: int, resamples: int, seed: int) -> Iterator[Places]:
    """The places of one group among n scores, a row a way, in blocks."""
    if math.comb(n, size) <= resamples:
        yield _all(n, size)
        return
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        yield _draw(n, size, min(block, resamples - start), seed, start)


# Pairs of groups with as many runs take the same ways: ten groups make 45 such pairs.
@lru_cache(maxsize=4)
def _all(n: int, size: int) -> Places:
    places = chain.from_iterable(combinations(range(n), size))
    return np.fromiter(places, np.intp, math.comb(n, size) * size).reshape(-1, size)


@lru_cache(maxsize=4)
def _draw(n: int, size: int, rows: int, seed: int, start: int) -> Places:
    random = np.random.default_rng([seed, start])
    return random.random((rows, n)).argpartition(size - 1, axis=1)[:, :size].copy()
