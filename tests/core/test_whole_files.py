"""Files decoded together in reused memory have the same content as files decoded one by one."""

from typing import Any

import numpy as np
import pytest
from helpers.decoding import PNG, Reading, collect, feed
from hypothesis import given
from hypothesis import strategies as st

from runfold._core.decoder import Decoder
from runfold._core.encoder import EventBuffer
from runfold._core.scalar_columns import ScalarPoints
from runfold._core.tag_table import Tags
from runfold._core.whole_files import decode_whole_files
from runfold._events import value_encoding as values

NUMBERS = [0.0, -0.0, 1.5, np.nan, np.inf]
EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("scalar"), st.sampled_from("abc"), st.integers(-2, 9)),
        st.tuples(st.just("tensor"), st.sampled_from(["a", "b", "d"]), st.integers(0, 9)),
        st.tuples(st.just("image"), st.sampled_from("xy"), st.integers(0, 9)),
        st.tuples(st.just("many"), st.integers(1, 40), st.integers(0, 9)),
        st.tuples(st.just("restart"), st.just(""), st.integers(0, 9)),
        st.tuples(st.just("version"), st.just(""), st.integers(0, 9)),
    ),
    max_size=12,
)
# The number of bytes that are missing at the end, and the position of a damaged byte.
DAMAGE = st.tuples(st.sampled_from([0, 0, 0, 1, 13, 40]), st.none() | st.integers(0, 2000))


def encode(events: list[tuple[str, Any, int]], damage: tuple[int, int | None]) -> bytes:
    buffer = EventBuffer()
    for number, (kind, tag, step) in enumerate(events):
        time = 10.0 + number
        if kind == "scalar":
            buffer.scalar_double(tag, NUMBERS[step % len(NUMBERS)], step, time)
        elif kind == "tensor":
            buffer.value(values.tensor(tag, np.float32(step), "scalars"), step, time)
        elif kind == "image":
            buffer.value(values.image(tag, 1, 1, 3, PNG), step, time)
        elif kind == "many":
            steps = np.arange(step, step + 3)
            names = [f"many-{index}" for index in range(tag)]
            buffer.table(names, steps, steps + time, np.ones((3, tag)))
        elif kind == "restart":
            buffer.session_start(step, time)
        else:
            buffer.file_version(time)
    missing, position = damage
    data = bytearray(buffer.getvalue())
    data = data[: len(data) - missing] if missing else data
    if position is not None and position < len(data):
        data[position] ^= 0x41
    return bytes(data)


def decode_alone(data: bytes) -> tuple[Decoder, Reading]:
    decoder = Decoder(Tags())
    feed(decoder, data)
    return decoder, collect(decoder, data)


class Taken:
    """A decoder whose data was taken already."""

    def __init__(self, content: Any) -> None:
        self.decoder, *taken = content
        scalars, items, notes, restarts, self.head, self.before = taken
        self.taken = scalars, items, notes or [], restarts or []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.decoder, name)

    def take(self) -> Any:
        return self.taken


def decode_together(files: list[bytes], known: dict[bytes, Tags] | None = None) -> list[Taken]:
    known = {} if known is None else known
    contents = decode_whole_files(b"".join(files) + b"rest", list(map(len, files)), known)
    return [Taken(content) for content in contents]


@given(st.lists(st.tuples(EVENTS, DAMAGE), max_size=6))
def test_the_content_is_that_of_files_decoded_alone(
    drawn: list[tuple[list[tuple[str, Any, int]], tuple[int, int | None]]],
) -> None:
    files = [encode(*file) for file in drawn]
    later = encode([("scalar", "later", 3), ("scalar", "a", 4)], (0, None))
    for data, content in zip(files, decode_together(files), strict=True):
        alone, expected = decode_alone(data)
        decoder = content.decoder
        end = alone.offset
        assert content.head == data[: min(end, 64) or 64]
        assert content.before == data[max(0, end - 64) : end]
        assert decoder.needed == alone.needed
        assert decoder.tags.names() == alone.tags.names()
        assert decoder.tags.plugins() == alone.tags.plugins()
        names = range(len(alone.tags))
        assert [decoder.tags.metadata(tag) for tag in names] == [
            alone.tags.metadata(tag) for tag in names
        ]
        np.testing.assert_array_equal(
            (decoder.first_wall_time, decoder.last_wall_time),
            (alone.first_wall_time, alone.last_wall_time),
        )
        assert collect(content, data) == expected
        # Decoding continues at the same place, and adds tags only to this file.
        for each in (alone, decoder):
            feed(each, later)
        assert collect(decoder, data[:end] + later) == collect(alone, data[:end] + later)


def test_files_with_equal_tags_share_them_until_one_of_them_grows() -> None:
    files = [encode([("many", 5, 0)], (0, None))] * 3
    known: dict[bytes, Tags] = {}
    first, second, third = (each.decoder for each in decode_together(files, known))
    (fourth,) = (each.decoder for each in decode_together(files[:1], known))
    assert first.tags.names() is second.tags.names() is fourth.tags.names()
    feed(second, encode([("scalar", "new", 1)], (0, None)))
    assert second.tags.names() == [*first.tags.names(), "new"]
    assert len(first.tags) == len(third.tags) == len(fourth.tags) == 5


def test_a_file_with_too_many_points_to_pack_leaves_nothing_to_the_next() -> None:
    large = encode([("many", 40, step) for step in range(60)], (0, None))
    small = encode([("scalar", "a", 1), ("many", 3, 1)], (0, None))
    for files in ([large, small], [small, large, small], [large, large]):
        for data, content in zip(files, decode_together(files), strict=True):
            assert collect(content, data) == decode_alone(data)[1]


def test_points_outlive_everything_else() -> None:
    (content,) = decode_together([encode([("many", 2, 7)], (0, None))])
    points: ScalarPoints = content.taken[0]
    steps, _, numbers = points[1]
    del content, points
    assert (steps.tolist(), numbers.tolist()) == ([7, 8, 9], [1.0, 1.0, 1.0])


def test_sizes_beyond_the_buffer_are_refused() -> None:
    for sizes in ([5], [2, 3], [-1]):
        with pytest.raises(ValueError, match="outside the buffer"):
            decode_whole_files(b"four", sizes, {})
    assert decode_whole_files(b"", [], {}) == []
