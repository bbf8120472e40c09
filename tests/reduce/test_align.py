"""Alignment of runs with different steps, compared with pandas."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runfold._reduce.align import Aligned, align, range_of
from runfold._reduce.curve_points import Points

values = st.floats(-1e6, 1e6) | st.sampled_from([np.inf, -np.inf])
run = st.dictionaries(st.integers(-50, 50), values, min_size=1, max_size=20)
runs = st.lists(run, min_size=1, max_size=5)


def points(*runs: dict[int, float]) -> list[Points]:
    made = []
    for number, run in enumerate(runs):
        x = np.array(sorted(run), np.int64)
        made.append(Points(f"run-{number}", x, x * 2.0 + number, np.array([run[i] for i in x])))
    return made


def series(*runs: dict[int, float]) -> list[pd.Series]:
    return [pd.Series(run, dtype=float).sort_index() for run in runs]


def check(aligned: Aligned, expected: list[pd.Series]) -> None:
    table = pd.concat(expected, axis=1)
    assert aligned.x.tolist() == table.index.tolist()
    present = np.ones_like(aligned.values, bool) if aligned.present is None else aligned.present
    assert (present == table.notna().to_numpy().T).all()
    np.testing.assert_allclose(aligned.values[present], table.to_numpy().T[present], rtol=1e-9)
    assert np.isnan(aligned.values[~present]).all()


def within(run: pd.Series, filled: pd.Series) -> pd.Series:
    """Return the values between the first and last point of a run."""
    return filled.where((filled.index >= run.index[0]) & (filled.index <= run.index[-1]))


def grid(runs: list[pd.Series]) -> pd.Index:
    return pd.concat(runs, axis=1).index.sort_values()


@given(runs)
def test_union_is_the_outer_join(runs):
    made = series(*runs)
    check(align(points(*runs), "union"), [run.reindex(grid(made)) for run in made])


@given(runs)
def test_intersection_is_the_inner_join(runs):
    made = series(*runs)
    joined = pd.concat(made, axis=1, join="inner").sort_index()
    aligned = align(points(*runs), "intersection")
    check(aligned, [joined[column] for column in joined])
    assert aligned.dropped == len(grid(made)) - len(joined)


@given(runs)
def test_ffill_carries_the_last_value_up_to_the_end_of_the_run(runs):
    made = series(*runs)
    filled = [within(run, run.reindex(grid(made)).ffill()) for run in made]
    check(align(points(*runs), "ffill"), filled)


@given(runs)
def test_nearest_uses_the_nearer_point_or_the_earlier_of_two(runs):
    made = series(*runs)
    filled = []
    for run in made:
        near = [min(run.index, key=lambda step: (abs(step - x), step)) for x in grid(made)]
        filled.append(within(run, pd.Series(run[near].to_numpy(), grid(made))))
    check(align(points(*runs), "nearest"), filled)


finite_runs = st.lists(
    st.dictionaries(st.integers(-50, 50), st.floats(-1e6, 1e6), min_size=1, max_size=20),
    min_size=1,
    max_size=5,
)


@given(finite_runs)
def test_interpolate_is_linear_inside_a_run_and_missing_outside(runs):
    made = series(*runs)
    filled = [
        within(run, pd.Series(np.interp(grid(made), run.index, run), grid(made))) for run in made
    ]
    aligned = align(points(*runs), "interpolate")
    check(aligned, filled)


def test_interpolate_keeps_a_value_next_to_an_infinite_one():
    aligned = align(points({0: 1.0, 10: np.inf, 20: 3.0}, {5: 0.0, 20: 0.0}), "interpolate")
    assert aligned.x.tolist() == [0, 5, 10, 20]
    assert aligned.values[0, [0, 2, 3]].tolist() == [1.0, np.inf, 3.0]


@pytest.mark.parametrize("how", ["union", "nearest", "ffill", "interpolate"])
def test_steps_as_far_apart_as_int64_allows_are_kept_exactly(how):
    low, high = -(2**63), 2**63 - 1
    aligned = align(points({low: 1.0, high: 2.0}, {low + 1: 3.0, high - 1: 4.0}), how)
    assert aligned.x.tolist() == [low, low + 1, high - 1, high]
    if how != "union":
        assert aligned.values[0].tolist()[::3] == [1.0, 2.0]
        assert aligned.present.tolist() == [[True] * 4, [False, True, True, False]]


def test_nearest_uses_the_true_distance_over_the_widest_range():
    low, high = -(2**63), 2**63 - 1
    aligned = align(points({low: 1.0, high: 2.0}, {low: 0.0, 10: 0.0, high: 0.0}), "nearest")
    assert aligned.values[0].tolist() == [1.0, 2.0, 2.0]


def test_runs_with_the_same_steps_need_no_mask():
    aligned = align(points({0: 1.0, 1: 2.0}, {0: 3.0, 1: 4.0}), "union")
    assert aligned.present is None
    assert aligned.values.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_wall_times_are_the_mean_over_the_present_runs():
    first, second = points({0: 1.0, 1: 1.0}, {1: 1.0, 2: 1.0})
    first.wall_times[:] = [1.7e9, 1.7e9 + 10]
    second.wall_times[:] = [1.7e9 + 11, np.nan]
    aligned = align([first, second], "union")
    assert aligned.wall_times[:2].tolist() == [1.7e9, 1.7e9 + 10.5]
    assert np.isnan(aligned.wall_times[2])


@given(finite_runs, st.integers(1, 12))
def test_bins_contain_the_mean_of_each_runs_points(runs, count):
    made = points(*runs)
    bins = range_of(made, count)
    aligned = align(made, "bins", bins)
    low, high = int(bins.low), int(bins.high)
    width = (high - low + 1) / bins.bins
    for row, run in enumerate(runs):
        kept: dict[int, list[float]] = {}
        for step, value in run.items():
            kept.setdefault(int((step - low) / width), []).append(value)
        middles = [low + round((number + 0.5) * width - 0.5) for number in sorted(kept)]
        assert aligned.x[aligned.present[row]].tolist() == middles
        means = [np.mean(kept[number]) for number in sorted(kept)]
        np.testing.assert_allclose(
            aligned.values[row, aligned.present[row]], means, rtol=1e-9, atol=1e-6
        )


def test_number_of_bins_is_limited_to_the_number_of_steps():
    made = points({0: 1.0, 1: 2.0, 3: 4.0})
    aligned = align(made, "bins", range_of(made, 100))
    assert aligned.x.tolist() == [0, 1, 3]
    assert aligned.values.tolist() == [[1.0, 2.0, 4.0]]


def test_bins_of_a_real_axis_are_placed_at_their_middle():
    run = Points("a", np.array([0.0, 1.0, 9.0, 10.0]), np.zeros(4), np.array([1.0, 3.0, 5.0, 7.0]))
    aligned = align([run], "bins", range_of([run], 2))
    assert aligned.x.tolist() == [2.5, 7.5]
    assert aligned.values.tolist() == [[2.0, 6.0]]


def test_bins_over_the_full_range_of_int64():
    ends = {-(2**63): 1.0, 5: 2.0, 2**63 - 1: 3.0}
    both = points(ends, ends)
    aligned = align(both, "bins", range_of(both, 4))
    quarter = 2**62
    assert aligned.x.tolist() == [-quarter - quarter // 2, quarter // 2, quarter + quarter // 2]
    assert aligned.values[0].tolist() == [1.0, 2.0, 3.0]
