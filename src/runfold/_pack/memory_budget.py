"""Limits on the memory that the content of a pack can take."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np

from runfold._humanize import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._events.event_file import EventFile
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.run_log import RunLog
    from runfold._pack.pack_index import Index

# Bytes of memory per row. A point takes three numbers. Other values take more memory, because
# they are sorted and their positions in the pack are stored.
_POINT_BYTES = 24
_OTHER_BYTES = 96

# The rows of packs can take this much memory in total, plus this many times the size of
# the files. Packs with real wall times reach a factor of 11; 2 million points with the
# same value reach 230, and 490 if their wall times are also equal.
_LEAST_DECODED = 256 << 20
_MOST_DECODED = 256

# Bytes of memory for packing with a limit: per point of the tags that are being located in their
# file, and per point that is collected for the next row groups.
_LOCATED_BYTES = 190
_HELD_BYTES = 100
# The part of the limit for collected points.
_HELD_SHARE = 4


class TooLarge(Exception):
    """Raised for data that expands to at least `size` bytes, more than is allowed."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class Budget:
    """A budget of memory in bytes. Raises TooLarge when it is exhausted."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most

    def spend(self, size: int) -> None:
        """Subtract `size` bytes from the budget."""
        self._left -= size
        if self._left < 0:
            raise TooLarge(self._most)

    def inflate(self, data: bytes, cost: int) -> bytes:
        """Return the inflated data, counting `cost` bytes of memory for each of its bytes.

        Raises TooLarge if they exceed the rest of the budget, and ValueError for truncated
        data.
        """
        most = self._left // cost
        inflate = zlib.decompressobj()
        inflated = inflate.decompress(data, most + 1)
        if len(inflated) > most:
            raise TooLarge(self._most)
        if not inflate.eof:
            raise ValueError("it is truncated")
        return inflated


def rows_size(indexes: Iterable[Index]) -> int:
    """Return the memory that all rows of the given packs take when decoded."""
    total = 0
    for index in indexes:
        counts = index.segments["count"]
        scalar = np.array(index.is_scalar, bool)[index.segments["group"]]
        total += _POINT_BYTES * int(counts[scalar].sum())
        total += _OTHER_BYTES * int(counts[~scalar].sum())
    return total


def most_rows_size(file_size: int) -> int:
    """Return the maximum memory for the rows of packs with this total file size."""
    return _LEAST_DECODED + _MOST_DECODED * file_size


def most_held(limit: int) -> int:
    """Return the number of points that are collected while packing with a memory limit."""
    return max(1, limit // _HELD_SHARE // _HELD_BYTES)


def room_for_points(limit: int) -> int:
    """Return the number of points of a file that are located at a time."""
    return (limit - limit // _HELD_SHARE) // _LOCATED_BYTES


def check_series(cache: PointCache, log: RunLog, file: EventFile) -> None:
    """Raise NotEnoughMemory if the longest series of a file does not fit into a memory limit."""
    counts = file.columns.counts()
    if counts:
        tag = max(counts, key=counts.__getitem__)
        need = -(-_LOCATED_BYTES * (counts[tag] + 1) * _HELD_SHARE // (_HELD_SHARE - 1))
        cache.check(need, f"Packing tag '{escape(log.names[tag])}' in run '{escape(log.name)}'")
