"""Statistics computed for all runs at once equal those computed for each run alone."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runfold._logdir.series import Series
from runfold._tables.by_run.tag_statistics import Curves

POINT = st.tuples(st.integers(-3, 6), st.sampled_from([0.0, 1.0, -2.5, 7.0, math.nan, math.inf]))
MANY = st.lists(st.lists(POINT, min_size=1, max_size=8), min_size=1, max_size=5)


def join(many):
    series = [
        Series("", "", *(np.array(column, dtype) for column, dtype in _columns(points)))
        for points in many
    ]
    return Curves.of([2 * row for row in range(len(many))], series)


def _columns(points):
    steps, values = zip(*points, strict=True)
    return (steps, np.int64), (values, np.float64), (values, np.float64)


def one_by_one(many, number):
    """Return a function's results for the sorted points of each series, except None."""
    values = [number(sorted(points, key=lambda point: point[0])) for points in many]
    return {2 * row: value for row, value in enumerate(values) if value is not None}


def same(result, expected):
    rows, values = result
    assert rows.tolist() == list(expected)
    np.testing.assert_array_equal(values, list(expected.values()))


def values_of(points):
    return [value for _, value in points if not math.isnan(value)]


@given(MANY)
def test_ends_and_extremes(many):
    curves = join(many)
    same(curves.last(), one_by_one(many, lambda points: points[-1][1]))
    same(curves.first(), one_by_one(many, lambda points: points[0][1]))
    same(curves.last_step(), one_by_one(many, lambda points: points[-1][0]))
    same(curves.min(), one_by_one(many, lambda points: min(values_of(points), default=math.nan)))
    same(curves.max(), one_by_one(many, lambda points: max(values_of(points), default=math.nan)))


@given(MANY)
def test_mean_ignores_nan(many):
    rows, means = join(many).mean()
    expected = [np.mean(values_of(points)) if values_of(points) else math.nan for points in many]
    assert rows.tolist() == [2 * row for row in range(len(many))]
    np.testing.assert_allclose(means, expected)


@given(MANY)
def test_area_equals_that_of_numpy(many):
    def area(points):
        steps, values = zip(*points, strict=True)
        with np.errstate(invalid="ignore"):
            return np.trapezoid(values, steps) if len(points) > 1 else None

    rows, areas = join(many).auc()
    expected = one_by_one(many, area)
    assert rows.tolist() == list(expected)
    np.testing.assert_allclose(areas, list(expected.values()))


@given(MANY, st.booleans())
def test_best_step_is_the_first_with_the_best_value(many, is_lowest):
    def step(points):
        numbers = values_of(points)
        best = (min if is_lowest else max)(numbers, default=None)
        return next((step for step, value in points if value == best), None)

    same(join(many).best_step(is_lowest), one_by_one(many, step))


@given(MANY, st.integers(-4, 7))
def test_value_at_a_step_is_the_last_up_to_it(many, step):
    def value(points):
        before = [value for at, value in points if at <= step]
        return before[-1] if before and points[-1][0] >= step else None

    same(join(many).at(step), one_by_one(many, value))
