"""Truncated, flipped, mutated and random bytes: nothing crashes, and no valid data is lost."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from helpers.decoding import (
    FRAME,
    HEADER,
    Reading,
    blank,
    boundaries,
    collect,
    every_kind,
    feed,
    read,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from runfold._core.decoder import Decoder
from runfold._core.encoder import EventBuffer, frame
from runfold._core.event import NoteCode
from runfold._core.record import StopReason
from runfold._core.tag_table import Tags

RECORDS = every_kind()
FILE = b"".join(RECORDS)
BOUNDARIES = boundaries(RECORDS)


def scalars_only() -> bytes:
    buffer = EventBuffer()
    buffer.table(["loss", "accuracy"], np.arange(8), np.arange(8.0), np.ones((8, 2)), "tensor")
    return buffer.getvalue()


def check(data: bytes, reading: Reading) -> None:
    """Check what holds for any bytes: a record is an event or a note, and all positions exist."""
    sizes = {len(column) for columns in reading.scalars.values() for column in columns[:1]}
    assert all(size % 8 == 0 and size for size in sizes)
    assert all(len(set(map(len, columns))) == 1 for columns in reading.scalars.values())
    lost = {NoteCode.BAD_PAYLOAD_CHECKSUM, NoteCode.MALFORMED_EVENT}
    starts = []
    at = 0
    while at < reading.offset:
        starts.append(at)
        at += int.from_bytes(data[at : at + 8], "little") + FRAME
    assert at == reading.offset <= len(data)
    assert (reading.stop == StopReason.AT_END) == (at == len(data))
    assert {offset for offset, _, _ in reading.notes} <= set(starts)
    assert reading.events + sum(code in lost for _, code, _ in reading.notes) == len(starts)


@pytest.mark.parametrize("data", [FILE, scalars_only()], ids=["every kind", "scalars"])
def test_a_file_cut_at_any_byte_keeps_its_complete_records_and_can_be_completed(
    data: bytes,
) -> None:
    whole = read(data)
    assert whole.stop == StopReason.AT_END
    ends = [0]
    while ends[-1] < len(data):
        ends.append(ends[-1] + int.from_bytes(data[ends[-1] : ends[-1] + 8], "little") + FRAME)
    for start, end in pairwise(ends):
        expected = read(data[:start])
        for cut in range(start, end):
            torn = read(data[:cut])
            assert torn.stop == (StopReason.AT_END if cut == start else StopReason.IS_TORN)
            assert torn.offset == start
            assert torn.without_place() == expected.without_place()
            assert read(data, [cut]) == whole


def test_the_size_of_a_torn_record_is_known_from_its_header() -> None:
    for size in range(1, len(RECORDS[0])):
        decoder = Decoder(Tags())
        feed(decoder, FILE[:size])
        assert decoder.needed == (FRAME if size < HEADER else len(RECORDS[0]))


@pytest.mark.parametrize("number", range(len(RECORDS)))
def test_a_flipped_bit_costs_one_record_or_the_rest_of_the_file(number: int) -> None:
    start, end = BOUNDARIES[number : number + 2]
    before = read(FILE[:start])
    blanked = read(FILE[:start] + blank(RECORDS[number]) + FILE[end:])
    notes = [*blanked.notes, (start, NoteCode.BAD_PAYLOAD_CHECKSUM, -1)]
    others = replace(blanked, notes=sorted(notes), events=blanked.events - 1)
    for bit in range(start * 8, end * 8):
        damaged = bytearray(FILE)
        damaged[bit // 8] ^= 1 << bit % 8
        reading = read(bytes(damaged))
        if bit < (start + HEADER) * 8:
            assert (reading.stop, reading.offset) == (StopReason.HAS_BAD_LENGTH, start)
            assert reading.without_place() == before.without_place()
        else:
            assert reading == others


@given(st.lists(st.integers(0, len(FILE)), max_size=8))
def test_any_stretches_give_the_same_result_as_the_whole(cuts: list[int]) -> None:
    assert read(FILE, sorted(cuts)) == read(FILE)


@given(st.lists(st.integers(0, len(FILE)), max_size=8))
def test_taking_in_between_loses_and_duplicates_nothing(cuts: list[int]) -> None:
    decoder = Decoder(Tags())
    readings = []
    for cut in [*sorted(cuts), len(FILE)]:
        feed(decoder, FILE[decoder.offset : cut])
        readings.append(collect(decoder, FILE))
    whole = read(FILE)
    assert [item for part in readings for item in part.items] == whole.items
    assert [note for part in readings for note in part.notes] == whole.notes
    assert [mark[0] for part in readings for mark in part.restarts] == [2]
    for tag, columns in whole.scalars.items():
        parts = [part.scalars[tag] for part in readings if tag in part.scalars]
        assert tuple(b"".join(pieces) for pieces in zip(*parts, strict=True)) == columns


mutations = st.lists(
    st.tuples(st.integers(0, 2**16), st.one_of(st.binary(max_size=3), st.integers(0, 255))),
    min_size=1,
    max_size=4,
)


def mutate(data: bytes, changes: list[tuple[int, bytes | int]]) -> bytes:
    """Apply each change: insert it if it is bytes, replace one byte if it is a number."""
    changed = bytearray(data)
    for position, change in changes:
        at = position % (len(changed) + 1)
        changed[at : at + isinstance(change, int)] = (
            bytes([change]) if isinstance(change, int) else change
        )
    return bytes(changed)


@settings(max_examples=300)
@given(st.integers(0, len(RECORDS) - 1), mutations)
def test_a_changed_payload_with_a_valid_checksum_does_not_affect_earlier_records(
    number: int, changes: list[tuple[int, bytes | int]]
) -> None:
    changed = frame(mutate(RECORDS[number][HEADER:-4], changes))
    data = b"".join([*RECORDS[:number], changed, *RECORDS[number + 1 :]])
    reading = read(data)
    check(data, reading)
    assert (reading.stop, reading.offset) == (StopReason.AT_END, len(data))
    before = read(FILE[: BOUNDARIES[number]])
    assert reading.items[: len(before.items)] == before.items
    for tag, columns in before.scalars.items():
        assert all(map(bytes.startswith, reading.scalars[tag], columns))


@settings(max_examples=300)
@given(mutations)
def test_changed_bytes_anywhere_cause_only_notes(changes: list[tuple[int, bytes | int]]) -> None:
    data = mutate(FILE, changes)
    check(data, read(data))


@settings(max_examples=300)
@given(st.lists(st.binary(max_size=40)))
def test_random_payloads_are_events_or_notes(payloads: list[bytes]) -> None:
    data = b"".join(map(frame, payloads))
    reading = read(data)
    check(data, reading)
    assert reading.stop == StopReason.AT_END


@given(st.binary(max_size=80), st.integers(0, 3))
def test_random_bytes_after_valid_records_do_not_affect_them(noise: bytes, count: int) -> None:
    data = FILE[: BOUNDARIES[count]] + noise
    reading = read(data)
    check(data, reading)
    if reading.offset == BOUNDARIES[count]:
        assert reading.without_place() == read(FILE[: BOUNDARIES[count]]).without_place()
