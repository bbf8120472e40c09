"""Faults inside valid records: payloads that are not events, or unusual events."""

import pytest
from helpers.eventfiles import (
    WALL_TIME,
    age,
    event,
    field,
    loss,
    points,
    record,
    scalar,
    scalars,
    simple,
    varint,
)

from runfold._core.encoder import EventBuffer, frame
from runfold._events import value_encoding as values

SIZE = len(scalars(1))
GROUP_START, GROUP_END = varint(20 << 3 | 3), varint(20 << 3 | 4)


def skipped(log) -> None:
    """Check that the faulty record between records 1 and 2 is skipped and reported."""
    log.check(loss(1, 2), [("malformed-event", SIZE)])


@pytest.mark.fault(17)
@pytest.mark.parametrize(
    "payload",
    [
        b"no protobuf at all",
        b"\xff" * 40,
        event(simple("loss", 9))[:-3],  # truncated, with a matching checksum
        event(extra=b"\x07"),  # field number 0
        event(extra=varint(3 << 3 | 6)),  # a wire type that does not exist
        event(extra=GROUP_END),  # ends a group that was never started
        field(5, field(1, b"\x0a\xff")),  # the tag is longer than its value
    ],
)
def test_payload_that_is_not_an_event_is_skipped(faulty_log, payload):
    skipped(faulty_log(scalars(1), frame(payload), scalars(2)))


@pytest.mark.fault(17)
def test_event_with_a_malformed_second_value_is_skipped_completely(faulty_log):
    """This includes its first value's metadata, which would turn the next value into a tensor."""
    first = values.text("acc", "not a scalar")
    bare = field(1, b"acc") + field(8, field(1, 1) + field(2, b"") + field(4, b"\0\0\x80\x3f"))
    broken = field(1, b"loss") + b"\xff"
    log = faulty_log(scalars(1), record(simple("loss", 9), first, broken), record(bare, step=2))
    log.check({**loss(1), "acc": [(2, 1.0)]}, [("malformed-event", SIZE)])
    assert log.runs["bad"].tags == {"scalar": ["loss", "acc"]}
    assert log.runs["bad"].points == 2


@pytest.mark.fault(17)
def test_metadata_of_a_value_with_a_malformed_tensor_is_ignored(faulty_log):
    bad = field(1, b"acc") + field(8, b"\xff") + values.metadata_only("acc", "text", b"")
    bare = field(1, b"acc") + field(8, field(1, 1) + field(2, b"") + field(4, b"\0\0\x80\x3f"))
    log = faulty_log(record(bad), record(bare, step=2))
    log.check({"acc": [(2, 1.0)]}, [("malformed-event", 0)])


@pytest.mark.fault(18)
@pytest.mark.parametrize("depth", [65, 100_000])
def test_groups_beyond_the_depth_limit_are_skipped(faulty_log, depth):
    nested = event(simple("loss", 9), extra=GROUP_START * depth + GROUP_END * depth)
    skipped(faulty_log(scalars(1), frame(nested), scalars(2)))


@pytest.mark.fault(18)
def test_groups_within_the_depth_limit_are_ignored(faulty_log):
    nested = event(simple("loss", 3), step=3, extra=GROUP_START * 64 + GROUP_END * 64)
    log = faulty_log(scalars(1), frame(nested), scalars(2))
    log.check(loss(1, 3, 2))


@pytest.mark.fault(18)
def test_messages_nested_in_an_unknown_field_are_not_followed(faulty_log):
    nested = b""
    for _ in range(20_000):
        nested = field(20, nested)
    log = faulty_log(frame(event(simple("loss", 1), step=1, extra=nested)), scalars(2))
    log.check(loss(1, 2))


@pytest.mark.fault(19)
def test_unknown_fields_and_kinds_are_ignored(faulty_log):
    unknown = (
        field(100, 7) + field(101, 0.5) + field(102, b"later") + varint(103 << 3 | 5) + b"four"
    )
    value = simple("loss", 1) + unknown
    kind = field(1, b"new kind") + field(77, b"what is not known yet")
    extra = unknown + field(6, b"a log message") + field(10, b"source metadata")
    log = faulty_log(frame(event(value, kind, step=1, extra=extra)), scalars(2))
    log.check(loss(1, 2))


@pytest.mark.fault(19)
def test_tensor_of_an_unknown_plugin_is_a_tensor(faulty_log):
    import numpy as np

    log = faulty_log(record(values.tensor("x", np.array([1.0, 2.0]), "someone's plugin")))
    log.check({})
    assert log.runs.tensors()["value"].item().tolist() == [1.0, 2.0]


@pytest.mark.fault(20)
@pytest.mark.parametrize(
    "extra",
    [
        field(20, 0)[:-1] + b"\x80" * 10 + b"\x00",  # eleven bytes
        field(20, 0)[:-1] + b"\xff" * 9 + b"\x02",  # a 65th bit
        b"\x80" * 10 + b"\x01",  # the same for a key
        varint(20 << 3 | 2) + varint(-1),  # a negative length
        varint(20 << 3 | 2) + varint(1 << 62),
        varint(20 << 3) + b"\x80",  # without an end
    ],
)
def test_record_with_an_overlong_or_negative_varint_is_skipped(faulty_log, extra):
    payload = event(simple("loss", 9), extra=extra)
    skipped(faulty_log(scalars(1), frame(payload), scalars(2)))


@pytest.mark.fault(20)
@pytest.mark.parametrize("length", [varint(-1), varint(1 << 63), b"\xff" * 10 + b"\x01"])
def test_negative_length_of_a_value_or_tag_skips_the_record(faulty_log, length):
    value = field(5, b"\x0a" + length + b"xyz")
    tag = field(5, field(1, b"\x0a" + length + b"xyz"))
    log = faulty_log(scalars(1), frame(value), frame(tag), scalars(2))
    offsets = [SIZE, SIZE + len(frame(value))]
    log.check(loss(1, 2), [("malformed-event", offset) for offset in offsets])


@pytest.mark.fault(34)
@pytest.mark.parametrize("version", [None, b"", b"brain.Event:1", b"brain.Event:999", b"\xff\xfe"])
def test_missing_or_strange_file_version_is_read_anyway(faulty_log, version):
    first = b"" if version is None else frame(field(1, WALL_TIME) + field(3, version))
    log = faulty_log(first, scalars(1, 2))
    log.check(loss(1, 2))


@pytest.mark.fault(34)
def test_file_version_in_the_middle_is_ignored(faulty_log):
    buffer = EventBuffer()
    buffer.file_version(WALL_TIME)
    log = faulty_log(buffer.getvalue(), scalars(1), buffer.getvalue(), scalars(2))
    log.check(loss(1, 2))


def test_fields_can_be_in_any_order(faulty_log):
    value = b"".join(reversed([field(1, b"loss"), varint(2 << 3 | 5) + b"\0\0\x40\x40"]))
    backwards = field(5, field(1, value)) + field(2, 3) + field(1, 12.5)
    log = faulty_log(frame(backwards))
    log.check(loss(3))
    assert log.runs["bad"]["loss"].wall_times.tolist() == [12.5]


def test_metadata_after_the_tensor_applies_to_it(faulty_log):
    buffer = EventBuffer()
    buffer.scalar_tensor("loss", 1, 1, WALL_TIME)
    log = faulty_log(buffer.getvalue(), record(values.text("note", "hello"), step=1))
    log.check(loss(1))
    assert log.runs.text()["text"].tolist() == ["hello"]


def test_several_values_and_summaries_in_one_event_are_all_read(faulty_log):
    again = field(5, field(1, simple("loss", 8)) + field(1, simple("acc", 0.5)))
    log = faulty_log(frame(event(simple("loss", 7), simple("lr", 2), step=7, extra=again)))
    log.check({"loss": [(7, 7.0), (7, 8.0)], "lr": [(7, 2.0)], "acc": [(7, 0.5)]})


def test_the_last_of_repeated_steps_and_tags_is_used(faulty_log):
    value = field(1, b"first") + simple("loss", 4)
    log = faulty_log(frame(event(value, step=1, extra=field(2, 4))))
    log.check(loss(4))


def test_fault_in_a_file_does_not_affect_the_runs_other_files(faulty_log):
    log = faulty_log(scalars(1), frame(b"\xff"))
    age(log.add_file("events.out.tfevents.9999999999", scalars(2) + scalar("acc", 2)))
    assert points(log.runs, "bad") == loss(1)
    log.runs.refresh()
    log.check({"loss": [(1, 1.0), (2, 2.0)], "acc": [(2, 2.0)]}, [("malformed-event", SIZE)])
