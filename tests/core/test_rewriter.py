"""Records copied by rules: the intended changes, and nothing else."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.decider import FORMS, PLUGINS, KindFlag, TagFlag
from runfold._core.encoder import EventBuffer, frame
from runfold._core.record import StopReason
from runfold._core.rewriter import Boundary, Rewriter
from runfold._core.scanner import EventFlag
from runfold._core.tag_table import Tags

TIME = 1_700_000_000.5
UNKNOWN = b"\xfa\x7f\x03odd"  # an unknown field with number 2047


def varint(number: int) -> bytes:
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def part(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def value(tag: str, number: float = 1.0, metadata: bytes = b"", extra: bytes = b"") -> bytes:
    simple = b"\x15" + struct.pack("<f", number)
    return part(1, tag.encode()) + simple + (part(9, metadata) if metadata else b"") + extra


def event(*values: bytes, step: int | None = 0, time: float = TIME, extra: bytes = b"") -> bytes:
    head = b"\x09" + struct.pack("<d", time)
    head += b"" if step is None else b"\x10" + varint(step)
    return head + (part(5, b"".join(part(1, value) for value in values)) if values else b"") + extra


def rewrite(
    *payloads: bytes, stop: StopReason = StopReason.AT_END, known: tuple[str, ...] = (), **rules
) -> list:
    """Return the resulting payloads, after a first pass that learns the tags."""
    data = b"".join(map(frame, payloads))
    tags = Tags()
    Rewriter(tags).rewrite(data)
    assert tags.names()[: len(known)] == list(known)
    out, rewriter = EventBuffer(), Rewriter(tags, **rules)
    used = rewriter.rewrite(data, out)
    assert rewriter.stop == stop
    assert stop != StopReason.AT_END or used == len(data)
    return unframe(out.getvalue())


def unframe(data: bytes) -> list[bytes]:
    payloads = []
    while data:
        (length,) = struct.unpack_from("<Q", data)
        payloads.append(data[12 : 12 + length])
        assert data.startswith(frame(payloads[-1]))
        data = data[length + 16 :]
    return payloads


def flags(*masks: int) -> np.ndarray:
    return np.array(masks, np.uint8)


def test_without_rules_every_byte_stays() -> None:
    payloads = [
        event(extra=part(3, b"brain.Event:2")),
        event(value("a"), value("b", extra=UNKNOWN), step=7, extra=UNKNOWN),
        b"\xff\xff not an event",
        event(value("a"), step=-3),
        b"",
    ]
    assert rewrite(*payloads) == payloads


def test_an_event_is_dropped_when_all_its_values_are() -> None:
    drop = flags(TagFlag.DROP, TagFlag.IN_SCOPE)
    both, alone = event(value("a"), value("b", extra=UNKNOWN), step=1), event(value("a"), step=2)
    kept = event(value("b", extra=UNKNOWN), step=1)
    assert rewrite(both, alone, known=("a", "b"), flags=drop) == [kept]


def test_unknown_fields_are_kept_when_values_are_dropped() -> None:
    drop = flags(TagFlag.DROP)
    whole = event(value("a"), step=1, extra=UNKNOWN)
    inside = event(step=2) + part(5, part(1, value("a")) + UNKNOWN)
    assert rewrite(whole, inside, flags=drop) == [
        event(step=1, extra=UNKNOWN),
        event(step=2) + part(5, UNKNOWN),
    ]


def test_renaming_keeps_the_rest_of_the_value() -> None:
    old = event(value("a", 2.5, extra=UNKNOWN), step=3)
    new = event(value("long/name" * 20, 2.5, extra=UNKNOWN), step=3)
    assert rewrite(old, names=[b"long/name" * 20]) == [new]


def test_first_kept_value_gets_the_metadata_of_its_tag() -> None:
    metadata = part(1, part(1, b"scalars"))
    first, second, third = (event(value("a", n, metadata * (n == 0)), step=n) for n in range(3))
    carried = event(value("a", 1, metadata), step=1)
    assert rewrite(first, second, third, cuts=[(0, 0)]) == [carried, third]


def test_steps_are_kept_and_cut_with_both_ends() -> None:
    payloads = [event(value("a"), step=n) for n in (-5, 0, 10, 20, 30)]
    assert rewrite(*payloads, keeps=[(0, 20)]) == payloads[1:4]
    assert rewrite(*payloads, cuts=[(-9, 0), (20, 20)]) == [payloads[2], payloads[4]]
    assert rewrite(*payloads, limit=20) == payloads[:3]


def test_thinning_keeps_multiples_and_the_first_and_last() -> None:
    payloads = [event(value("a"), step=n) for n in (1, 5, 10, 12, 20, 23)]
    kept = [payloads[n] for n in (0, 2, 4, 5)]
    assert rewrite(*payloads, every=10, lasts=np.array([5])) == kept
    whole = flags(TagFlag.IN_SCOPE | TagFlag.UNTHINNED)
    assert rewrite(*payloads, every=10, lasts=np.array([5]), flags=whole) == payloads


def test_shifts_apply_to_every_step_and_time_except_the_step_of_a_header() -> None:
    header = event(step=None, extra=part(3, b"brain.Event:2"))
    moved = event(step=None, time=TIME + 60, extra=part(3, b"brain.Event:2"))
    payloads = [header, event(value("a"), step=None), event(value("a"), step=5)]
    expected = [
        moved,
        event(value("a"), step=100, time=TIME + 60),
        event(value("a"), step=105, time=TIME + 60),
    ]
    assert rewrite(*payloads, shift_steps=100, shift_time=60.0) == expected


def test_step_that_becomes_zero_is_omitted_like_in_protobuf() -> None:
    assert rewrite(event(value("a"), step=5), shift_steps=-5) == [event(value("a"), step=None)]


def test_event_whose_values_get_different_steps_becomes_two() -> None:
    both = event(value("a"), value("b"), step=5, extra=UNKNOWN)
    out = rewrite(both, flags=flags(TagFlag.IN_SCOPE, 0), events=0, shift_steps=1)
    assert out == [
        event(value("b"), step=5, extra=UNKNOWN),
        event(value("a"), step=6),
    ]


def test_cuts_do_not_apply_to_values_that_describe_the_run() -> None:
    kinds = np.full((FORMS, PLUGINS), KindFlag.HAS_NO_STEPS, np.uint8)
    payloads = [event(value("a"), step=0)]
    assert rewrite(*payloads, cuts=[(0, 9)], kinds=kinds) == payloads
    assert rewrite(*payloads, cuts=[(0, 9)], flags=flags(TagFlag.IN_SCOPE | TagFlag.STEPLESS)) == (
        payloads
    )


def test_kinds_and_graphs_are_stripped() -> None:
    kinds = np.full((FORMS, PLUGINS), KindFlag.STRIP, np.uint8)
    graph = event(extra=part(4, b"graph"))
    assert rewrite(event(value("a")), graph, kinds=kinds) == [graph]
    assert rewrite(graph, event(value("a")), events=EventFlag.STRIP_GRAPH) == [event(value("a"))]


def test_replace_is_called_after_renaming() -> None:
    def replace_value(message: bytes) -> bytes:
        assert message == value("new")
        return b"other"

    out = rewrite(
        event(value("a")),
        flags=flags(TagFlag.ASK | TagFlag.IN_SCOPE),
        names=[b"new"],
        replace=replace_value,
    )
    assert out == [event(b"other")]


def test_boundary_stops_before_its_record_and_continues_after_begin() -> None:
    header = event(step=None, extra=part(3, b"brain.Event:2"))
    payloads = [header, event(value("a")), header, event(value("a"))]
    data = b"".join(map(frame, payloads))
    out, rewriter = EventBuffer(), Rewriter(Tags(), boundaries=Boundary.AT_VERSION)
    used = rewriter.rewrite(data, out)
    assert (rewriter.stop, rewriter.boundary) == (StopReason.AT_BOUNDARY, Boundary.AT_VERSION)
    assert unframe(out.getvalue()) == payloads[:2]
    rewriter.begin()
    assert used + rewriter.rewrite(data[used:], out) == len(data)
    assert unframe(out.getvalue()) == payloads


def test_counts_cover_seen_and_kept_values() -> None:
    data = b"".join(frame(event(value("a"), value("b"), step=n)) for n in range(10))
    tags = Tags()
    rewriter = Rewriter(tags, cuts=[(0, 4)], every=5, lasts=np.array([4, 4]))
    rewriter.rewrite(data)
    assert rewriter.count().tolist() == [[10, 5, 2, 5, 9, 5, 2]] * 2
    assert (rewriter.events, rewriter.events_kept) == (10, 2)
    assert rewriter.count_kinds().sum() == 20


@pytest.mark.parametrize("cut", range(1, 39))
def test_torn_record_waits_for_its_rest(cut: int) -> None:
    data = frame(event(value("a")))
    rewriter = Rewriter(Tags())
    torn = data + data[:cut]
    assert rewriter.rewrite(torn) == len(data)
    assert rewriter.stop in (StopReason.IS_TORN, StopReason.IS_ZEROS)


def test_bad_payload_is_dropped_and_bad_length_stops() -> None:
    good = frame(event(value("a")))
    bad = good[:20] + bytes([good[20] ^ 1]) + good[21:]
    out, rewriter = EventBuffer(), Rewriter(Tags())
    assert rewriter.rewrite(bad + good, out) == 2 * len(good)
    assert (out.getvalue(), rewriter.bad_records) == (good, 1)
    assert rewriter.rewrite(b"\1" + good) == 0
    assert rewriter.stop == StopReason.HAS_BAD_LENGTH


@given(
    st.lists(st.binary(max_size=60) | st.builds(event, st.builds(value, st.text(max_size=3)))),
    st.integers(-(1 << 62), 1 << 62),
    st.binary(max_size=4),
)
def test_any_payload_gives_valid_records(payloads: list[bytes], shift: int, name: bytes) -> None:
    out = rewrite(
        *payloads, shift_steps=shift, shift_time=1.0, names=[name] * 3, cuts=[(5, 9)],
        flags=flags(TagFlag.IN_SCOPE, TagFlag.DROP, 0),
    )  # fmt: skip
    assert len(out) <= 4 * len(payloads)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(-9, 99)), max_size=9), st.data())
def test_rules_keep_the_same_values_as_a_plain_loop(points: list[tuple[str, int]], data) -> None:
    low, high = sorted(data.draw(st.tuples(st.integers(-9, 99), st.integers(-9, 99))))
    payloads = [event(value(tag), step=step) for tag, step in points]
    kept = [event(value(tag), step=step) for tag, step in points if low <= step <= high]
    assert rewrite(*payloads, keeps=[(low, high)]) == kept


def test_moved_values_keep_their_event_and_nothing_else_is_written() -> None:
    payloads = [
        b"\x09" + struct.pack("<d", TIME) + part(3, b"brain.Event:2"),
        event(value("a", extra=UNKNOWN), value("b"), step=1, extra=UNKNOWN),
        event(step=3, extra=part(7, b"\x08\x01")),
        event(value("b"), step=4, extra=UNKNOWN),
        event(step=5, extra=part(4, b"graph")),
        event(step=6, extra=UNKNOWN),
        event(value("a"), step=7),
    ]
    moved = [event(value("a", extra=UNKNOWN), step=1, extra=UNKNOWN), payloads[-1]]
    apart = EventFlag.ALL_TAGS | EventFlag.ONLY_VALUES
    masks = flags(TagFlag.IN_SCOPE, TagFlag.DROP)
    assert rewrite(*payloads, known=("a", "b"), flags=masks, events=apart) == moved
    moved.insert(1, payloads[2])
    assert rewrite(*payloads, flags=masks, events=apart | EventFlag.RESTARTS) == moved


def test_limits_apply_after_restart_markers() -> None:
    start = part(7, b"\x08\x01")
    payloads = [event(value("a"), step=n) for n in range(4)]
    payloads.append(event(step=2, extra=start))
    payloads += [event(value("a"), step=n) for n in range(2, 6)]
    limits = np.array([2, 5], np.int64)
    assert rewrite(*payloads, limits=limits) == [*payloads[:2], *payloads[4:8]]
    assert rewrite(*payloads, limits=limits[:1]) == [*payloads[:2], *payloads[4:]]


def test_a_value_at_the_highest_step_is_kept_without_a_limit() -> None:
    highest = (1 << 63) - 1
    payloads = [event(value("a"), step=highest)]
    assert rewrite(*payloads) == rewrite(*payloads, limits=np.array([highest])) == payloads
    assert rewrite(*payloads, limit=highest - 1) == []
