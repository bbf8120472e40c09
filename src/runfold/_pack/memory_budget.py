"""How much memory the content of a pack may take once it is unfolded."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._pack.pack_index import Index

# Bytes of memory per row: a point is three numbers. Another value takes more, for its
# place in the pack and while the values are sorted.
_POINT_BYTES = 24
_OTHER_BYTES = 96

# The rows of packs may take this much memory in total, and this many times the size of
# the files on top. Packs with real wall times reach 11 times; 2 million points with the
# same value reach 230 times, and 490 times if their wall times are also equal.
_LEAST_DECODED = 256 << 20
_MOST_DECODED = 256


class TooLarge(Exception):
    """Something unfolds to more bytes than it may: `size`, or more."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Budget:
    """Bytes of memory that may still be taken. Raises TooLarge when none are left."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most

    def spend(self, size: int) -> None:
        """Take some of it."""
        self._left -= size
        if self._left < 0:
            raise TooLarge(self._most)

    def inflate(self, data: bytes, cost: int) -> bytes:
        """Inflate as much as the budget allows, at `cost` bytes for each byte of the result.

        Raises ValueError for data that is cut short.
        """
        most = self._left // cost
        inflate = zlib.decompressobj()
        found = inflate.decompress(data, most + 1)
        if len(found) > most:
            raise TooLarge(self._most)
        if not inflate.eof:
            raise ValueError("it is cut short")
        return found


def rows_size(indexes: Iterable[Index]) -> int:
    """Return the memory that all rows of some packs take when they are decoded."""
    total = 0
    for index in indexes:
        counts = index.segments["count"]
        scalar = np.array(index.is_scalar, bool)[index.segments["group"]]
        total += _POINT_BYTES * int(counts[scalar].sum())
        total += _OTHER_BYTES * int(counts[~scalar].sum())
    return total


def most_rows_size(file_size: int) -> int:
    """Return the memory that the rows of packs of this size may take."""
    return _LEAST_DECODED + _MOST_DECODED * file_size
