"""Events split and joined again, compared with the original bytes."""

import struct

import numpy as np
import pytest
from helpers.decoding import every_kind
from helpers.decoding import value as simple
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.encoder import EventBuffer, frame
from runfold._core.tag_table import Tags
from runfold._core.template import BROKEN, EVENT, fill, put_together, take_apart

LIMIT = 1 << 20


def event(*values, step=0, wall_time=1.5, extra=b""):
    """Return a serialized event of short values, with a one-byte step even if it is zero."""
    summary = b"".join(b"\x0a" + _length(value) + value for value in values)
    head = struct.pack("<BdBB", 9, wall_time, 0x10, step)
    return head + b"\x2a" + _length(summary) + summary + extra


def float64(number):
    """Return Runfold's field for a float64."""
    return b"\xc1\x42" + struct.pack("<d", number)


def _length(data):
    size = len(data)
    return bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])


def apart(data):
    templates = Tags()
    parts, size = take_apart(data, 0, templates, LIMIT)
    return parts, size, [templates.raw_name(number) for number in range(len(templates))]


def together(data):
    """Return the data with events of only scalars split and rejoined, and the rest unchanged."""
    parts, size, templates = apart(data)
    out = b""
    for record in np.unique(parts["record"]):
        values = parts[parts["record"] == record]
        columns = [
            np.ascontiguousarray(values[name])
            for name in ("record", "template", "step", "wall_time", "value")
        ]
        if (values["template"] >= 0).all():
            out += put_together(templates, *columns)
        else:
            end = parts["record"][parts["record"] > record].min(initial=size)
            out += data[record:end]
    return out


STEPS = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(st.text(max_size=20), st.floats(), STEPS, st.floats()), max_size=6))
def test_scalars_of_every_form_are_restored(points):
    buffer = EventBuffer()
    for tag, value, step, wall_time in points:
        buffer.scalar(tag, value, step, wall_time)
        buffer.scalar_double(tag, value, step, wall_time)
        buffer.scalar_tensor(tag, value, step, wall_time)
        buffer.scalar_double_tensor(tag, value, step, wall_time)
    data = buffer.getvalue()
    assert together(data) == data


def test_every_kind_is_restored():
    data = b"".join(every_kind())
    assert together(data) == data


def test_a_series_has_one_template():
    buffer = EventBuffer()
    buffer.table(["a", "b"], np.arange(50), np.arange(50.0) + 1, np.ones((50, 2)))
    parts, size, templates = apart(buffer.getvalue())
    assert size == len(buffer)
    assert parts["template"].tolist() == [0, 1] * 50
    assert templates == [
        b"\x04\x00\x04\x0a\x01a\x15" + bytes(4),
        b"\x04\x00\x04\x0a\x01b\x15" + bytes(4),
    ]
    assert parts["value"].tolist() == [1.0] * 100


def test_a_series_with_float64_has_one_template_for_both_positions_of_the_number():
    buffer, numbers = EventBuffer(), np.array([0.1, -np.inf, 1e300, -0.0])
    buffer.scalars("a", np.arange(4), np.arange(4.0) + 1, numbers, "double")
    parts, _, templates = apart(buffer.getvalue())
    assert templates == [b"\x04\x00\x0e\x0a\x01a\x15" + bytes(4) + b"\xc1\x42" + bytes(8)]
    assert parts["value"].tobytes() == numbers.tobytes()
    assert together(buffer.getvalue()) == buffer.getvalue()


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x1a\x0dbrain.Event:2",
        b"\x2a\x00",  # a summary without values
        b"\x10\x00" + event(simple("a", 1.0)),  # a zero that protobuf omits
        b"\x10\x85\x00" + event(simple("a", 1.0))[9:],  # a number with an extra byte
        event(simple("a", 1.0), extra=b"\x7a\x03new"),
        event(simple("a", 1.0), wall_time=np.inf),
        b"\x09" + bytes(8) + event(simple("a", 1.0))[9:],
        event(simple("a", 1.0))[9:] + event(simple("a", 1.0))[:9],  # the time last
    ],
)
def test_an_event_in_another_form_is_kept_unchanged(payload):
    parts, size, _ = apart(frame(payload))
    assert size == len(payload) + 16
    assert parts[["index", "start", "length"]].tolist() == [(EVENT, 12, len(payload))]


@pytest.mark.parametrize(
    "value",
    [
        b"\x0a\x01a\x15\x01\x00\xa0\x7f",  # a signalling NaN, which float64 makes quiet
        simple("a", 1.0) + simple("a", 2.0),
        b"\x42\x04\x08\x01\x12\x00",  # TensorFlow's zero, without a number in it
        b"\x42\x08\x08\x01\x22\x04" + bytes(4) + b"\x15" + bytes(4),
        simple("a", 1.0) + float64(2.0),  # does not round to the simple value
        float64(1.0) + simple("a", 1.0),
        simple("a", 1.0) + b"\x4a\x00" + float64(1.0),  # as protobuf writes it after metadata
        simple("a", 1.0) + b"\xc1\xc2\x00" + struct.pack("<d", 1.0),  # a key with an extra byte
        simple("a", 1.0) + float64(1.0) * 2,
        simple("a", 1.0) + float64(1.0) + simple("a", 1.0),
        b"\x42\x08\x08\x01\x2a\x04" + struct.pack("<f", 1.0) + float64(1.0),
        b"\x0a\xa8\x27" + b"x" * 5032 + b"\x15" + bytes(4),
    ],
)
def test_a_value_without_one_number_has_no_template(value):
    parts, _, _ = apart(frame(event(value, step=1)))
    assert parts["index"].tolist() == [0]
    assert parts["template"].tolist() == [-1]


def test_a_bad_payload_checksum_is_skipped_but_not_a_bad_length():
    good = frame(event(simple("a", 1.0), step=1))
    bad = good[:20] + b"\xff" + good[21:]
    parts, size, _ = apart(good + bad + good)
    assert parts["index"].tolist() == [0, BROKEN, 0]
    assert (parts["start"][1], parts["length"][1]) == (len(good), len(good))
    parts, size, _ = apart(good + b"\xff" + good[1:] + good)
    assert size == len(good)


@pytest.mark.parametrize(
    "template",
    [
        b"",
        b"\x00\x00",
        b"\x00\x00\x05" + bytes(9),
        b"\x00\x00\x0e" + bytes(13),
        b"\xff\xff\x04" + bytes(9),
        b"\x06\x00\x04" + bytes(9),
    ],
)
def test_a_number_position_outside_the_template_is_rejected(template):
    with pytest.raises(ValueError, match="a template must contain the position of its number"):
        fill(template, 1.0)
    column = np.zeros(1)
    with pytest.raises(ValueError, match="a template must contain the position of its number"):
        put_together(
            [template],
            np.zeros(1, np.int64),
            np.zeros(1, np.int32),
            np.zeros(1, np.int64),
            column,
            column,
        )


@pytest.mark.parametrize("number", [-1, 1, 2**31 - 1])
def test_a_missing_template_is_rejected(number):
    column = np.zeros(1)
    with pytest.raises(ValueError, match="no template"):
        put_together(
            [b"\x00\x00\x04" + bytes(4)],
            np.zeros(1, np.int64),
            np.array([number], np.int32),
            np.zeros(1, np.int64),
            column,
            column,
        )
