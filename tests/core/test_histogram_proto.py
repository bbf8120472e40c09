"""Many histograms, compared with protobuf's reader and with real writers."""

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import HistogramProto
from tensorboardX import summary as tensorboard_x

from runfold._core.histogram_proto import decode_histograms, is_valid_histogram

TOTALS = ["min", "max", "num", "sum", "sum_squares"]
numbers = st.floats(allow_nan=False)
histograms = st.builds(
    lambda totals, buckets: HistogramProto(
        **dict(zip(TOTALS, totals, strict=True)),
        bucket_limit=[limit for limit, _ in buckets],
        bucket=[count for _, count in buckets],
    ),
    st.tuples(*[numbers] * 5),
    st.lists(st.tuples(numbers, numbers), max_size=5),
)


def serialized(**fields: Any) -> bytes:
    data: bytes = HistogramProto(**fields).SerializeToString()
    return data


def single(field: int, value: float) -> bytes:
    """Return one number as a separate field, as it was written before fields were packed."""
    return bytes([field << 3 | 1]) + struct.pack("<d", value)


GOOD = serialized(min=-1, max=2, num=3, sum=4, sum_squares=5, bucket_limit=[0, 2], bucket=[1, 2])


@given(st.lists(histograms, max_size=5))
def test_columns_match_protobuf(messages: list[HistogramProto]) -> None:
    columns = decode_histograms([message.SerializeToString() for message in messages])
    assert columns.valid.all()
    for name in TOTALS:
        assert getattr(columns, name).tolist() == [getattr(message, name) for message in messages]
    lengths = [len(message.bucket) for message in messages]
    assert columns.offsets.tolist() == np.cumsum([0, *lengths]).tolist()
    assert columns.right_edges.tolist() == [x for message in messages for x in message.bucket_limit]
    assert columns.counts.tolist() == [x for message in messages for x in message.bucket]


def test_a_histogram_of_tensorboard_x_is_read_completely() -> None:
    values = np.random.default_rng(0).normal(size=1000)
    message = tensorboard_x.histogram("weights", values, bins="auto").value[0].histo
    columns = decode_histograms([message.SerializeToString()])
    assert columns.num.tolist() == [1000]
    assert columns.min.tolist() == [values.min()]
    assert columns.counts.tolist() == list(message.bucket)
    assert columns.right_edges.tolist() == list(message.bucket_limit)
    assert columns.counts.sum() == 1000


def test_numbers_can_be_packed_single_or_mixed() -> None:
    mixed = serialized(bucket_limit=[1, 2], bucket=[5]) + single(6, 3) + single(7, 6) + single(7, 7)
    columns = decode_histograms([mixed])
    assert columns.right_edges.tolist() == [1, 2, 3]
    assert columns.counts.tolist() == [5, 6, 7]


def test_unequal_lengths_and_malformed_bytes_are_invalid_and_do_not_affect_others() -> None:
    bad = [
        serialized(num=1, bucket_limit=[1, 2], bucket=[1]),
        serialized(num=1, bucket=[1]),
        GOOD[:-1],
        b"\x32\x07" + bytes(7),
        b"\xff" * 12,
    ]
    columns = decode_histograms([GOOD, *bad, GOOD])
    assert columns.valid.tolist() == [True, *[False] * len(bad), True]
    assert columns.offsets.tolist() == [0, *[2] * (len(bad) + 1), 4]
    assert columns.right_edges.tolist() == [0, 2, 0, 2]
    assert columns.counts.tolist() == [1, 2, 1, 2]
    for name in TOTALS:
        assert np.isnan(getattr(columns, name)).tolist() == [False, *[True] * len(bad), False]
    assert [is_valid_histogram(data) for data in [GOOD, *bad]] == [True, *[False] * len(bad)]


def test_no_histograms_and_empty_histograms_are_valid() -> None:
    assert decode_histograms([]).offsets.tolist() == [0]
    columns = decode_histograms([b""])
    assert columns.valid.tolist() == [True]
    assert columns.num.tolist() == [0]
    assert columns.right_edges.size == columns.counts.size == 0


def test_nan_and_infinity_are_kept() -> None:
    columns = decode_histograms(
        [serialized(min=-np.inf, max=np.nan, bucket_limit=[np.inf], bucket=[np.nan])]
    )
    assert columns.valid.all()
    assert columns.min[0] == -np.inf
    assert columns.right_edges[0] == np.inf
    assert np.isnan(columns.max[0])
    assert np.isnan(columns.counts[0])


def test_unknown_fields_are_skipped() -> None:
    columns = decode_histograms([b"\x42\x03abc" + GOOD + b"\x48\x01"])
    assert columns.num.tolist() == [3]


def test_any_buffer_is_a_message_but_a_number_is_not() -> None:
    columns = decode_histograms([bytearray(GOOD), memoryview(b"x" + GOOD)[1:]])
    assert columns.valid.all()
    with pytest.raises(TypeError):
        decode_histograms([8])


def test_a_histogram_cut_at_any_byte_does_not_crash() -> None:
    cut = [GOOD[:end] for end in range(len(GOOD))]
    columns = decode_histograms(cut)
    assert columns.valid.tolist() == [is_valid_histogram(data) for data in cut]
    assert columns.offsets[-1] == columns.counts.size == columns.right_edges.size


@given(st.lists(st.binary(max_size=60), max_size=5))
def test_arbitrary_bytes_do_not_crash(messages: list[bytes]) -> None:
    columns = decode_histograms(messages)
    assert columns.valid.tolist() == [is_valid_histogram(message) for message in messages]
    assert (np.diff(columns.offsets)[~columns.valid] == 0).all()
