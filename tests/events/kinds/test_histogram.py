"""Histograms: buckets as TensorBoard shows them, from the old and the new format."""

from contextlib import suppress

import numpy as np
import pytest
import tensorboardX
from helpers.kind_values import new_form, tensor_value, written
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from torch.utils import tensorboard as torch_tensorboard

from runfold._events.kinds import histogram

WRITERS = [torch_tensorboard.SummaryWriter, tensorboardX.SummaryWriter]
DATA = np.random.default_rng(7).normal(size=500)
LARGEST = float(np.finfo(np.float64).max)


def old(limits, counts, low=0.0, high=0.0, **totals):
    proto = HistogramProto(bucket_limit=limits, bucket=counts, min=low, max=high, **totals)
    return Summary.Value(tag="h", histo=proto).SerializeToString()


def rows(got):
    return np.stack([got.left, got.right, got.counts], axis=1).tolist()


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("bins", ["tensorflow", "auto"])
def test_a_writers_histogram_matches_tensorboards_conversion(writer, bins, tmp_path):
    values = written(writer, tmp_path, lambda w: w.add_histogram("h", DATA, 0, bins=bins))
    got = histogram.decode(values["h"][0])
    shown = histogram.decode(new_form(values["h"][0]))
    for name in ("left", "right", "counts"):
        np.testing.assert_array_equal(
            getattr(got, name).astype(np.float32), getattr(shown, name).astype(np.float32)
        )
    assert (got.min, got.max, got.num) == (DATA.min(), DATA.max(), 500)
    assert got.counts.sum() == got.num == shown.num
    np.testing.assert_allclose([got.sum, got.sum_squares], [DATA.sum(), (DATA**2).sum()])


def test_a_new_histogram_is_returned_as_stored():
    (value,) = histogram_pb("h", DATA, buckets=12).value
    got = histogram.decode(value.SerializeToString())
    assert got.left.tolist() == np.linspace(DATA.min(), DATA.max(), 13)[:-1].tolist()
    assert (got.min, got.max, got.num, len(got.counts)) == (DATA.min(), DATA.max(), 500, 12)
    assert np.isnan([got.sum, got.sum_squares]).all()


def test_outermost_limits_are_replaced_by_min_and_max():
    value = old([-1, 0, 1, 2, LARGEST], [0, 2, 0, 3, 0], low=-0.5, high=1.5)
    assert rows(histogram.decode(value)) == [[-0.5, 0, 2], [0, 1, 0], [1, 1.5, 3]]


def test_an_empty_histogram_has_no_buckets_in_either_format():
    empty_buckets = histogram.decode(old([1, 2], [0, 0]))
    no_rows = histogram.decode(tensor_value(np.zeros((0, 3)), "histograms"))
    assert rows(empty_buckets) == rows(no_rows) == []
    assert (empty_buckets.num, no_rows.num) == (0, 0)
    assert np.isnan([no_rows.min, no_rows.max]).all()


def test_totals_of_a_new_histogram_ignore_empty_buckets():
    buckets = np.array([[0, 1, 0], [1, 2, 4], [2, 3, 0], [3, 4, 1], [4, 5, 0]], np.float32)
    got = histogram.decode(tensor_value(buckets, "histograms"))
    assert (got.min, got.max, got.num) == (1, 4, 5)
    assert rows(got) == buckets.tolist()


def test_rows_match_value_numbers_in_mixed_formats():
    buckets = np.array([[0.0, 1, 2], [1, 2, 3]])
    values = [
        old([1, 2], [1, 1], 0, 2),
        tensor_value(buckets, "histograms"),
        old([1, 2], [1]),
        b"\x0a\xff",
        old([5], [9], 4, 5, num=9, sum=41, sum_squares=188),
        Summary.Value(tag="h", simple_value=1).SerializeToString(),
        tensor_value(np.zeros((0, 3)), "histograms"),
    ]
    got, errors = histogram.decode_many(values)
    assert [rows(got[row]) for row in range(len(got))] == [
        [[0, 1, 1], [1, 2, 1]],
        buckets.tolist(),
        [],
        [],
        [[4, 5, 9]],
        [],
        [],
    ]
    assert (got[4].min, got[4].max, got[4].num, got[4].sum, got[4].sum_squares) == (
        4,
        5,
        9,
        41,
        188,
    )
    assert [index for index, _ in errors] == [2, 3, 5]
    assert "differ in length" in errors[0][1]
    assert "contains a simple value" in errors[2][1]


def test_no_values_give_no_rows():
    got, errors = histogram.decode_many([])
    assert (len(got), errors) == (0, [])


@pytest.mark.parametrize("shape", [(3,), (4, 2), (1, 3, 3), ()])
def test_tensors_of_other_shapes_are_rejected(shape):
    with pytest.raises(ValueError, match="rows of left, right and count, got"):
        histogram.decode(tensor_value(np.zeros(shape), "histograms"))


@given(st.lists(st.lists(st.integers(0, 3), max_size=5), max_size=6))
def test_buckets_match_tensorboards_conversion(many):
    values = [old(list(range(1, len(c) + 1)), c, 0.5, len(c) - 0.25) for c in many]
    got, errors = histogram.decode_many(values)
    assert not errors
    for row, value in enumerate(values):
        assert rows(got[row]) == rows(histogram.decode(new_form(value)))


@given(st.lists(st.binary(), max_size=4))
def test_arbitrary_bytes_are_errors_or_rows(values):
    got, errors = histogram.decode_many(values)
    assert len(got) == len(values)
    for index, value in enumerate(values):
        with suppress(ValueError):
            histogram.decode(value)
            assert index not in dict(errors)


def test_a_truncated_value_is_an_error_or_a_row():
    for whole in (old([1, 2], [1, 1], 0, 2), tensor_value(np.ones((2, 3)), "histograms")):
        for end in range(len(whole)):
            with suppress(ValueError):
                histogram.decode(whole[:end])
