"""Decoders that store the points of some tags, or nothing but points."""

import numpy as np
from helpers.decoding import boundaries, collect, every_kind, feed, read
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.decoder import Decoder
from runfold._core.encoder import EventBuffer
from runfold._core.tag_table import Tags


def decode_keeping(data: bytes, keep: bytes, only_points: bool = False):
    decoder = Decoder(Tags(), keep=keep, only_points=only_points)
    feed(decoder, data)
    tags, counts = decoder.counts()
    return dict(zip(tags.tolist(), counts.tolist(), strict=True)), collect(decoder, data)


def counts_of(data: bytes) -> dict[int, int]:
    decoder = Decoder(Tags())
    feed(decoder, data)
    return decoder.take()[0].counts()


rows = st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9)), max_size=60)


@given(rows, st.lists(st.booleans(), max_size=8), st.sets(st.integers(0, 60)))
def test_only_points_of_kept_tags_are_stored_and_everything_else_is_equal(
    points: list[tuple[str, int]], keep: list[bool], restarts: set[int]
) -> None:
    buffer = EventBuffer()
    for number, (tag, step) in enumerate(points):
        if number in restarts:
            buffer.session_start(step, 1.0)
        buffer.scalar_double(tag, number / 7, step, float(number))
    data = b"".join(every_kind()) + buffer.getvalue()
    whole = read(data)
    mask = bytes(keep)
    counts, some = decode_keeping(data, mask)
    names = Decoder(Tags()).tags
    decoder = Decoder(names)
    feed(decoder, data)
    kept = {name for name, flag in zip(names.names(), mask, strict=False) if flag}
    assert counts == counts_of(data)
    assert some.scalars == {tag: columns for tag, columns in whole.scalars.items() if tag in kept}
    assert (some.items, some.notes, some.restarts) == (whole.items, whole.notes, whole.restarts)
    assert (some.events, some.offset, some.stop) == (whole.events, whole.offset, whole.stop)
    _, only = decode_keeping(data, mask, only_points=True)
    assert only.scalars == some.scalars
    assert (only.items, only.notes, only.restarts) == ([], [], [])
    assert (only.events, only.offset, only.stop) == (whole.events, whole.offset, whole.stop)


def test_counts_continue_after_take() -> None:
    buffer = EventBuffer()
    for step in range(5):
        buffer.scalar_double("a", 1.0, step, 1.0)
    data = buffer.getvalue()
    cut = boundaries([data[: len(data) // 5]] * 5)[2]
    decoder = Decoder(Tags(), keep=b"")
    feed(decoder, data[:cut])
    assert [list(column) for column in decoder.counts()] == [[0], [2]]
    assert len(decoder.take()[0]) == 0
    feed(decoder, data[cut:])
    assert [list(column) for column in decoder.counts()] == [[0], [3]]
    assert decoder.counts()[0].dtype == np.int32


@given(st.lists(st.sampled_from(["a", "b", "c", "", "d" * 99]), max_size=9))
def test_a_copy_of_tags_is_equal_and_independent(names: list[str]) -> None:
    tags = Tags()
    first = Decoder(tags)
    feed(first, b"".join(every_kind()))
    before = tags.names(), tags.plugins(), [tags.metadata(n) for n in range(len(tags))]
    copied = tags.copy()
    buffer = EventBuffer()
    for name in [*names, "new"]:
        buffer.scalar_double(name, 1.0, 0, 1.0)
    second = Decoder(copied)
    feed(second, buffer.getvalue())
    added = copied.names()
    assert (tags.names(), tags.plugins()) == before[:2]
    assert [tags.metadata(n) for n in range(len(tags))] == before[2]
    assert added == [*before[0], *dict.fromkeys(n for n in [*names, "new"] if n not in before[0])]
    assert [copied.metadata(n) for n in range(len(tags))] == before[2]


def test_tags_without_any_name_can_be_copied() -> None:
    assert Tags().copy().names() == []
