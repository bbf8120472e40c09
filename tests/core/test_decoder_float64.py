"""Scalars with a float64 in Runfold's own field: when it is used, and when `simple_value` is."""

import struct

import numpy as np
import pytest
from helpers.decoding import codes, points, read, value
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

from runfold._core.encoder import EventBuffer, frame
from runfold._core.event import NoteCode

KEY = b"\xc1\x42"  # field number 1064, eight bytes
NAN = float("nan")
TENSOR = b"\x42\x08\x08\x01\x2a\x04" + struct.pack("<f", 2.5)
METADATA = b"\x4a\x06\x12\x04Loss"


def float64(number: float) -> bytes:
    return KEY + struct.pack("<d", number)


def decode(message: bytes) -> list[tuple[int, float, float]]:
    """Return the points of the tag "a" in a file of one event with this value."""
    buffer = EventBuffer()
    buffer.value(message, 3, 2.0)
    reading = read(buffer.getvalue())
    assert reading.notes == []
    return points(reading, "a") if "a" in reading.scalars else []


def number(message: bytes) -> float:
    ((_, _, stored),) = decode(message)
    return stored


@given(st.floats())
def test_a_float64_that_rounds_to_the_simple_value_is_used(expected: float) -> None:
    with np.errstate(over="ignore"):
        simple = value("a", float(np.float32(expected)))
    for message in (
        simple + float64(expected),
        float64(expected) + simple,
        simple + METADATA + float64(expected),
        simple + float64(7.0) + float64(expected),
    ):
        np.testing.assert_array_equal(number(message), expected)
        assert np.signbit(number(message)) == np.signbit(expected) or np.isnan(expected)


@pytest.mark.parametrize(
    ("simple", "other"),
    [(1.0, 2.0), (0.1, 0.1 + 1e-8), (0.0, -0.0), (NAN, 1.0), (1.0, NAN), (1.0, np.inf)],
)
def test_a_float64_that_does_not_round_to_the_simple_value_is_ignored(
    simple: float, other: float
) -> None:
    stored = number(value("a", simple) + float64(other))
    np.testing.assert_array_equal(stored, float(np.float32(simple)))
    assert not np.signbit(stored)


def test_the_last_simple_value_and_float64_are_used() -> None:
    assert number(value("a", 0.5) + float64(0.1) + value("a", 0.1)) == 0.1
    assert number(value("a", 0.5) + float64(0.5) + float64(0.1)) == 0.5


@pytest.mark.parametrize(
    "field",
    [
        b"\xc0\x42\x05",  # a varint
        b"\xc2\x42\x08" + struct.pack("<d", 0.1),  # bytes
        b"\xc5\x42" + struct.pack("<f", 0.1),  # a float32
        b"\xc3\x42" + float64(0.1) + b"\xc4\x42",  # a group that contains the field
        b"\xc9\x42" + struct.pack("<d", 0.1),  # field number 1065
    ],
)
def test_the_field_in_another_wire_type_is_skipped(field: bytes) -> None:
    assert number(value("a", 0.1) + field) == float(np.float32(0.1))


def test_a_float64_alone_is_not_a_scalar() -> None:
    assert decode(b"\x0a\x01a" + float64(0.1)) == []


def test_a_float64_next_to_a_tensor_is_ignored() -> None:
    assert number(value("a", 2.5) + TENSOR + float64(2.5 + 1e-9)) == 2.5


def test_a_truncated_float64_makes_the_event_malformed() -> None:
    message = value("a", 0.1) + float64(0.1)[:-1]
    summary = b"\x0a" + bytes([len(message)]) + message
    reading = read(frame(b"\x2a" + bytes([len(summary)]) + summary))
    assert codes(reading) == [NoteCode.MALFORMED_EVENT]
    assert reading.scalars == {}


def test_each_value_of_an_event_has_its_own_float64() -> None:
    buffer = EventBuffer()
    buffer.summary([value("a", 0.1) + float64(0.1), value("b", 0.1)], 1, 2.0)
    reading = read(buffer.getvalue())
    assert points(reading, "a") == [(1, 2.0, 0.1)]
    assert points(reading, "b") == [(1, 2.0, float(np.float32(0.1)))]


@pytest.mark.parametrize("rewritten", [None, 0.5])
def test_a_message_rewritten_by_another_program_is_read(rewritten: float | None) -> None:
    """A program that uses protobuf keeps the field, whatever it does with the rest."""
    message = Summary.Value.FromString(value("a", 0.1) + float64(0.1))
    message.metadata.display_name = "Loss"
    if rewritten is not None:
        message.simple_value = rewritten
    event = Event(wall_time=2.0, step=3, summary=Summary(value=[message]))
    reading = read(frame(event.SerializeToString()))
    assert points(reading, "a") == [(3, 2.0, 0.1 if rewritten is None else rewritten)]
