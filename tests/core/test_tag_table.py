"""Tags are numbered by first appearance, whatever their names, even if their order changes."""

import random

import numpy as np
import pytest
from helpers.decoding import feed
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.decoder import Decoder
from runfold._core.encoder import EventBuffer, frame
from runfold._core.tag_table import Tags
from runfold._events import value_encoding as values


def event(*messages: bytes) -> bytes:
    """Return a record whose summary has these values."""
    buffer = EventBuffer()
    buffer.summary(messages, 1, 1.0)
    return buffer.getvalue()


def simple(tag: bytes, number: int = 0) -> bytes:
    size = len(tag)
    length = bytes([size & 0x7F | 0x80, size >> 7 & 0x7F | 0x80, size >> 14])
    return b"\x0a" + length + tag + b"\x15" + np.float32(number).tobytes()


def decoded(data: bytes, tags: Tags | None = None) -> Decoder:
    decoder = Decoder(Tags() if tags is None else tags)
    feed(decoder, data)
    return decoder


def test_a_hundred_thousand_tags_have_separate_points() -> None:
    names = [f"layer/{i}/weight" for i in range(100_000)]
    buffer = EventBuffer()
    numbers = np.arange(200_000.0).reshape(2, -1)
    buffer.table(names, np.arange(2), np.zeros(2), numbers)
    decoder = decoded(buffer.getvalue())
    assert decoder.tags.names() == names
    scalars = decoder.take()[0]
    assert list(scalars) == list(range(100_000))
    stored = np.array([columns[2] for columns in scalars.values()])
    np.testing.assert_array_equal(stored.T, numbers)


def test_long_tags_that_differ_at_their_end_are_different() -> None:
    names = ["a" * size + end for size in (7, 8, 9, 16, 10_000) for end in ("", "b", "c", "bc")]
    buffer = EventBuffer()
    buffer.table(names, np.arange(3), np.zeros(3), np.zeros((3, len(names))))
    decoder = decoded(buffer.getvalue())
    assert decoder.tags.names() == names
    assert [len(points[0]) for points in decoder.take()[0].values()] == [3] * len(names)


def test_tags_are_not_mixed_up_if_their_order_changes_at_every_step() -> None:
    shuffle = random.Random(0)
    names = [f"{i}".encode() for i in range(50)]
    expected: dict[bytes, list[int]] = {}
    data = b""
    for _ in range(40):
        chosen = shuffle.sample(names, 30)
        data += event(*(simple(name, int(name)) for name in chosen))
        for name in chosen:
            expected.setdefault(name, []).append(int(name))
    decoder = decoded(data)
    numbers = [points[2].tolist() for points in decoder.take()[0].values()]
    assert [decoder.tags.raw_name(i) for i in range(len(decoder.tags))] == list(expected)
    assert numbers == list(expected.values())


@given(st.lists(st.sampled_from([b"", b"\0", b"\0\0", b"a", b"ab", b"abcdefgh", b"abcdefg\0"])))
def test_tags_are_numbered_by_first_appearance(names: list[bytes]) -> None:
    decoder = decoded(b"".join(event(simple(name)) for name in names))
    assert [decoder.tags.raw_name(i) for i in range(len(decoder.tags))] == list(
        dict.fromkeys(names)
    )
    scalars = decoder.take()[0]
    assert sum(len(points[0]) for points in scalars.values()) == len(names)


def test_a_value_without_a_tag_has_the_empty_tag() -> None:
    decoder = decoded(event(b"\x15" + bytes(4)) * 2 + event(simple(b"")))
    assert decoder.tags.names() == [""]
    assert decoder.tags.raw_name(0) == b""
    assert len(decoder.take()[0][0][0]) == 3


def test_tags_that_are_not_utf8_are_escaped_and_distinct() -> None:
    decoder = decoded(event(simple(b"\xff"), simple(b"\xfe"), simple("grün".encode())))
    assert decoder.tags.names() == ["\\xff", "\\xfe", "grün"]
    assert decoder.tags.raw_name(1) == b"\xfe"
    assert decoder.tags.names(2) == ["grün"]
    assert decoder.tags.names(-5) == decoder.tags.names()
    assert decoder.tags.names(9) == []


def test_the_first_metadata_of_a_tag_is_kept() -> None:
    tags = Tags()
    decoded(event(values.metadata_only("a", "text", b"1")), tags)
    decoded(event(values.metadata_only("a", "mesh", b"2"), simple(b"b")), tags)
    assert b"text" in (tags.metadata(0) or b"")
    assert b"mesh" not in (tags.metadata(0) or b"")
    assert tags.metadata(1) is None
    empty = decoded(event(b"\x0a\x01c\x4a\x00")).tags
    assert empty.metadata(0) == b""


def test_files_of_one_run_share_their_tags() -> None:
    tags = Tags()
    first = decoded(event(simple(b"a"), simple(b"b")), tags)
    second = decoded(event(simple(b"c"), simple(b"b")), tags)
    assert tags.names() == ["a", "b", "c"]
    assert list(first.take()[0]) == [0, 1]
    assert list(second.take()[0]) == [1, 2]


def test_metadata_of_one_file_applies_to_the_next() -> None:
    tags = Tags()
    decoded(event(values.metadata_only("a", "audio", b"")), tags)
    tensor = values.tensor("a", np.ones((), np.float32))
    assert not decoded(event(tensor), tags).take()[0]
    assert decoded(event(tensor)).take()[0]


def test_an_unknown_tag_number_is_an_index_error() -> None:
    tags = decoded(frame(b"")).tags
    assert len(tags) == 0
    for ask in (tags.raw_name, tags.metadata):
        with pytest.raises(IndexError, match="no tag number 0: there are 0 tags"):
            ask(0)
    with pytest.raises(OverflowError):
        tags.raw_name(-1)


def plugin_tag(tag: str, plugin: str) -> bytes:
    return event(values.metadata_only(tag, plugin, b"x"))


def content(tags: Tags) -> list[object]:
    return [
        tags.plugins(),
        [
            (tags.raw_name(number), tags.plugin(number), tags.metadata(number))
            for number in range(len(tags))
        ],
    ]


@given(st.lists(st.tuples(st.binary(max_size=40), st.text(max_size=9)), max_size=50))
def test_loaded_tags_equal_the_dumped_ones(entries: list[tuple[bytes, str]]) -> None:
    tags = Tags()
    for tag, plugin in entries:
        decoded(event(simple(tag)), tags)
        if plugin:
            decoded(plugin_tag(plugin, plugin), tags)
    loaded = Tags.load(tags.dump())
    assert content(loaded) == content(tags)
    more = event(simple(b"one more"), *(simple(tag) for tag, _ in reversed(entries)))
    assert content(decoded(more, loaded).tags) == content(decoded(more, tags).tags)


@given(st.data())
def test_changed_dumps_are_rejected_or_consistent(data: st.DataObject) -> None:
    tags = Tags()
    decoded(event(simple(b"loss"), simple(b""), simple(b"acc")), tags)
    decoded(plugin_tag("images", "images"), tags)
    dumped = bytearray(tags.dump())
    for _ in range(data.draw(st.integers(1, 3))):
        dumped[data.draw(st.integers(0, len(dumped) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(dumped)))
    for changed in (bytes(dumped), bytes(dumped[:end])):
        try:
            loaded = Tags.load(changed)
        except ValueError:
            continue
        assert Tags.load(loaded.dump()).dump() == loaded.dump()
        content(loaded)
