"""Encoders for protobuf messages, field by field.

As in protobuf, fields with a default value are omitted, except for messages and
list items, which `put_message` always writes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def put_varint(value: int) -> bytes:
    """Return an integer as a varint: seven bits per byte, as few bytes as possible."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def put_varints(array: NDArray[Any]) -> bytes:
    """Return many integers as consecutive varints."""
    bits = array.reshape(-1, 1).astype(np.int64).view(np.uint64)
    parts = bits >> np.arange(0, 70, 7, dtype=np.uint64)
    is_used = parts != 0
    is_used[:, 0] = True
    has_more = np.zeros_like(is_used)
    has_more[:, :-1] = is_used[:, 1:]
    coded = (parts & 0x7F | has_more * np.uint64(0x80)).astype(np.uint8)
    return bytes(coded[is_used])


def put_message(number: int, content: bytes) -> bytes:
    """Return a field with a message or list item, even an empty one."""
    return put_varint(number << 3 | 2) + put_varint(len(content)) + content


def put_bytes(number: int, content: bytes) -> bytes:
    """Return a field with a string or bytes, or b"" if the content is empty."""
    return put_message(number, content) if content else b""


def put_integer(number: int, value: int, bits: int = 64) -> bytes:
    """Return a field with an integer. Raises OverflowError if it does not fit in `bits`."""
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise OverflowError(f"{value} does not fit in {bits} bits")
    return put_varint(number << 3) + put_varint(value & 0xFFFF_FFFF_FFFF_FFFF) if value else b""


def put_double(number: int, value: float) -> bytes:
    """Return a field with a float64."""
    content = struct.pack("<d", value)
    return put_varint(number << 3 | 1) + content if any(content) else b""


def put_float(number: int, value: float) -> bytes:
    """Return a field with a float32."""
    content = struct.pack("<f", value)
    return put_varint(number << 3 | 5) + content if any(content) else b""


def put_texts(texts: Iterable[str]) -> bytes:
    """Return strings as fields 1, 2, 3, ..."""
    return b"".join(put_bytes(number, text.encode()) for number, text in enumerate(texts, start=1))
