"""TensorBoard's smoothing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import lfilter

from runfold._plot.smoothing import smooth

NUMBERS = st.floats(-1e100, 1e100) | st.sampled_from([math.nan, math.inf, -math.inf])
WEIGHTS = st.floats(0, 0.999)


def one_by_one(values: list[float], weight: float) -> list[float]:
    if all(value == values[0] for value in values):
        return values
    smoothed, last, count = [], 0.0, 0
    for value in values:
        if math.isfinite(value):
            last = last * weight + (1 - weight) * value
            count += 1
            value = last / (1 - weight**count)
        smoothed.append(value)
    return smoothed


def test_results_match_manual_calculation() -> None:
    # 0.5 / 0.5; (0.25 + 1) / 0.75; (0.125 + 0.5 + 1.5) / 0.875
    assert_allclose(smooth([1, 2, 3], 0.5), [1, 5 / 3, 17 / 7], rtol=1e-15)
    # 0.4 * 10 / 0.4; (2.4 + 0) / 0.64; (1.44 + 4) / 0.784
    assert_allclose(smooth([10, 0, 10], 0.6), [10, 3.75, 5.44 / 0.784], rtol=1e-15)


def test_non_finite_values_stay_and_are_ignored() -> None:
    nan, inf = math.nan, math.inf
    assert_allclose(
        smooth([nan, 1, inf, 2, -inf, nan, 3], 0.5), [nan, 1, inf, 5 / 3, -inf, nan, 17 / 7]
    )
    assert_array_equal(smooth([nan, nan], 0.5), [nan, nan])


def test_equal_values_stay_exactly_equal() -> None:
    assert_array_equal(smooth([0.1] * 1000, 0.9), [0.1] * 1000)


def test_weight_zero_changes_nothing_and_the_input_is_unchanged() -> None:
    values = np.array([3.0, math.nan, 0.1])
    assert_array_equal(smooth(values, 0), values)
    smooth(values, 0.9)
    assert_array_equal(values, [3.0, math.nan, 0.1])
    assert len(smooth([], 0.5)) == 0


@pytest.mark.parametrize("weight", [-0.1, 1, 1.5, math.nan])
def test_weight_out_of_range_is_rejected(weight: float) -> None:
    with pytest.raises(ValueError, match="at least 0 and below 1"):
        smooth([1.0], weight)


@given(values=st.lists(NUMBERS, max_size=50), weight=WEIGHTS)
def test_results_match_a_slow_implementation(values: list[float], weight: float) -> None:
    assert_allclose(smooth(values, weight), one_by_one(values, weight), rtol=1e-12)


def test_results_match_scipys_filter_exactly() -> None:
    values = np.random.default_rng(1).normal(size=10_000)
    filtered = lfilter([1 - 0.6], [1, -0.6], values) / (1 - 0.6 ** np.arange(1.0, 10_001))
    assert_array_equal(smooth(values, 0.6), filtered)
