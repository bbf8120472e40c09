"""Two groups of scores against each other: difference, tests, effect size, chance to win."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from runfold._compare.permutation import permute
from runfold._compare.score_ranks import mann_whitney, middle_mean, rank

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NAN = math.nan


@dataclass(frozen=True, slots=True)
class Summary:
    """One group's scores of one tag; what its n leaves undefined is NaN.

    Attributes:
        n: how many runs have a finite score.
        mean, std, median: of the scores; the sample's std (ddof 1).
        low, high: the confidence interval of the mean, by Student's t.
        iqm: the mean without the lowest and the highest quarter.
    """

    tag: str
    group: str
    n: int
    mean: float = NAN
    std: float = NAN
    low: float = NAN
    high: float = NAN
    median: float = NAN
    iqm: float = NAN


@dataclass(frozen=True, slots=True)
class Pair:
    """Group `a` against group `b` on one tag; what their n leave undefined is NaN.

    Attributes:
        difference, low, high: mean of a less mean of b, and Welch's interval.
        t, df: Welch's t and its degrees of freedom.
        p_welch, p_mann_whitney, p_permutation: two-sided.
        p_welch_holm, ...: the same, corrected by Holm over all pairs of all tags.
        low_holm, high_holm: Welch's interval, corrected as `p_welch_holm` is: it
            excludes 0 exactly where that p-value is below 1 - level.
        cohen_d, hedges_g: the difference in units of the pooled std; g without its bias.
        improvement: the share of pairs of runs in which that of a is the better
            one, or the higher one where the direction is unknown; a tie is half.
        improvement_low, improvement_high: its interval, by Newcombe's method.
    """

    tag: str
    a: str
    b: str
    n_a: int
    n_b: int
    difference: float
    low: float
    high: float
    t: float
    df: float
    p_welch: float
    p_mann_whitney: float
    p_permutation: float
    cohen_d: float
    hedges_g: float
    improvement: float
    improvement_low: float
    improvement_high: float
    low_holm: float = NAN
    high_holm: float = NAN
    p_welch_holm: float = NAN
    p_mann_whitney_holm: float = NAN
    p_permutation_holm: float = NAN


def summarise(tag: str, group: str, scores: Floats, level: float) -> Summary:
    """Describe the finite scores of one group."""
    from scipy.special import stdtrit

    n = len(scores)
    if not n:
        return Summary(tag, group, n)
    mean, std = float(scores.mean()), _std(scores)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * std / math.sqrt(n) if n > 1 else NAN
    median, iqm = float(np.median(scores)), middle_mean(scores)
    return Summary(tag, group, n, mean, std, mean - half, mean + half, median, iqm)


def compare_pair(
    names: tuple[str, str, str],
    a: Floats,
    b: Floats,
    sign: int,
    level: float,
    resamples: int,
    seed: int,
) -> Pair:
    """Compare two groups of finite scores, neither empty; `names` are tag, a and b.

    `sign` is -1 where lower scores are better; `permute` says what `resamples`
    and `seed` are.
    """
    difference, low, high, t, df, p_welch = _welch(a, b, level)
    cohen_d, hedges_g = _effect(a, b)
    won = improvement(sign * a, sign * b)
    improvement_low, improvement_high = improvement_interval(won, len(a), len(b), level)
    return Pair(
        *names,
        n_a=len(a),
        n_b=len(b),
        difference=difference,
        low=low,
        high=high,
        t=t,
        df=df,
        p_welch=p_welch,
        p_mann_whitney=_mann_whitney(a, b, resamples, seed),
        p_permutation=permute(a, b, resamples, seed),
        cohen_d=cohen_d,
        hedges_g=hedges_g,
        improvement=won,
        improvement_low=improvement_low,
        improvement_high=improvement_high,
    )


def correct(pairs: Sequence[Pair], level: float) -> list[Pair]:
    """The pairs with the p-values of each test, and Welch's intervals, corrected over all."""
    welch, mann_whitney, permutation = (
        np.array([getattr(pair, f"p_{test}") for pair in pairs])
        for test in ("welch", "mann_whitney", "permutation")
    )
    columns = zip(
        pairs,
        holm_factors(welch).tolist(),
        *(holm(p).tolist() for p in (welch, mann_whitney, permutation)),
        strict=True,
    )
    return [
        replace(
            pair,
            **_widen(pair, factor, level),
            p_welch_holm=p_welch,
            p_mann_whitney_holm=p_mann_whitney,
            p_permutation_holm=p_permutation,
        )
        for pair, factor, p_welch, p_mann_whitney, p_permutation in columns
    ]


def holm(p: Floats) -> Floats:
    """P-values corrected for being many: the smallest of m by m, the next by m - 1, and so on.

    None falls below one before it, none exceeds 1, and NaN, no test, stays NaN.

        holm([0.01, 0.04, 0.03])  ->  [0.03, 0.06, 0.06]
    """
    return np.minimum(p * holm_factors(p), 1.0)


def holm_factors(p: Floats) -> Floats:
    """What Holm's correction multiplies each p-value by; NaN for NaN.

    holm_factors([0.01, 0.04, 0.03])  ->  [3, 1.5, 2]
    """
    factors = np.full(len(p), NAN)
    order = np.argsort(p)[: np.count_nonzero(~np.isnan(p))]  # NaN comes last
    steps = np.arange(len(order), 0, -1.0)
    known = p[order]
    grown = np.maximum.accumulate(known * steps)
    factors[order] = np.divide(grown, known, out=steps, where=known > 0)
    return factors


def _widen(pair: Pair, factor: float, level: float) -> dict[str, float]:
    """Welch's interval at the level at which its test is made: 1 - (1 - level) / factor."""
    from scipy.special import stdtrit

    ends = [(1 - level) / 2, (1 - level) / (2 * factor)]
    plain, corrected = stdtrit(pair.df, ends).tolist()
    half = (pair.high - pair.difference) * corrected / plain
    return {"low_holm": pair.difference - half, "high_holm": pair.difference + half}


def smallest_p(n_a: int, n_b: int) -> float:
    """What a two-sided rank or permutation test can give at best, with so many runs."""
    return min(2 / math.comb(n_a + n_b, n_a), 1.0)


def improvement(a: Floats, b: Floats) -> float:
    """The share of pairs of runs in which that of a is higher; a tie is half."""
    ordered = np.sort(b)
    lower, upper = (np.searchsorted(ordered, a, side).sum() for side in ("left", "right"))
    return float((lower + upper) / (2 * len(a) * len(b)))


def improvement_interval(won: float, n_a: int, n_b: int, level: float) -> tuple[float, float]:
    """Between which shares the improvement of other runs lies, where `won` was seen.

    A share belongs to it where it is no further from `won` than chance explains, with
    the variance of Newcombe's method 5 (Statistics in Medicine, 2006). Of 5 runs that
    all beat 5 others it says 64% to 100%; to draw the runs again would say 100% to
    100%, and such intervals hold the truth in 60% of cases instead of 95%.
    NaN where a group has one run only, which tells nothing of its spread.
    """
    from scipy.special import ndtri

    if min(n_a, n_b) < 2:
        return NAN, NAN
    z, others = float(ndtri((1 + level) / 2)), (n_a + n_b) / 2 - 1

    def is_near(share: float) -> bool:
        grown = 1 + others * ((1 - share) / (2 - share) + share / (1 + share))
        return (share - won) ** 2 <= z * z * share * (1 - share) / (n_a * n_b) * grown

    return _bisect(won, 0.0, is_near), _bisect(won, 1.0, is_near)


def _bisect(near: float, far: float, is_near: Callable[[float], bool]) -> float:
    """Where between the two, to the last bit that matters, `is_near` ends to hold."""
    for _ in range(50):
        middle = (near + far) / 2
        near, far = (middle, far) if is_near(middle) else (near, middle)
    return near


def _std(scores: Floats) -> float:
    # Equal scores have no spread, also where rounding their mean would make one.
    if len(scores) < 2:
        return NAN
    return float(scores.std(ddof=1)) if scores.min() < scores.max() else 0.0


def _welch(a: Floats, b: Floats, level: float) -> tuple[float, float, float, float, float, float]:
    """The difference, its interval, t, degrees of freedom and p, for unequal variances."""
    from scipy.special import stdtr, stdtrit

    difference = float(a.mean() - b.mean())
    error_a, error_b = _std(a) / math.sqrt(len(a)), _std(b) / math.sqrt(len(b))
    error = math.hypot(error_a, error_b)
    if not 0 < error < math.inf:
        return difference, NAN, NAN, NAN, NAN, NAN
    share = (error_a / error) ** 2
    df = 1 / (share**2 / (len(a) - 1) + (1 - share) ** 2 / (len(b) - 1))
    t = difference / error
    half = float(stdtrit(df, (1 + level) / 2)) * error
    return difference, difference - half, difference + half, t, df, float(2 * stdtr(df, -abs(t)))


def _effect(a: Floats, b: Floats) -> tuple[float, float]:
    """Cohen's d and Hedges' g."""
    from scipy.special import gammaln

    df = len(a) + len(b) - 2
    pooled = math.hypot(*(_std(one) * math.sqrt((len(one) - 1) / (df or 1)) for one in (a, b)))
    if not 0 < pooled < math.inf:
        return NAN, NAN
    d = float(a.mean() - b.mean()) / pooled
    bias = math.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / math.sqrt(df / 2)
    return d, d * bias


def _mann_whitney(a: Floats, b: Floats, resamples: int, seed: int) -> float:
    both = np.concatenate([a, b])
    has_ties = len(np.unique(both)) < len(both)
    if has_ties and math.comb(len(both), len(a)) <= resamples:
        # The exact count takes no ties, and the approximation gives p = 0.047 for 3 runs
        # against 3, of which no ranks can say more than 0.1.
        ranks = rank(both)
        return permute(ranks[: len(a)], ranks[len(a) :], resamples, seed)
    return mann_whitney(a, b)
