"""The decoded size of Parquet columns, measured before decompression.

The sizes in the footer are only claims: a column of a few kilobytes can decode to
terabytes, because a page can be compressed by a factor of 30,000 and a dictionary
page with one value can represent a million rows. A page cannot decompress to more
than its own header says, so the sum over the headers is a reliable limit.
"""

from __future__ import annotations

import io
import os
from typing import Any

from runfold._pack.memory_budget import TooLarge

# The numbers of page types and encodings in the Parquet format.
_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_PLAIN, _DELTA_LENGTH = 0, 6

# The header field with the details of each page type.
_DETAILS = {_DATA: 5, _DICTIONARY: 7, _DATA_V2: 8}
_DEEPEST = 8


class BoundedFile(io.FileIO):
    """A pack file that returns the pages of a column only if they decode to at most `most` bytes.

    The Parquet reader reads a column of a row group in one piece, so each read is
    measured as a whole. `is_repeated` means that a value is copied for every row,
    as in a column of bytes that is not read as a dictionary. `read` raises
    TooLarge, or ValueError for bytes that are not complete pages.
    """

    def __init__(self, path: str, most: int, is_repeated: bool) -> None:
        super().__init__(path)
        self._most = most
        self._is_repeated = is_repeated
        self._end = os.fstat(self.fileno()).st_size

    def read(self, size: int | None = -1) -> bytes:
        """Return the pages of a column chunk."""
        if size is None or not 0 <= size <= self._end:
            raise ValueError("a column is longer than its file")
        data = super().read(size)
        total = decoded_size(data, self._is_repeated)
        if total > self._most:
            raise TooLarge(total)
        return data


def decoded_size(data: bytes, is_repeated: bool) -> int:
    """Return the maximum number of bytes that the pages of a column can decode to.

    Raises ValueError for bytes that are not complete pages.
    """
    total = largest = at = 0
    while at < len(data):
        try:
            header, at = _struct(data, at, 0)
            kind, size, stored = header[1], header[2], header[3]
            detail = header[_DETAILS[kind]]
            values, encoding = detail[1], detail[4 if kind == _DATA_V2 else 2]
        except (KeyError, IndexError, TypeError):
            raise ValueError("the header of a page is invalid") from None
        at += stored
        if min(size, stored, values) < 0 or at > len(data):
            raise ValueError("a page is longer than its column")
        size = max(size, stored)
        largest = max(largest, size)
        total += size
        # All other encodings can repeat a value without storing it again.
        if is_repeated and kind != _DICTIONARY and encoding not in (_PLAIN, _DELTA_LENGTH):
            total += values * largest
    return total


# The header is a struct in Thrift's compact protocol.


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """Return the fields of a struct by number, and the position after the struct."""
    if depth > _DEEPEST:
        raise IndexError
    fields: dict[int, Any] = {}
    number = 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            number += step
        else:
            number, at = _integer(data, at)
        fields[number], at = _value(data, at, kind, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:
        return data[at], at + 1
    if kind in (4, 5, 6):
        return _integer(data, at)
    if kind == 7:
        return None, at + 8
    if kind == 8:
        size, at = _varint(data, at)
        return None, at + size
    if kind == 12:
        return _struct(data, at, depth + 1)
    raise IndexError  # page headers contain no lists or maps


def _integer(data: bytes, at: int) -> tuple[int, int]:
    number, at = _varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return number, at
        shift += 7
        if shift > 63:
            raise IndexError
