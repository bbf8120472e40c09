"""The protobuf wire for Python code: walk the fields of one message, bounds-checked.

For messages of a few fields, where a compiled message class would cost an import,
and for large ones of which only the first bytes are at hand.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

VARINT, FIXED64, BYTES, GROUP_START, GROUP_END, FIXED32 = range(6)
MAX_GROUP_DEPTH = 64
LOOK_AHEAD = 64
# So much of a large value is looked at first.
FIRST_LOOK = 4 * LOOK_AHEAD

Data = bytes | memoryview
T = TypeVar("T")


class Malformed(ValueError):
    """The bytes are not a protobuf message."""


class NeedMore(Exception):
    """The prefix ends too early: at least its first `size` bytes are needed."""

    def __init__(self, size: int) -> None:
        super().__init__(f"the first {size} bytes are needed")
        self.size = size


class Field(NamedTuple):
    """One field: `value` of a number as its raw bits, else the span [start, stop) of its bytes."""

    number: int
    wire_type: int
    value: int
    start: int
    stop: int


def fields(data: Data, start: int = 0, stop: int | None = None) -> Iterator[Field]:
    """Yield the fields of the message that lies at [start, stop) of the data.

    `stop` may lie beyond the data, for a message of which only the first bytes
    were fetched: a byte string that goes on past them is yielded by its span, and
    NeedMore is raised where a field starts past them. Groups are stepped over.
    """
    stop = len(data) if stop is None else stop
    groups: list[int] = []
    at = start
    while at < stop:
        key, at = _varint(data, at, stop)
        number, wire_type = key >> 3, key & 7
        value = 0
        if number == 0 or key >> 32:
            raise Malformed(f"byte {at} does not follow a field key")
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
            raise Malformed(f"field {number} has the wire type {wire_type}, out of place")
        if end > stop:
            raise Malformed(f"field {number} runs past the end of its message")
        if not groups:
            yield Field(number, wire_type, value, at, end)
        at = end
    if groups:
        raise Malformed("a group has no end")


def span(data: Data, start: int, stop: int) -> bytes:
    """Give the bytes [start, stop), or raise NeedMore when they were not all fetched."""
    if stop > len(data):
        raise NeedMore(stop)
    return bytes(data[start:stop])


def grow(parse: Callable[[Data, int], T], read: Callable[[int], Data], length: int) -> T:
    """Give parse(prefix, length), with as short a prefix from `read(size)` as parse accepts."""
    size = min(length, FIRST_LOOK)
    while True:
        prefix = read(size)
        try:
            return parse(prefix, length)
        except NeedMore as more:
            # A file that shrank gives less than was asked for, again and again.
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
    raise Malformed("a number is cut off or longer than 64 bits")
