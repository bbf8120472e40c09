"""The Python parser for protobuf fields agrees with protobuf and stays within its bounds."""

import struct

import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.summary_pb2 import HistogramProto, Summary

from runfold._events.wire import BYTES, FIXED64, VARINT, Malformed, NeedMore, fields, span


def test_fields_come_in_stored_order_with_value_or_span():
    raw = Summary.Value(image=Summary.Image(width=300, encoded_image_string=b"abc"))
    data = raw.image.SerializeToString()
    number, blob = fields(data)
    assert (number.number, number.wire_type, number.value) == (2, VARINT, 300)
    assert (blob.number, blob.wire_type) == (4, BYTES)
    assert data[blob.start : blob.stop] == b"abc"


def test_fixed_numbers_are_returned_as_bits():
    (field,) = fields(HistogramProto(min=-1.5).SerializeToString())
    assert (field.number, field.wire_type) == (1, FIXED64)
    assert struct.unpack("<d", struct.pack("<Q", field.value)) == (-1.5,)


def test_groups_are_skipped():
    group = bytes([5 << 3 | 3, 1 << 3, 7, 5 << 3 | 4])
    assert [field.number for field in fields(group + b"\x10\x01")] == [2]


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\x01",  # field number 0
        b"\x0a\x05abc",  # longer than the message
        b"\x08" + b"\xff" * 10,  # more than 64 bits
        b"\x08",  # no value
        b"\x09\x00",  # a truncated number
        b"\x2b",  # a group that is not closed
        b"\x2b\x34",  # a group closed by another number
        b"\x2c",  # the end of a group that was not opened
        b"\x2b" * 100,  # nested too deeply
        b"\x0e",  # no such wire type
    ],
)
def test_malformed_bytes_are_rejected(raw):
    with pytest.raises(Malformed):
        list(fields(raw))


def test_a_span_beyond_the_prefix_raises_need_more():
    with pytest.raises(NeedMore) as more:
        span(b"abc", 1, 7)
    assert more.value.size == 7


@given(st.binary(max_size=40))
def test_what_protobuf_accepts_is_accepted(raw):
    try:
        Summary.Image.FromString(raw)
    except DecodeError:
        return
    list(fields(raw))
