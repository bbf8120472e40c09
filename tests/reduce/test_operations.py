"""Which operations there are: names, NumPy's reductions and functions."""

import functools
import statistics

import numpy as np
import pytest
import scipy.stats
from helpers.samples import FINITE, assert_equal, entering, folded, tables
from hypothesis import given

from runfold._reduce.operations import parse
from runfold.errors import CannotFold, UnknownStatistic


def spread(values):
    return values.max(axis=0) - values.min(axis=0)


def names(operations):
    return [statistic.name for statistic in parse(operations)]


def test_a_text_may_hold_several_names_and_each_is_taken_once():
    assert names("mean, std,,mean") == ["mean", "std"]
    assert names(["q05,std", "mean", spread, "std", spread]) == ["q05", "std", "mean", "spread"]
    columns = [statistic.columns for statistic in parse("ci95,ci99.5-t,median")]
    assert columns == [("ci95-low", "ci95-high"), ("ci99.5-t-low", "ci99.5-t-high"), ("median",)]


@pytest.mark.parametrize("operations", ["", " , ", [], ()])
def test_no_operation_at_all_is_refused(operations):
    with pytest.raises(UnknownStatistic, match=r"No operation was asked for\. There are mean"):
        parse(operations)


@pytest.mark.parametrize(
    ("name", "near"),
    [("menn", "mean"), ("stdev", "std"), ("Max", "max"), ("ci95t", "ci95-t"), ("ppt", "ptp")],
)
def test_an_unknown_name_lists_the_near_ones(name, near):
    with pytest.raises(UnknownStatistic, match=f"No operation '{name}'. Did you mean '{near}'"):
        parse(["mean", name])


def test_a_name_near_to_none_lists_the_kinds():
    with pytest.raises(UnknownStatistic) as caught:
        parse("zzz\x1b")
    assert str(caught.value) == (
        "No operation 'zzz\\x1b'. There are mean, std, var, sem, min, max, median, sum, count, "
        "iqm, quantiles such as q05, intervals such as ci95, ci95-t, ci95-iqm and ci95-median, "
        "and NumPy's reductions such as ptp."
    )


@pytest.mark.parametrize("name", ["q101", "q100.1", "ci0", "ci100", "ci100-t"])
def test_a_percentage_out_of_range_is_refused(name):
    with pytest.raises(UnknownStatistic, match=f"'{name}': .*100"):
        parse(name)


@pytest.mark.parametrize(
    "name",
    [
        *("save", "savetxt", "fromfile", "load", "memmap", "seterr", "set_printoptions", "test"),
        *("linalg.norm", "random", "_core", "__name__", "ndarray", "float64", "exec", "pi"),
        *("sort", "cumsum", "unique", "add", "lexsort", "squeeze", "put_along_axis", "quantile"),
    ],
)
def test_what_does_not_reduce_an_axis_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownStatistic, match="No operation"):
        parse(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["ptp", "nanmedian", "prod", "nanstd", "count_nonzero", "amax"])
@given(table=tables(FINITE))
def test_numpys_reductions_see_just_the_values_that_are_there(name, table):
    expected = [getattr(np, name)(column) if len(column) else np.nan for column in entering(*table)]
    np.testing.assert_allclose(folded(name, *table)[name], expected, rtol=1e-9, atol=1e-9)


def test_the_place_of_a_run_is_its_place_among_all():
    values = np.array([[1.0, 9.0], [5.0, np.nan], [7.0, 8.0]])
    present = np.array([[False, True], [True, True], [True, True]])
    got = folded("argmax,argmin", values, present)
    assert (got["argmax"].tolist(), got["argmin"].tolist()) == ([2, 0], [1, 2])


@pytest.mark.parametrize(
    "function",
    [
        spread,  # all steps at once
        np.ptp,  # the same, by its axis
        functools.partial(np.quantile, q=0.3),
        scipy.stats.iqr,
        lambda values: values.mean(),  # one step alone
        lambda values: values.sum(axis=-1),  # reduces the other axis of two
        lambda values: np.atleast_1d(values.max()),
        statistics.median,
        max,
        sum,
        lambda values: float(values[0] > 3),
    ],
)
@given(table=tables(FINITE, runs=4))
def test_a_function_gives_what_it_gives_for_each_step_alone(function, table):
    expected = [
        float(np.asarray(function(column)).item()) if len(column) else np.nan
        for column in entering(*table)
    ]
    (got,) = folded(function, *table).values()
    assert_equal(got, expected)


def test_a_function_may_change_what_it_is_given():
    def raised(values):
        values += 1
        return np.atleast_1d(values.max())

    values = np.array([[3.0, 1.0], [2.0, 5.0], [1.0, 4.0]])
    assert folded(raised, values)["raised"].tolist() == [4.0, 6.0]
    assert values.tolist() == [[3.0, 1.0], [2.0, 5.0], [1.0, 4.0]]


def test_a_function_without_a_name_is_numbered():
    def callable2(values):
        return values[0]

    nameless = [lambda values: values[0], functools.partial(np.max), lambda values: values[-1]]
    assert names(nameless) == ["callable1", "callable2", "callable3"]
    with pytest.raises(UnknownStatistic, match="both be called 'callable2'"):
        parse([callable2, *nameless])


def test_two_operations_of_one_name_are_refused():
    with pytest.raises(UnknownStatistic, match="Two operations would both be called 'std'"):
        parse(["std", np.std])


@pytest.mark.parametrize(
    "function",
    [lambda values: values, lambda values: 1j, np.cumsum, lambda values: None, lambda values: "x"],
)
def test_a_function_that_gives_no_number_is_refused(function):
    with pytest.raises(CannotFold, match="It must give one number"):
        folded(function, np.ones((3, 3)))


def test_what_a_function_raises_reaches_the_caller():
    def broken(values):
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        folded(broken, np.ones((2, 2)))


@pytest.mark.parametrize("operation", [3, None, ["mean", 3], b"mean"])
def test_what_is_neither_a_name_nor_a_function_is_refused(operation):
    with pytest.raises(UnknownStatistic, match="An operation is a name or a function, not"):
        parse(operation)
