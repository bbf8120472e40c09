"""The permutation test, compared with scipy's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from runfold._compare import permutation
from runfold._compare.permutation import permute

samples = st.lists(st.integers(-9, 9).map(float), min_size=2, max_size=6).map(np.array)


def scipy_p(a: NDArray[np.float64], b: NDArray[np.float64], resamples: int) -> float:
    def difference(first: NDArray[np.float64], second: NDArray[np.float64], axis: int) -> object:
        return first.mean(axis=axis) - second.mean(axis=axis)

    return float(stats.permutation_test((a, b), difference, n_resamples=resamples).pvalue)


@given(samples, samples)
def test_all_assignments_give_the_p_value_of_scipy(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> None:
    assert permute(a, b, 1000, seed=0) == pytest.approx(scipy_p(a, b, 1000))


def test_draws_approximate_the_p_value_of_all_assignments() -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(0, 1, 7), random.normal(0.8, 1, 8)
    exact = permute(a, b, math.comb(15, 7), seed=0)
    drawn = permute(a, b, math.comb(15, 7) - 1, seed=0)
    assert drawn != exact
    assert drawn == pytest.approx(exact, abs=0.02)
    assert permute(a, b, 5000, seed=1) == permute(a, b, 5000, seed=1)


def test_actual_assignment_counts_as_a_draw() -> None:
    assert permute(np.arange(30.0), 100 + np.arange(30.0), 999, seed=0) == 2 / 1000


def test_number_of_draws_is_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permutation, "_BLOCK", 1000)
    p = permute(np.arange(30.0), np.arange(30.0) + 5, 999, seed=0)
    assert (p * 1000) % 2 == pytest.approx(0)
    assert 0.005 < p < 0.1


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        ([1.0], [2.0, 3.0, 4.0], 0.5),
        ([2.0, 3.0, 4.0], [1.0], 0.5),
        ([0.1] * 3, [0.1] * 3, 1.0),
        # The sums differ only by rounding.
        ([0.1, 0.7], [0.2, 0.6], 1.0),
        ([1e308, 1e308, 1e308], [-1e308, -1e308, -1e308], 0.1),
        ([5e-324, 5e-324, 5e-324], [0.0, 0.0, 0.0], 0.1),
        ([1e9 + 1, 1e9 + 2, 1e9 + 3], [1e9 + 7, 1e9 + 8, 1e9 + 9], 0.1),
    ],
)
def test_few_runs_and_extreme_scores(a: list[float], b: list[float], p: float) -> None:
    assert permute(np.array(a), np.array(b), 1000, seed=0) == pytest.approx(p)
