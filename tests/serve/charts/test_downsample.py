"""Downsampling many series at once preserves their appearance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runfold._serve.charts.downsample import SeriesBatch

LENGTHS = st.shared(st.lists(st.integers(0, 120), min_size=1, max_size=5), key="lengths")
TOTALS = LENGTHS.map(sum)


def split(batch: SeriesBatch) -> list[list[tuple[Any, ...]]]:
    """Return the points of each series, as tuples."""
    points = list(zip(batch.x.tolist(), *(c.tolist() for c in batch.columns), strict=True))
    return [points[a:b] for a, b in zip(batch.offsets[:-1], batch.offsets[1:], strict=True)]


def stack_of(lengths: list[int], x: np.ndarray, *columns: np.ndarray) -> SeriesBatch:
    return SeriesBatch(x, columns, np.cumsum([0, *lengths])).in_order()


def test_few_points_are_unchanged() -> None:
    batch = SeriesBatch.of([(np.arange(8), np.arange(8.0)), (np.arange(3), np.zeros(3))])
    assert batch.thin(2) is batch


def test_short_series_is_kept_whole_next_to_a_long_one() -> None:
    batch = SeriesBatch.of([(np.arange(1000), np.arange(1000.0)), (np.arange(8), np.zeros(8))])
    assert batch.thin(2).counts.tolist() == [4, 8]


def test_spikes_gaps_and_infinities_of_each_series_are_kept() -> None:
    values = np.sin(np.arange(100_000) / 1e4)
    other = values.copy()
    values[31_234], values[50_000:50_010], values[77_777] = 9, np.nan, -9
    other[5_432], other[6_543] = np.inf, -np.inf
    thinned = SeriesBatch.of([(np.arange(100_000), y) for y in (values, other)]).thin(100)
    assert all(count <= 407 for count in thinned.counts)
    first, second = ({x for x, _ in points} for points in split(thinned))
    assert {0, 31_234, 50_000, 77_777, 99_999} <= first
    assert {0, 5_432, 6_543, 99_999} <= second


def test_flat_line_keeps_two_points_per_column() -> None:
    thinned = SeriesBatch.of([(np.arange(1000), np.zeros(1000))]).thin(10)
    assert thinned.x.tolist()[:4] == [0, 99, 100, 199]
    assert len(thinned.x) == 20


@given(
    lengths=LENGTHS,
    x=arrays.arrays(np.float64, TOTALS, elements=st.floats(-1e9, 1e9)),
    values=arrays.arrays(np.float64, TOTALS),
    width=st.integers(1, 12),
)
def test_extremes_of_every_column_of_every_series_are_kept(
    lengths: list[int], x: np.ndarray, values: np.ndarray, width: int
) -> None:
    batch = stack_of(lengths, x, values)
    thinned = split(batch.thin(width))
    for before, after in zip(split(batch), thinned, strict=True):
        if len(before) <= 4 * width:
            assert repr(after) == repr(before)
            continue
        assert len(after) <= 7 * width
        low, high = batch.x.min(), batch.x.max()
        columns: dict[int, list[tuple[float, float]]] = {}
        for point in before:
            share = (point[0] / 2 - low / 2) / ((high / 2 - low / 2) or 1)
            columns.setdefault(min(int(share * width), width - 1), []).append(point)
        kept = {repr(point) for point in after}
        for column in columns.values():
            finite = [point for point in column if np.isfinite(point[1])]
            must = [column[0], column[-1]]
            if finite:
                must += [min(finite, key=lambda p: p[1]), max(finite, key=lambda p: p[1])]
            must += [next(p for p in column if np.isnan(p[1])) for p in column if np.isnan(p[1])]
            assert {repr(point) for point in must} <= kept


@given(
    lengths=LENGTHS,
    x=arrays.arrays(np.int64, TOTALS, elements=st.integers(-50, 50)),
    ends=st.tuples(st.floats(-60, 60), st.floats(-60, 60)).map(sorted),
)
def test_window_keeps_the_points_inside_and_a_neighbor_on_each_side(
    lengths: list[int], x: np.ndarray, ends: list[float]
) -> None:
    batch = stack_of(lengths, x, np.arange(float(len(x))))
    low, high = ends
    for before, after in zip(split(batch), split(batch.within((low, high))), strict=True):
        left = [point for point in before if point[0] < low]
        right = [point for point in before if point[0] > high]
        inside = [point for point in before if low <= point[0] <= high]
        assert after == left[-1:] + inside + right[:1]


def test_unsorted_series_are_sorted_and_equal_steps_keep_their_order() -> None:
    batch = SeriesBatch.of(
        [
            (np.array([5, 1, 5, 3]), np.array([0.0, 1, 2, 3])),
            (np.array([2, 1]), np.array([4.0, 5])),
        ]
    )
    assert split(batch.in_order()) == [[(1, 1.0), (3, 3.0), (5, 0.0), (5, 2.0)], [(1, 5), (2, 4)]]


def test_steps_over_the_whole_int64_range_are_exact() -> None:
    ends = np.iinfo(np.int64)
    steps = np.linspace(-1, 1, 1001) * 2.0**62
    x = np.concatenate([[ends.min], steps.astype(np.int64), [ends.max - 1, ends.max]])
    thinned = SeriesBatch.of([(x, np.zeros(len(x)))]).thin(2)
    assert thinned.x[[0, -1]].tolist() == [ends.min, ends.max]
    assert len(thinned.x) == 4
    edge = float(ends.max)  # one more than the largest step
    near = SeriesBatch.of([(x, np.zeros(len(x)))]).within((edge, edge))
    assert near.x.tolist() == [ends.max - 1, ends.max]


@pytest.mark.parametrize("is_log", [False, True])
def test_log_axis_gives_each_decade_its_share(is_log: bool) -> None:
    steps = np.arange(100_000)
    thinned = SeriesBatch.of([(steps, np.sin(steps))]).thin(100, is_log=is_log)
    early = np.count_nonzero(thinned.x < 1000)
    assert early > 100 if is_log else early == 4
    assert thinned.x[[0, -1]].tolist() == [0, 99_999]


def test_only_the_first_columns_are_considered() -> None:
    counts = np.arange(1000) % 7
    batch = SeriesBatch.of([(np.arange(1000), np.zeros(1000), counts)])
    assert len(batch.thin(10, looks=1).x) == 20
    assert len(batch.thin(10).x) > 20
