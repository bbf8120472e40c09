"""The statistics of a reduction, compared with NumPy, pandas and scipy."""

import warnings
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from helpers.samples import FINITE, assert_equal, entering, folded, tables
from hypothesis import given
from hypothesis import strategies as st

from runfold._reduce.sample import Sample

NAMES = "mean,std,var,sem,min,max,median,sum,count,iqm,q05,q5,q97.5,ci95,ci90-t,ci95-iqm,ptp"
PANDAS = ("mean", "std", "var", "sem", "min", "max", "median", "sum", "count")


def reference(function, table, fewest=1):
    """Return a function's result for each step; NaN if there are fewer values than `fewest`."""
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        return [
            function(column) if len(column) >= fewest else np.nan for column in entering(*table)
        ]


@given(tables())
def test_means_and_spreads_match_pandas(table):
    values, present = table
    frame = pd.DataFrame(values if present is None else np.where(present, values, np.nan)).T
    with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
        expected = {name: getattr(frame, name)(axis=1) for name in PANDAS}
        expected["sum"] = frame.sum(axis=1, min_count=1)
    for name, column in folded(PANDAS, values, present).items():
        assert_equal(column, expected[name], scale=1e12 if name == "var" else 1e6)


def test_steps_of_several_blocks_are_all_reduced():
    values = np.random.default_rng(0).normal(size=(4, 150_000))
    gaps = np.where(values > 1.0, np.nan, values)
    assert_equal(folded("std", values)["std"], values.std(axis=0, ddof=1), scale=1)
    assert_equal(folded("mean,std", gaps)["std"], pd.DataFrame(gaps).std().to_numpy(), scale=1)


@given(tables(), st.floats(0, 100))
def test_quantiles_match_numpy(table, percent):
    name = f"q{percent:.3f}"
    got = folded([name, "median"], *table)
    finite = np.array([np.isfinite(column).all() for column in entering(*table)], bool)
    quantiles = reference(lambda column: np.percentile(column, float(name[1:])), table)
    assert_equal(got[name][finite], np.array(quantiles)[finite])
    assert_equal(got["median"], reference(np.median, table))


@given(tables())
def test_interquartile_mean_equals_scipys_trimmed_mean(table):
    trimmed = reference(lambda column: scipy.stats.trim_mean(column, 0.25), table)
    assert_equal(folded("iqm", *table)["iqm"], trimmed)


@given(tables(FINITE))
def test_t_interval_and_sem_match_scipy(table):
    got = folded("sem,ci95-t,ci99.5-t", *table)
    assert_equal(got["sem"], reference(scipy.stats.sem, table, fewest=2))

    for level in ("95", "99.5"):
        for end, side in enumerate(("low", "high")):

            def interval(column, level=float(level) / 100, end=end):
                middle, spread = column.mean(), scipy.stats.sem(column)
                if spread < 1e-9:
                    return middle
                return scipy.stats.t.interval(level, len(column) - 1, middle, spread)[end]

            assert_equal(got[f"ci{level}-t-{side}"], reference(interval, table, fewest=2))


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_the_runs_does_not_matter(table, random):
    values, present = table
    order = list(range(len(values)))
    random.shuffle(order)
    shuffled = values[order], None if present is None else present[order]
    expected = folded(NAMES, values, present, resamples=50)
    for name, column in folded(NAMES, *shuffled, resamples=50).items():
        assert_equal(column, expected[name], scale=1e12)


@given(tables(FINITE))
def test_quantiles_increase_with_their_percentage(table):
    got = list(folded("min,q10,q25,median,q80,q99.9,max", *table).values())
    for lower, upper in pairwise(got):
        assert (lower[~np.isnan(lower)] <= upper[~np.isnan(upper)]).all()


@given(FINITE, st.integers(2, 30))
def test_equal_values_have_no_spread(value, runs):
    got = folded("std,var,sem,ptp,ci95-t", np.full((runs, 2), value))
    for name in ("std", "var", "sem", "ptp"):
        assert got[name].tolist() == [0.0, 0.0]
    assert (got["ci95-t-low"] == got["ci95-t-high"]).all()


def test_equal_values_with_gaps_have_no_spread():
    values = np.array([[0.1, 0.1], [0.1, np.nan], [0.1, 0.1], [7.0, 0.1]])
    present = np.array([[True, True], [True, True], [True, True], [False, True]])
    assert folded("std", values, present)["std"].tolist() == [0.0, 0.0]


def test_one_run_has_a_mean_and_no_spread():
    got = folded("mean,std,sem,var,median,iqm,q05,count,ci95,ci95-t,ptp", [[3.0, -1.0]])
    assert {name for name, column in got.items() if np.isnan(column).all()} == {
        "std", "sem", "var", "ci95-low", "ci95-high", "ci95-t-low", "ci95-t-high",
    }  # fmt: skip
    for name in ("mean", "median", "iqm", "q05"):
        assert got[name].tolist() == [3.0, -1.0]


def test_infinity_is_a_value():
    inf = np.inf
    got = folded("mean,std,max,median,q75,iqm", [[1, inf, -inf], [2, inf, inf], [3, inf, 0]])
    assert got["mean"][:2].tolist() == [2, inf]
    assert got["median"].tolist() == [2, inf, 0]
    assert got["q75"].tolist() == [2.5, inf, inf]
    assert np.isnan([got["std"][1], got["std"][2], got["mean"][2]]).all()
    assert folded("q30", [[-inf], [1.0], [2.0]])["q30"].tolist() == [-inf]
    assert folded("q50", [[-1.7e308], [1.7e308]])["q50"].tolist() == [0.0]


def test_a_nan_is_skipped():
    values = np.array([[1.0, np.nan], [3.0, 4.0], [np.nan, np.nan]])
    present = np.array([[True, True], [True, True], [False, True]])
    sample = Sample(values, present)
    assert (sample.counts.tolist(), sample.counts.dtype) == ([2, 1], np.int64)
    assert folded("mean,count", values, present)["mean"].tolist() == [2.0, 4.0]


@pytest.mark.parametrize("name", NAMES.split(","))
def test_propagated_nan_does_not_affect_the_count(name):
    values = np.array([[1.0, np.nan, np.nan], [3.0, 4.0, np.nan], [9.0, 5.0, 2.0]])
    present = np.array([[True, True, False], [True, True, False], [True, True, True]])
    skipped = folded(name, values, present)
    for column, got in folded(name, values, present, nan="propagate").items():
        if column == "count":
            assert got.tolist() == [3, 3, 1]
        else:
            assert np.isnan(got[1])
            np.testing.assert_array_equal(got[[0, 2]], skipped[column][[0, 2]])


@pytest.mark.parametrize("name", NAMES.split(","))
def test_only_the_count_is_a_number_if_no_run_has_a_value(name):
    values, present = np.array([[1.0, 5.0], [3.0, 6.0]]), np.array([[False, True], [False, True]])
    for column, got in folded(name, values, present).items():
        assert got.dtype == np.float64
        assert got[0] == 0.0 if column == "count" else np.isnan(got[0])
        assert not np.isnan(got[1])
        assert folded(name, values[:, :0])[column].shape == (0,)


def test_missing_values_are_ignored_and_not_modified():
    values = np.array([[1.0, np.inf], [np.nan, 2.0]])
    values.setflags(write=False)
    got = folded(NAMES, values, np.array([[True, False], [False, True]]))
    assert got["mean"].tolist() == got["max"].tolist() == [1.0, 2.0]
