"""Bounds-checked iteration over the fields of a protobuf message.

This is for small messages, where a compiled message class is not worth its import, and
for large messages that have been read only in part.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

VARINT, FIXED64, BYTES, GROUP_START, GROUP_END, FIXED32 = range(6)
MAX_GROUP_DEPTH = 64
LOOK_AHEAD = 64
# Number of bytes of a large value to read first.
FIRST_LOOK = 4 * LOOK_AHEAD

Data = bytes | memoryview
T = TypeVar("T")


class Malformed(ValueError):
    """The bytes are not a protobuf message."""


class NeedMore(Exception):
    """The prefix is too short: at least the first `size` bytes are needed."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the first {size} bytes are needed")
        self.size = size


class Field(NamedTuple):
    """A field: `value` is the raw bits of a number; [start, stop) is the span of a byte string."""

    number: int
    wire_type: int
    value: int
    start: int
    stop: int


def fields(data: Data, start: int = 0, stop: int | None = None) -> Iterator[Field]:
    """Yield the fields of the message at [start, stop) in the data.

    `stop` can be beyond the end of the data if only the first bytes of the message
    have been fetched. A byte string that extends past these bytes is yielded as a span;
    NeedMore is raised for a field that starts past them. Groups are skipped.
    """
    stop = len(data) if stop is None else stop
    groups: list[int] = []
    at = start
    while at < stop:
        key, at = _varint(data, at, stop)
        number, wire_type = key >> 3, key & 7
        value = 0
        if number == 0 or key >> 32:
            raise Malformed(f"invalid field key before byte {at}")
        if wire_type == VARINT:
            value, end = _varint(data, at, stop)
        elif wire_type in (FIXED32, FIXED64):
            end = at + (4 if wire_type == FIXED32 else 8)
            value = int.from_bytes(span(data, at, min(end, stop)), "little")
        elif wire_type == BYTES:
            size, at = _varint(data, at, stop)
            end = at + size
        elif wire_type == GROUP_START and len(groups) < MAX_GROUP_DEPTH:
            groups.append(number)
            continue
        elif wire_type == GROUP_END and groups and groups.pop() == number:
            continue
        else:
            raise Malformed(f"field {number} has an invalid or misplaced wire type {wire_type}")
        if end > stop:
            raise Malformed(f"field {number} runs past the end of its message")
        if not groups:
            yield Field(number, wire_type, value, at, end)
        at = end
    if groups:
        raise Malformed("a group is not closed")


def span(data: Data, start: int, stop: int) -> bytes:
    """Return the bytes [start, stop). Raises NeedMore if they have not all been fetched."""
    if stop > len(data):
        raise NeedMore(stop)
    return bytes(data[start:stop])


def grow(parse: Callable[[Data, int], T], read: Callable[[int], Data], length: int) -> T:
    """Return parse(prefix, length), with the shortest prefix from `read(size)` that suffices."""
    size = min(length, FIRST_LOOK)
    while True:
        prefix = read(size)
        try:
            return parse(prefix, length)
        except NeedMore as more:
            # A file that shrank returns fewer bytes than requested on every attempt.
            if len(prefix) < size or not size < more.size <= length:
                raise Malformed(f"the value ends after {len(prefix)} of {length} bytes") from None
            size = more.size


def _varint(data: Data, at: int, stop: int) -> tuple[int, int]:
    value = shift = 0
    while at < stop:
        if at >= len(data):
            raise NeedMore(min(at + LOOK_AHEAD, stop))
        byte = data[at]
        at += 1
        if shift == 63 and byte > 1:
            break
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise Malformed("a number is truncated or longer than 64 bits")
