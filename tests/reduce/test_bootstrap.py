"""Bootstrap intervals, compared with all resamples one by one and with scipy."""

from itertools import product

import numpy as np
import pytest
import scipy.stats
from helpers.samples import FINITE, assert_equal, bootstrap_interval, folded
from hypothesis import given
from hypothesis import strategies as st

STATISTICS = {
    "mean": np.mean,
    "median": np.median,
    "iqm": lambda values, axis: scipy.stats.trim_mean(values, 0.25, axis=axis),
}


@pytest.mark.parametrize("name", STATISTICS)
@given(st.lists(FINITE, min_size=2, max_size=5), st.sampled_from([0.5, 0.9, 0.95]))
def test_all_resamples_of_few_values_are_used(name, values, level):
    draws = np.array(list(product(values, repeat=len(values))))
    every = STATISTICS[name](draws, axis=1)
    tail = round((1 - level) / 2, 9)
    low = np.quantile(every, tail, method="inverted_cdf")
    high = -np.quantile(-every, tail, method="inverted_cdf")
    assert_equal(bootstrap_interval(values, name, level), (low, high))


@pytest.mark.parametrize("name", STATISTICS)
def test_interval_ends_at_the_250th_of_10000_resamples_from_each_end(name):
    values = np.sort(np.random.default_rng(6).normal(size=12))
    draws = np.random.default_rng(9).integers(0, 12, (10_000, 12))
    every = np.sort(STATISTICS[name](values[draws], axis=1))
    got = bootstrap_interval(values, name, level=0.95, seed=9)
    np.testing.assert_allclose(got, (every[249], every[-250]), rtol=1e-12)


@pytest.mark.parametrize("runs", [7, 12, 31])
@pytest.mark.parametrize("name", ["mean", "median"])
def test_many_values_agree_with_scipy(name, runs):
    values = np.random.default_rng(5).gamma(2.0, size=runs)
    theirs = scipy.stats.bootstrap(
        (values,), STATISTICS[name], method="percentile", n_resamples=40_000, rng=1
    )
    # Intervals from 10,000 and 40,000 resamples differ by a few hundredths of the standard error.
    margin = 0.12 * theirs.standard_error
    low, high = bootstrap_interval(values, name)
    assert abs(low - theirs.confidence_interval.low) < margin
    assert abs(high - theirs.confidence_interval.high) < margin


def test_interquartile_mean_agrees_with_manual_resamples():
    values = np.random.default_rng(3).normal(size=20)
    draws = np.random.default_rng(4).choice(values, size=(40_000, 20))
    expected = np.quantile(STATISTICS["iqm"](draws, axis=1), [0.05, 0.95])
    got = bootstrap_interval(values, "iqm", level=0.9)
    np.testing.assert_allclose(got, expected, atol=0.05 * values.std())


@pytest.mark.parametrize("runs", [5, 10])
def test_same_seed_gives_the_same_interval(runs):
    values = np.random.default_rng(0).normal(size=(runs, 40))
    first = folded("ci95,ci95-iqm", values, seed=7)
    again = folded("ci95,ci95-iqm", values, seed=7)
    other = folded("ci95,ci95-iqm", values, seed=8)
    for name, column in first.items():
        assert column.tolist() == again[name].tolist()
        # With five runs, all resamples are used, so nothing is drawn at random.
        assert (column.tolist() == other[name].tolist()) == (runs == 5)


@pytest.mark.parametrize("name", ["ci90", "ci90-median", "ci90-iqm"])
@pytest.mark.parametrize("runs", [4, 11])
def test_each_step_has_the_interval_of_its_present_values(name, runs):
    random = np.random.default_rng(1)
    values, present = random.normal(size=(runs, 60)), random.random((runs, 60)) > 0.3
    got = folded(name, values, present, resamples=500, seed=3)
    statistic = name.partition("-")[2] or "mean"
    expected = [
        bootstrap_interval(column[rows], statistic, 0.9, 500, seed=3)
        for column, rows in zip(values.T, present.T, strict=True)
    ]
    np.testing.assert_allclose(np.array([*got.values()]).T, expected, rtol=1e-12)


def test_steps_in_blocks_have_the_same_intervals_as_single_steps():
    values = np.random.default_rng(2).normal(size=(9, 300))
    got = folded("ci95", values)
    for step in (0, 104, 105, 299):
        low, high = bootstrap_interval(values[:, step])
        np.testing.assert_allclose(
            (got["ci95-low"][step], got["ci95-high"][step]), (low, high), rtol=1e-12
        )


@given(st.lists(FINITE, min_size=2, max_size=12), st.randoms(use_true_random=False))
def test_interval_is_within_the_values_in_any_order(values, random):
    low, high = bootstrap_interval(values, resamples=200)
    assert min(values) - 1e-6 <= low <= high <= max(values) + 1e-6
    random.shuffle(values)
    assert bootstrap_interval(values, resamples=200) == (low, high)


@given(st.lists(FINITE, min_size=2, max_size=6), st.sampled_from(list(STATISTICS)))
def test_interval_of_negated_values_is_negated(values, name):
    low, high = bootstrap_interval(values, name)
    assert_equal(bootstrap_interval(np.negative(values), name), (-high, -low))


def test_diverged_run_does_not_affect_the_lower_end():
    values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, np.inf]
    low, high = bootstrap_interval(values)
    assert (low < 9.0, high) == (True, np.inf)
    assert np.isfinite(bootstrap_interval(values, "median")).all()
    assert np.isnan(bootstrap_interval([-np.inf, 0.0, np.inf])).all()


@pytest.mark.parametrize("values", [[], [3.0]])
def test_interval_of_fewer_than_two_values_is_nan(values):
    assert np.isnan(bootstrap_interval(values)).all()
