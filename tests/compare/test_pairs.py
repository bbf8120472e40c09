"""Comparison of two groups, checked against scipy, NumPy and enumeration."""

import math
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from runfold._compare.pairs import (
    Pair,
    compare_pair,
    correct,
    holm,
    holm_factors,
    improvement,
    improvement_interval,
    smallest_p,
    summarize,
)

A = np.array([0.31, 0.42, 0.37, 0.55, 0.29])
B = np.array([0.61, 0.35, 0.72, 0.58])

samples = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=5).map(np.array)


def pair_of(a: NDArray[np.float64], b: NDArray[np.float64], sign: int = 1) -> Pair:
    (pair,) = correct([compare_pair(("x", "a", "b"), a, b, sign, 0.95, 10_000, seed=0)], 0.95)
    return pair


def test_summary_agrees_with_scipy() -> None:
    result = summarize("x", "a", A, 0.9)
    low, high = stats.t.interval(0.9, len(A) - 1, A.mean(), stats.sem(A))
    assert (result.tag, result.group, result.n) == ("x", "a", 5)
    np.testing.assert_allclose(
        [result.mean, result.std, result.low, result.high, result.median, result.iqm],
        [A.mean(), A.std(ddof=1), low, high, np.median(A), np.sort(A)[1:4].mean()],
        rtol=1e-12,
    )


def test_tests_agree_with_scipy() -> None:
    result = pair_of(A, B)
    welch = stats.ttest_ind(A, B, equal_var=False)
    ends = welch.confidence_interval(0.95)
    np.testing.assert_allclose(
        [result.t, result.df, result.p_welch, result.low, result.high, result.difference],
        [welch.statistic, welch.df, welch.pvalue, ends.low, ends.high, A.mean() - B.mean()],
        rtol=1e-10,
    )
    assert result.p_mann_whitney == stats.mannwhitneyu(A, B).pvalue


def enumerated_p(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    """Return the two-sided p-value of the difference in means over all assignments."""
    both, actual = np.concatenate([a, b]), a.mean() - b.mean()
    differences = []
    for chosen in combinations(range(len(both)), len(a)):
        rest = np.delete(both, chosen)
        differences.append(both[list(chosen)].mean() - rest.mean())
    at_most = np.mean([value <= actual + 1e-12 for value in differences])
    at_least = np.mean([value >= actual - 1e-12 for value in differences])
    return float(min(1.0, 2 * min(at_most, at_least)))


@given(samples, samples)
def test_permutation_and_rank_tests_are_exact_for_few_runs_even_with_ties(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> None:
    result = pair_of(a, b)
    assert result.p_permutation == pytest.approx(enumerated_p(a, b))
    ranks = stats.rankdata(np.concatenate([a, b]))
    assert result.p_mann_whitney == pytest.approx(enumerated_p(ranks[: len(a)], ranks[len(a) :]))
    assert min(result.p_permutation, result.p_mann_whitney) >= smallest_p(len(a), len(b)) - 1e-12


def test_smallest_p_is_reached_by_groups_that_do_not_overlap() -> None:
    result = pair_of(np.array([1.0, 2.0, 3.0]), np.array([7.0, 8.0, 9.0]))
    assert result.p_permutation == result.p_mann_whitney == smallest_p(3, 3) == 0.1
    assert smallest_p(1, 1) == 1.0


def test_effect_sizes_follow_their_definition() -> None:
    result = pair_of(A, B)
    pooled = math.sqrt((4 * A.var(ddof=1) + 3 * B.var(ddof=1)) / 7)
    assert result.cohen_d == pytest.approx((A.mean() - B.mean()) / pooled)
    # Hedges' approximation of the factor is accurate to a few parts in a thousand.
    assert result.hedges_g == pytest.approx(result.cohen_d * (1 - 3 / (4 * 7 - 1)), rel=2e-3)
    exact = math.gamma(3.5) / (math.sqrt(3.5) * math.gamma(3))
    assert result.hedges_g == pytest.approx(result.cohen_d * exact)


@given(samples, samples)
def test_improvement_is_the_share_of_pairs_won(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> None:
    won = [1.0 if x > y else 0.5 if x == y else 0.0 for x, y in product(a, b)]
    assert improvement(a, b) == pytest.approx(np.mean(won))
    assert pair_of(a, b, sign=-1).improvement == pytest.approx(1 - np.mean(won))


def test_interval_of_improvement_agrees_with_its_definition() -> None:
    for won, n_a, n_b in ((1.0, 5, 5), (0.55, 5, 4), (0.0, 30, 7)):
        z, middle = stats.norm.ppf(0.975), (n_a + n_b) / 2 - 1
        for end in improvement_interval(won, n_a, n_b, 0.95):
            grown = 1 + middle * (1 - end) / (2 - end) + middle * end / (1 + end)
            error = math.sqrt(end * (1 - end) * grown / (n_a * n_b))
            assert abs(end - won) == pytest.approx(z * error, abs=1e-9)
    assert improvement_interval(1.0, 5, 5, 0.95) == (pytest.approx(0.6427, abs=1e-4), 1.0)


@pytest.mark.parametrize(("n", "shift"), [(5, 0.0), (5, 2.0), (10, 1.0)])
def test_interval_of_improvement_has_its_nominal_coverage(n: int, shift: float) -> None:
    random = np.random.default_rng(0)
    truth = float(stats.norm.cdf(shift / math.sqrt(2)))
    held = 0
    for _ in range(500):
        won = improvement(random.normal(shift, 1, n), random.normal(0, 1, n))
        low, high = improvement_interval(won, n, n, 0.95)
        held += low <= truth <= high
    assert held / 500 >= 0.92


def test_holm_agrees_with_a_worked_example() -> None:
    # Sorted: 0.005, 0.01, 0.03, 0.04, multiplied by 4, 3, 2, 1, and made monotonic.
    result = holm(np.array([0.01, 0.04, 0.03, 0.005]))
    np.testing.assert_allclose(result, [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_equal(holm(np.array([math.nan, 0.6, 0.7])), [math.nan, 1.0, 1.0])
    assert holm(np.array([])).tolist() == []


def test_holm_factors_multiply_the_p_values() -> None:
    p = np.array([0.01, 0.04, math.nan, 0.03, 0.005])
    np.testing.assert_allclose(holm_factors(p), [3, 1.5, math.nan, 2, 4])
    assert holm_factors(np.array([0.0, 0.0, 0.1])).tolist() == [3, 2, 1]


@given(st.lists(st.tuples(samples, samples), min_size=1, max_size=4))
@settings(max_examples=50, deadline=None)
def test_corrected_interval_and_p_value_agree(drawn: list[Any]) -> None:
    pairs = correct(
        [compare_pair(("x", "a", "b"), a, b, 1, 0.95, 200, seed=0) for a, b in drawn], 0.95
    )
    for pair in pairs:
        assert math.isnan(pair.low_holm) == math.isnan(pair.p_welch_holm)
        if abs(pair.p_welch_holm - 0.05) > 1e-9:
            assert (pair.low_holm > 0 or pair.high_holm < 0) == (pair.p_welch_holm < 0.05)
        if not math.isnan(pair.low):
            assert pair.low_holm <= pair.low + 1e-9
            assert pair.high_holm >= pair.high - 1e-9


@pytest.mark.parametrize(
    ("a", "b", "undefined", "defined"),
    [
        # A single run has no spread.
        ([1.0], [2.0], "low t df p_welch cohen_d improvement_low", "p_mann_whitney p_permutation"),
        ([1.0], [2.0, 3.0], "low p_welch hedges_g", "p_mann_whitney p_permutation"),
        # Neither group has a spread; the mean of three values of 0.1 is rounded.
        ([0.1] * 3, [0.3] * 3, "low t p_welch cohen_d", "p_mann_whitney p_permutation"),
        ([0.1] * 3, [0.1] * 3, "low t p_welch cohen_d", "p_mann_whitney p_permutation"),
        # A test is possible if only one of the groups has no spread.
        ([0.1] * 3, [0.3, 0.4, 0.5], "", "low t df p_welch p_permutation hedges_g"),
        # Squares overflow float64.
        ([1e300, 2e300], [-1e300, 3e300], "p_welch cohen_d", "p_permutation improvement"),
    ],
)
def test_undefined_statistics_are_nan(
    a: list[float], b: list[float], undefined: str, defined: str
) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        result = pair_of(np.array(a), np.array(b))
    assert [name for name in undefined.split() if not math.isnan(getattr(result, name))] == []
    assert [name for name in defined.split() if math.isnan(getattr(result, name))] == []
    assert math.isfinite(result.difference)


def test_summary_of_no_run_and_of_one_run() -> None:
    none, single = (summarize("x", "a", np.array(scores), 0.95) for scores in ([], [2.0]))
    assert (none.n, single.n, single.mean, single.median, single.iqm) == (0, 1, 2.0, 2.0, 2.0)
    assert all(
        map(math.isnan, (none.mean, none.std, none.low, single.std, single.low, single.high))
    )
