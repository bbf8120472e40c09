"""The available operations: names, NumPy's reductions and functions."""

import functools
import statistics

import numpy as np
import pytest
import scipy.stats
from helpers.samples import FINITE, assert_equal, entering, folded, tables
from hypothesis import given

from runfold._reduce.operations import parse
from runfold._reduce.statistics import CENTERS, STATISTICS
from runfold.errors import CannotFold, UnknownStatistic


def spread(values):
    return values.max(axis=0) - values.min(axis=0)


def names(operations):
    return [statistic.name for statistic in parse(operations)]


def test_string_can_contain_several_names_and_duplicates_are_dropped():
    assert names("mean, std,,mean") == ["mean", "std"]
    assert names(["q05,std", "mean", spread, "std", spread]) == ["q05", "std", "mean", "spread"]
    columns = [statistic.columns for statistic in parse("ci95,ci99.5-t,median")]
    assert columns == [("ci95-low", "ci95-high"), ("ci99.5-t-low", "ci99.5-t-high"), ("median",)]


@pytest.mark.parametrize("operations", ["", " , ", [], ()])
def test_no_operation_raises(operations):
    with pytest.raises(UnknownStatistic, match=r"No operation was specified\. Available: mean"):
        parse(operations)


@pytest.mark.parametrize(
    ("name", "similar"),
    [("menn", "mean"), ("stdev", "std"), ("Max", "max"), ("ci95t", "ci95-t"), ("ppt", "ptp")],
)
def test_unknown_name_lists_similar_names(name, similar):
    with pytest.raises(UnknownStatistic, match=f"No operation '{name}'. Did you mean '{similar}'"):
        parse(["mean", name])


def test_unknown_name_without_similar_names_lists_the_kinds():
    with pytest.raises(UnknownStatistic) as caught:
        parse("zzz\x1b")
    *intervals, last = sorted(f"ci95-{center}" for center in CENTERS if center != "mean")
    assert str(caught.value) == (
        f"No operation 'zzz\\x1b'. Available: {', '.join(STATISTICS)}, quantiles such as q05, "
        f"intervals such as {', '.join(['ci95', 'ci95-t', *intervals])} and {last}, "
        "and NumPy's reductions such as ptp."
    )


@pytest.mark.parametrize("name", ["q101", "q100.1", "ci0", "ci100", "ci100-t"])
def test_percentage_out_of_range_raises(name):
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
def test_function_that_does_not_reduce_an_axis_raises(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnknownStatistic, match="No operation"):
        parse(name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["ptp", "nanmedian", "prod", "nanstd", "count_nonzero", "amax"])
@given(table=tables(FINITE))
def test_numpy_reductions_receive_only_present_values(name, table):
    expected = [getattr(np, name)(column) if len(column) else np.nan for column in entering(*table)]
    np.testing.assert_allclose(folded(name, *table)[name], expected, rtol=1e-9, atol=1e-9)


def test_index_of_a_run_refers_to_all_runs():
    values = np.array([[1.0, 9.0], [5.0, np.nan], [7.0, 8.0]])
    present = np.array([[False, True], [True, True], [True, True]])
    got = folded("argmax,argmin", values, present)
    assert (got["argmax"].tolist(), got["argmin"].tolist()) == ([2, 0], [1, 2])


@pytest.mark.parametrize(
    "function",
    [
        spread,  # all steps at once
        np.ptp,  # all steps at once, because it has an axis argument
        functools.partial(np.quantile, q=0.3),
        scipy.stats.iqr,
        lambda values: values.mean(),  # one step at a time
        lambda values: values.sum(axis=-1),  # given two axes, reduces the other one
        lambda values: np.atleast_1d(values.max()),
        statistics.median,
        max,
        sum,
        lambda values: float(values[0] > 3),
    ],
)
@given(table=tables(FINITE, runs=4))
def test_function_gives_the_same_result_as_for_single_steps(function, table):
    expected = [
        float(np.asarray(function(column)).item()) if len(column) else np.nan
        for column in entering(*table)
    ]
    (got,) = folded(function, *table).values()
    assert_equal(got, expected)


def test_function_can_modify_its_argument():
    def raised(values):
        values += 1
        return np.atleast_1d(values.max())

    values = np.array([[3.0, 1.0], [2.0, 5.0], [1.0, 4.0]])
    assert folded(raised, values)["raised"].tolist() == [4.0, 6.0]
    assert values.tolist() == [[3.0, 1.0], [2.0, 5.0], [1.0, 4.0]]


def test_function_without_a_name_is_numbered():
    def callable2(values):
        return values[0]

    nameless = [lambda values: values[0], functools.partial(np.max), lambda values: values[-1]]
    assert names(nameless) == ["callable1", "callable2", "callable3"]
    with pytest.raises(UnknownStatistic, match="have the name 'callable2'"):
        parse([callable2, *nameless])


def test_two_operations_with_the_same_name_raise():
    with pytest.raises(UnknownStatistic, match="Two operations have the name 'std'"):
        parse(["std", np.std])


@pytest.mark.parametrize(
    "function",
    [lambda values: values, lambda values: 1j, np.cumsum, lambda values: None, lambda values: "x"],
)
def test_function_that_does_not_return_a_number_raises(function):
    with pytest.raises(CannotFold, match="It must return one number"):
        folded(function, np.ones((3, 3)))


def test_exception_of_a_function_reaches_the_caller():
    def broken(values):
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        folded(broken, np.ones((2, 2)))


@pytest.mark.parametrize("operation", [3, None, ["mean", 3], b"mean"])
def test_operation_that_is_neither_a_name_nor_a_function_raises(operation):
    with pytest.raises(UnknownStatistic, match="Expected an operation name or a function, got"):
        parse(operation)
