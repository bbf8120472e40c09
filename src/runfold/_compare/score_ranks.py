"""Ranks, the interquartile mean, and the Mann-Whitney test.

The results match scipy.stats, which would take a second to import.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from runfold._reduce.statistics import CUTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

# If a group has at most this many scores and there are no ties, the test is exact.
_FEW = 8


def rank(scores: Floats) -> Floats:
    """Return the rank of each score, starting at 1; equal scores have their mean rank."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks: Floats = np.cumsum(counts) - (counts - 1) / 2
    return ranks[inverse]


def middle_mean(scores: Floats) -> float:
    """Return the mean without the lowest and highest quarter."""
    cut = CUTS["iqm"](len(scores))
    return float(np.sort(scores)[cut : len(scores) - cut].mean())


def mann_whitney(a: Floats, b: Floats) -> float:
    """Return the two-sided p-value of the Mann-Whitney test.

    The p-value is exact for few scores without ties. Otherwise it is a normal
    approximation, corrected for ties and continuity. NaN if all scores are equal.
    """
    ranks = rank(np.concatenate([a, b]))
    n, m = len(a), len(b)
    # The number of pairs in which the group with more wins has the higher score.
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
    """Return the probability of each number of wins if neither group is better."""
    # counts[drawn, wins] is the number of ways to draw this many scores with this many wins.
    counts = np.zeros((few + 1, few * many + 1))
    counts[0, 0] = 1
    for position in range(few + many):
        for drawn in range(min(few, position + 1), 0, -1):
            below = position - (drawn - 1)
            if below <= many:
                counts[drawn, below:] += counts[drawn - 1, : counts.shape[1] - below]
    chances: Floats = counts[few] / counts[few].sum()
    return chances
