"""Columns of long tables that take little memory: repeated, not yet joined or not yet read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, repeat
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray


class Repeated(Sequence[Any]):
    """A read-only list in which each value is repeated: `Repeated(["a", "b"], [2, 1])`."""

    def __init__(self, distinct: Sequence[Any], counts: Sequence[int]) -> None:
        self.distinct = distinct
        self.counts = counts
        self._ends = list(accumulate(counts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(map(repeat, self.distinct, self.counts))

    @overload
    def __getitem__(self, rows: int) -> Any: ...
    @overload
    def __getitem__(self, rows: slice) -> list[Any]: ...
    def __getitem__(self, rows: int | slice) -> Any:
        """Return the value of a row, or a list with the values of several."""
        if not isinstance(rows, slice):
            return self.distinct[bisect_right(self._ends, range(len(self))[rows])]
        start, stop, step = rows.indices(len(self))
        numbers = np.searchsorted(self._ends, np.arange(start, stop, step), side="right")
        return list(map(self.distinct.__getitem__, numbers.tolist()))


class Joined:
    """Arrays one after the other, joined only where rows are requested."""

    def __init__(self, pieces: Sequence[NDArray[Any]]) -> None:
        self._pieces = pieces
        self._ends = list(accumulate(map(len, pieces)))
        self.dtype: np.dtype[Any] = np.result_type(*pieces)

    def __len__(self) -> int:
        return self._ends[-1]

    def __iter__(self) -> Iterator[Any]:
        return chain.from_iterable(self._pieces)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return an array with the given rows, in order; not a copy if one array has them all."""
        start, stop, step = rows.indices(len(self))
        assert step == 1
        parts = [
            piece[max(start - end + len(piece), 0) : stop - end + len(piece)]
            for piece, end in zip(self._pieces, self._ends, strict=True)
            if max(start, end - len(piece)) < min(stop, end)
        ]
        if len(parts) == 1:
            return parts[0].astype(self.dtype, copy=False)
        return np.concatenate([np.empty(0, self.dtype), *parts])


class Requested:
    """An array that a function reads where rows are requested."""

    def __init__(self, read: Callable[[int, int], NDArray[Any]], count: int) -> None:
        self._read = read
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Any]:
        return iter(self[:])

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, step = rows.indices(self._count)
        assert step == 1
        return self._read(start, stop)
