"""How much memory the content of a pack may take once it is unfolded."""

from __future__ import annotations

import zlib


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
