"""Histograms on shared bins and as quantiles, by TensorBoard's own and by plain arithmetic."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.plugins.distribution import compressor

from runfold._events.kinds.histogram import Histogram
from runfold._serve.charts.histogram_bins import (
    QUANTILES,
    Buckets,
    find_quantiles,
    resample,
    share_edges,
)


def buckets(*rows: tuple[float, float, float]) -> Buckets:
    left, right, counts = np.array(rows, float).reshape(-1, 3).T
    return Buckets(Histogram(left, right, counts, *[np.nan] * 5))


def test_buckets_are_spread_evenly_over_the_bins_that_they_cover():
    edges = np.array([0.0, 1.0, 2.0, 4.0])
    spread = resample(buckets((0, 2, 10), (2, 3, 5)), edges)
    assert spread.tolist() == [5, 5, 5]


def test_a_bucket_without_width_falls_into_one_bin():
    edges = np.array([0.0, 1.0, 2.0])
    assert resample(buckets((1, 1, 3), (2, 2, 4)), edges).tolist() == [0, 7]


def test_histograms_of_different_ranges_share_their_edges():
    edges = share_edges([buckets((-1, 0, 1)), buckets((2, 3, 1)), buckets()], 4)
    assert edges.tolist() == [-1, 0, 1, 2, 3]


def test_a_constant_gets_bins_around_it():
    one = buckets((7, 7, 100))
    edges = share_edges([one], 3)
    assert edges[0] < 7 < edges[-1]
    assert resample(one, edges).tolist() == [0, 100, 0]


def test_nothing_has_bins_and_no_quantiles():
    nothing = buckets()
    assert share_edges([nothing], 2).tolist() == [0, 0.5, 1]
    assert resample(nothing, np.array([0, 0.5, 1])).tolist() == [0, 0]
    assert np.isnan(find_quantiles(nothing)).all()


def test_what_has_no_place_is_counted_apart():
    one = buckets((-np.inf, 0, 2), (0, 1, 3), (1, np.inf, 4), (-np.inf, np.nan, 5))
    assert one.outside == 5
    assert resample(one, share_edges([one], 2)).tolist() == [3.5, 5.5]


def test_counts_that_are_no_counts_are_left_out():
    one = buckets((0, 1, np.nan), (1, 2, -3), (2, 3, np.inf), (3, 4, 1))
    assert share_edges([one], 1).tolist() == [3, 4]


def test_the_largest_numbers_there_are_do_not_overflow():
    most = np.finfo(float).max
    one = buckets((-most, most, 8))
    edges = share_edges([one], 4)
    assert np.isfinite(edges).all()
    np.testing.assert_allclose(resample(one, edges), 2)
    assert np.isfinite(find_quantiles(one)).all()


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_are_those_of_tensorboard(seed):
    rng = np.random.default_rng(seed)
    counts, edges = np.histogram(rng.normal(size=1000), 30)
    # TensorBoard reads on to the next bucket that holds something; without gaps both agree.
    rows = np.stack([edges[:-1], edges[1:], counts + 1.0], axis=1)
    theirs = compressor.compress_histogram(rows.tolist())
    ours = find_quantiles(buckets(*map(tuple, rows)))
    assert [bps for bps, _ in theirs] == [round(q * 10_000) for q in QUANTILES]
    np.testing.assert_allclose(ours, [value for _, value in theirs], rtol=1e-9)


@given(
    st.lists(
        st.tuples(st.floats(allow_nan=True), st.floats(allow_nan=True), st.floats(-10, 1e9)),
        max_size=20,
    ),
    st.integers(1, 60),
)
def test_any_histogram_keeps_its_total_and_ordered_quantiles(rows, bins):
    one = buckets(*rows)
    edges = share_edges([one], bins)
    spread = resample(one, edges)
    assert np.isfinite(edges).all()
    assert (edges[1:] >= edges[:-1]).all()
    assert (spread >= -1e-6).all()
    np.testing.assert_allclose(spread.sum(), one.counts.sum(), rtol=1e-9)
    found = find_quantiles(one)
    assert np.isnan(found).all() if not len(one.counts) else np.isfinite(found).all()
