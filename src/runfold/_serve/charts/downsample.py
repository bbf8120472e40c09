"""Batches of series, and downsampling that preserves the picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Column = NDArray[Any]
    Window = tuple[float, float]

# The first, last, lowest and highest point of each pixel column.
_MOST = 4
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SeriesBatch:
    """Concatenated series, so that one NumPy call processes all of them.

    Attributes:
        x: int64 for steps, otherwise float64.
        columns: arrays of the values at each x, each as long as `x`.
        offsets: series `n` has the points from `offsets[n]` to `offsets[n + 1]`.
    """

    x: Column
    columns: tuple[Column, ...]
    offsets: NDArray[np.intp]

    @classmethod
    def of(cls, series: Sequence[Sequence[Column]]) -> SeriesBatch:
        """Return a batch of one or more series, each given as x and its columns."""
        x, *columns = (np.concatenate(parts) for parts in zip(*series, strict=True))
        lengths = [len(columns[0]) for columns in series]
        return cls(x, tuple(columns), np.cumsum([0, *lengths], dtype=np.intp))

    @classmethod
    def join(cls, batches: Sequence[SeriesBatch]) -> SeriesBatch:
        """Concatenate one or more batches."""
        if len(batches) == 1:
            return batches[0]
        x = np.concatenate([batch.x for batch in batches])
        parts = zip(*(batch.columns for batch in batches), strict=True)
        counts = np.concatenate([[0], *(batch.counts for batch in batches)])
        return cls(x, tuple(map(np.concatenate, parts)), np.cumsum(counts))

    @property
    def counts(self) -> NDArray[np.intp]:
        """Number of points in each series."""
        return np.diff(self.offsets)

    @property
    def numbers(self) -> NDArray[np.int32]:
        """Index of the series that each point belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), self.counts)

    def take(self, chosen: NDArray[np.intp]) -> SeriesBatch:
        """Return the points at these indices, which must be in increasing order."""
        columns = tuple(column[chosen] for column in self.columns)
        return SeriesBatch(self.x[chosen], columns, np.searchsorted(chosen, self.offsets))

    def in_order(self) -> SeriesBatch:
        """Sort the points of each series by x; points with equal x keep their order."""
        falls = self.x[1:] < self.x[:-1]
        # x can decrease from one series to the next.
        inner = self.offsets[(self.offsets > 0) & (self.offsets < len(self.x))]
        falls[inner - 1] = False
        if not falls.any():
            return self
        order = np.lexsort((self.x, self.numbers))
        return SeriesBatch(
            self.x[order], tuple(column[order] for column in self.columns), self.offsets
        )

    def within(self, window: Window) -> SeriesBatch:
        """Return the points in a window, plus one point of each series on either side of it.

        Lines therefore extend to the window's edges. `x` must not decrease within a series.
        """
        low, high = self._bounds(window)
        before, after = (self._count(side) for side in (self.x < low, self.x > high))
        starts = self.offsets[:-1] + np.maximum(before - 1, 0)
        sizes = self.offsets[1:] - np.maximum(after - 1, 0) - starts
        if sizes.sum() == len(self.x):
            return self
        ends = np.cumsum(sizes)
        return self.take(np.arange(sizes.sum()) + np.repeat(starts - ends + sizes, sizes))

    def thin(
        self,
        width: int,
        window: Window | None = None,
        *,
        is_log: bool = False,
        looks: int | None = None,
    ) -> SeriesBatch:
        """Return fewer points that look the same on a chart of `width` pixel columns.

        In each pixel column, every series keeps its first and last point, and the lowest
        and highest value of the batch's first `looks` columns (by default, all columns).
        Every series also keeps one NaN and one infinity of each sign, so that no spike or
        gap is lost. A series with up to four points per pixel column is kept whole.
        `window` is the visible range, by default the full range. `x` must not decrease
        within a series.
        """
        is_long = self.counts > _MOST * width
        if not is_long.any():
            return self
        pixels = self._pixels(width, window, is_log)
        pixels += self.numbers.astype(np.int64) * width
        is_first = np.concatenate([[True], pixels[1:] != pixels[:-1]])
        kept = is_first | np.concatenate([is_first[1:], [True]])
        kept |= np.repeat(~is_long, self.counts)
        starts = np.flatnonzero(is_first)
        parts = np.cumsum(is_first) - 1
        for column in self.columns[:looks]:
            for indices in _extremes(column, starts, parts):
                own = parts[indices]
                # Keep the first of several equal extremes: a flat line needs no more.
                kept[indices[np.diff(own, prepend=-1) != 0]] = True
        return self.take(np.flatnonzero(kept))

    def _pixels(self, width: int, window: Window | None, is_log: bool) -> NDArray[np.int64]:
        """Return each point's pixel column: the first or last for points outside the window."""
        low, high = self._bounds(window or (self.x.min(), self.x.max()))
        high = max(low, high)  # a window can be between two steps
        x = np.clip(self.x, low, high)
        if is_log:
            positive = x[x > 0]
            if not len(positive):
                return np.zeros(len(x), np.int64)
            x = np.log10(np.maximum(x, positive.min()).astype(np.float64))
            low, high = float(x.min()), float(x.max())
        if x.dtype == np.int64:
            # Unsigned, because the distance between two int64 steps may not fit into an int64.
            distance = (x.view(np.uint64) - np.array(low, np.int64).view(np.uint64)).astype(float)
            share = distance / ((high - low) or 1)
        else:
            # Halved, because the distance between two floats may not be finite.
            share = (x / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
        return np.minimum((share * width).astype(np.int64), width - 1)

    def _bounds(self, window: Window) -> tuple[Any, Any]:
        """Return a window's edges as numbers that compare exactly with x."""
        if self.x.dtype != np.int64:
            return float(window[0]), float(window[1])
        low, high = (min(max(edge, _INT64.min), _INT64.max) for edge in window)
        return math.ceil(low), math.floor(high)

    def _count(self, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """Count the True values of a mask in each series."""
        sums = np.concatenate([[0], np.cumsum(mask)])
        return np.diff(sums[self.offsets])


def _extremes(
    values: Column, starts: NDArray[np.intp], parts: NDArray[np.intp]
) -> list[NDArray[np.intp]]:
    """Return the indices of each part's minimum and maximum, and of non-finite values."""
    finite = np.isfinite(values)
    if finite.all():
        lows = highs = values
        non_finite = []
    else:
        lows, highs = (np.where(finite, values, blank) for blank in (np.inf, -np.inf))
        non_finite = [np.isnan(values), values == np.inf, values == -np.inf]
    return [
        np.flatnonzero(mask)
        for mask in (
            lows == np.minimum.reduceat(lows, starts)[parts],
            highs == np.maximum.reduceat(highs, starts)[parts],
            *non_finite,
        )
    ]
