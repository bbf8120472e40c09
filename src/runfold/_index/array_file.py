"""A file of named arrays and texts, each with a checksum.

The layout: magic bytes, the size and checksum of the header, the header in JSON, and the arrays,
one after the other. All checksums are CRC-32C, which takes 2 % of the time of a cryptographic
hash. They detect damage; nobody but the user can write to the file.
"""

from __future__ import annotations

import json
import struct
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._core.checksum import masked_crc32c
from runfold._files import open_draft, read_small

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

# The number at the end changes with every change of the content.
_MAGIC = b"runfold-index-1\n"
_HEAD = struct.Struct("<16sQI")
_ALIGNMENT = 8

# A larger file is treated as damaged.
_MOST_BYTES = 4 << 30


class DamagedIndex(Exception):
    """An index cannot be used. Internal: the index is then ignored and written again."""


class IndexFile:
    """An index in memory. Raises DamagedIndex if any part of it is damaged."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        try:
            magic, size, checksum = _HEAD.unpack_from(content)
            header = content[_HEAD.size : _HEAD.size + size]
            if magic != _MAGIC or len(header) != size or masked_crc32c(header) != checksum:
                raise DamagedIndex(path)
            decoded = json.loads(header)
            self.facts: dict[str, Any] = decoded["facts"]
            first = _aligned(_HEAD.size + size)
            if decoded["byte_order"] != sys.byteorder:
                raise DamagedIndex(path)
            self._arrays = {
                name: _read_array(content, first + start, length, checksum, kind, shape)
                for name, (kind, shape, start, length, checksum) in decoded["parts"].items()
            }
            if first + decoded["size"] != len(content):
                raise DamagedIndex(path)
        except (struct.error, ValueError, KeyError, TypeError) as error:
            raise DamagedIndex(path) from error

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def array(self, name: str) -> NDArray[Any]:
        """Return an array, read-only. Raises DamagedIndex if there is none."""
        if name not in self._arrays:
            raise DamagedIndex(self.path)
        return self._arrays[name]

    def content(self, name: str) -> bytes:
        """Return an array's bytes."""
        return self.array(name).tobytes()

    def texts(self, name: str) -> list[str]:
        """Return a list of texts."""
        data = self.array(name)
        if not len(data):
            return []
        return data.tobytes().decode("utf-8", "surrogateescape").split("\0")


def read_index(path: str) -> IndexFile:
    """Return an index. Raises OSError if there is none, and DamagedIndex if it is damaged."""
    return IndexFile(path, read_small(path, _MOST_BYTES))


def write_index(
    path: str, facts: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | bytes | Sequence[str]]
) -> int:
    """Replace an index completely or not at all; return its size. Raises OSError."""
    parts: dict[str, list[Any]] = {}
    pieces: list[Any] = []
    at = 0
    for name, content in arrays.items():
        array = _as_array(content)
        length = array.nbytes
        data = array.reshape(-1).view(np.uint8).data if length else b""
        parts[name] = [array.dtype.str, array.shape, at, length, masked_crc32c(data)]
        padding = _aligned(length) - length
        pieces += [data, bytes(padding)]
        at += length + padding
    header = json.dumps(
        {"byte_order": sys.byteorder, "size": at, "facts": facts, "parts": parts}
    ).encode()
    head = _HEAD.pack(_MAGIC, len(header), masked_crc32c(header)) + header
    with open_draft(path, 0o600) as file:
        file.write(head + bytes(_aligned(len(head)) - len(head)))
        for piece in pieces:
            file.write(piece)
    return _aligned(len(head)) + at


def _read_array(
    content: bytes, start: int, length: int, checksum: int, kind: str, shape: Sequence[int]
) -> NDArray[Any]:
    data = memoryview(content)[start : start + length]
    if len(data) != length or masked_crc32c(data) != checksum:
        raise ValueError("the checksum of an array is wrong")
    return np.frombuffer(data, kind).reshape(shape)


def _as_array(content: NDArray[Any] | bytes | Sequence[str]) -> NDArray[Any]:
    if isinstance(content, np.ndarray):
        return np.ascontiguousarray(content)
    if not isinstance(content, bytes):
        # No name or path contains a NUL.
        content = "\0".join(content).encode("utf-8", "surrogateescape")
    return np.frombuffer(content, np.uint8)


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
