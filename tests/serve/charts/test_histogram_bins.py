"""Histograms on shared bins and as quantiles, compared with TensorBoard and plain arithmetic."""

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


def test_a_bucket_without_width_is_in_one_bin():
    edges = np.array([0.0, 1.0, 2.0])
    assert resample(buckets((1, 1, 3), (2, 2, 4)), edges).tolist() == [0, 7]


def test_histograms_of_different_ranges_share_their_edges():
    edges = share_edges([buckets((-1, 0, 1)), buckets((2, 3, 1)), buckets()], 4)
    assert edges.tolist() == [-1, 0, 1, 2, 3]


def test_a_constant_gets_bins_around_it():
    histogram = buckets((7, 7, 100))
    edges = share_edges([histogram], 3)
    assert edges[0] < 7 < edges[-1]
    assert resample(histogram, edges).tolist() == [0, 100, 0]


def test_an_empty_histogram_has_bins_and_no_quantiles():
    nothing = buckets()
    assert share_edges([nothing], 2).tolist() == [0, 0.5, 1]
    assert resample(nothing, np.array([0, 0.5, 1])).tolist() == [0, 0]
    assert np.isnan(find_quantiles(nothing)).all()


def test_values_outside_the_axis_are_counted_separately():
    histogram = buckets((-np.inf, 0, 2), (0, 1, 3), (1, np.inf, 4), (-np.inf, np.nan, 5))
    assert histogram.outside == 5
    assert resample(histogram, share_edges([histogram], 2)).tolist() == [3.5, 5.5]


def test_invalid_counts_are_left_out():
    histogram = buckets((0, 1, np.nan), (1, 2, -3), (2, 3, np.inf), (3, 4, 1))
    assert share_edges([histogram], 1).tolist() == [3, 4]


def test_the_largest_floats_do_not_overflow():
    most = np.finfo(float).max
    histogram = buckets((-most, most, 8))
    edges = share_edges([histogram], 4)
    assert np.isfinite(edges).all()
    np.testing.assert_allclose(resample(histogram, edges), 2)
    assert np.isfinite(find_quantiles(histogram)).all()


@pytest.mark.parametrize("seed", range(5))
def test_quantiles_match_tensorboard(seed):
    rng = np.random.default_rng(seed)
    counts, edges = np.histogram(rng.normal(size=1000), 30)
    # TensorBoard continues to the next non-empty bucket. Without empty buckets, both agree.
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
    histogram = buckets(*rows)
    edges = share_edges([histogram], bins)
    spread = resample(histogram, edges)
    assert np.isfinite(edges).all()
    assert (edges[1:] >= edges[:-1]).all()
    assert (spread >= -1e-6).all()
    np.testing.assert_allclose(spread.sum(), histogram.counts.sum(), rtol=1e-9)
    quantiles = find_quantiles(histogram)
    assert np.isnan(quantiles).all() if not len(histogram.counts) else np.isfinite(quantiles).all()
