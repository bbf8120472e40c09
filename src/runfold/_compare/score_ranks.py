"""Scores by their order: ranks, the mean of the middle half, and the test of Mann and Whitney.

As scipy.stats has them, which takes a second to import when the first groups are compared.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from runfold._reduce.statistics import CUTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# Where one group is no larger, and no two scores are equal, all ways to draw them are counted.
_FEW = 8


def rank(scores: Floats) -> Floats:
    """The place of each score among all, from 1 on; equal ones share the mean of their places."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    places: Floats = np.cumsum(counts) - (counts - 1) / 2
    return places[inverse]


def middle_mean(scores: Floats) -> float:
    """The mean without the lowest and the highest quarter."""
    cut = CUTS["iqm"](len(scores))
    return float(np.sort(scores)[cut : len(scores) - cut].mean())


def mann_whitney(a: Floats, b: Floats) -> float:
    """How likely ranks so different are by chance alone, two-sided.

    Exact for few scores, none of them equal; otherwise by the normal
    approximation, corrected for ties and for whole numbers. NaN where all are equal.
    """
    ranks = rank(np.concatenate([a, b]))
    n, m = len(a), len(b)
    # How often a score of the one group is above one of the other: of both ways, the larger.
    wins = float(ranks[:n].sum()) - n * (n + 1) / 2
    wins = max(wins, n * m - wins)
    _, ties = np.unique(ranks, return_counts=True)
    if min(n, m) <= _FEW and ties.max() == 1:
        chances = _chances(min(n, m), max(n, m))
        return min(1.0, 2 * float(chances[int(wins) :].sum()))
    from scipy.special import ndtr

    both = n + m
    spread = float((ties**3 - ties).sum()) / (both * (both - 1))
    deviation = math.sqrt(n * m / 12 * (both + 1 - spread))
    if not deviation:
        return math.nan
    return min(1.0, 2 * float(ndtr(-(wins - n * m / 2 - 0.5) / deviation)))


def _chances(few: int, many: int) -> Floats:
    """How likely each number of wins is, from 0 to all, when no group is better."""
    # By how many are drawn so far and how many of the others lie below them.
    ways = np.zeros((few + 1, few * many + 1))
    ways[0, 0] = 1
    for place in range(few + many):
        for drawn in range(min(few, place + 1), 0, -1):
            below = place - (drawn - 1)
            if below <= many:
                ways[drawn, below:] += ways[drawn - 1, : ways.shape[1] - below]
    chances: Floats = ways[few] / ways[few].sum()
    return chances
