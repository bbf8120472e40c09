"""Many series end to end, and fewer points of them for the same picture."""

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

# Of each pixel column the first, the last, the lowest and the highest point.
_MOST = 4
_INT64 = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SeriesBatch:
    """Series end to end, so that one call of NumPy works on all of them.

    Attributes:
        x: int64 for steps, otherwise float64.
        columns: what there is at each x; as long as `x`.
        offsets: series `n` has the points from `offsets[n]` to `offsets[n + 1]`.
    """

    x: Column
    columns: tuple[Column, ...]
    offsets: NDArray[np.intp]

    @classmethod
    def of(cls, series: Sequence[Sequence[Column]]) -> SeriesBatch:
        """The batch of one or more series, each its x and its columns."""
        x, *columns = (np.concatenate(parts) for parts in zip(*series, strict=True))
        lengths = [len(one[0]) for one in series]
        return cls(x, tuple(columns), np.cumsum([0, *lengths], dtype=np.intp))

    @classmethod
    def join(cls, batches: Sequence[SeriesBatch]) -> SeriesBatch:
        """One batch of the series of one or more."""
        if len(batches) == 1:
            return batches[0]
        x = np.concatenate([one.x for one in batches])
        parts = zip(*(one.columns for one in batches), strict=True)
        counts = np.concatenate([[0], *(one.counts for one in batches)])
        return cls(x, tuple(map(np.concatenate, parts)), np.cumsum(counts))

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many points each series has."""
        return np.diff(self.offsets)

    @property
    def numbers(self) -> NDArray[np.int32]:
        """The number of the series that each point belongs to."""
        return np.repeat(np.arange(len(self.offsets) - 1, dtype=np.int32), self.counts)

    def take(self, chosen: NDArray[np.intp]) -> SeriesBatch:
        """Some of the points, by their places in increasing order."""
        columns = tuple(column[chosen] for column in self.columns)
        return SeriesBatch(self.x[chosen], columns, np.searchsorted(chosen, self.offsets))

    def in_order(self) -> SeriesBatch:
        """The same points, x never decreasing within a series; equal ones stay as they stood."""
        falls = self.x[1:] < self.x[:-1]
        # From one series to the next it may fall.
        inner = self.offsets[(self.offsets > 0) & (self.offsets < len(self.x))]
        falls[inner - 1] = False
        if not falls.any():
            return self
        order = np.lexsort((self.x, self.numbers))
        return SeriesBatch(self.x[order], tuple(one[order] for one in self.columns), self.offsets)

    def within(self, window: Window) -> SeriesBatch:
        """The points of a window, and of each series one more on either side of it.

        So that lines run to the edges. `x` does not decrease within a series.
        """
        low, high = self._bounds(window)
        before, behind = (self._count(side) for side in (self.x < low, self.x > high))
        starts = self.offsets[:-1] + np.maximum(before - 1, 0)
        sizes = self.offsets[1:] - np.maximum(behind - 1, 0) - starts
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
        """Fewer points, of which `width` columns of pixels show the same as of all.

        Of each column every series keeps its first and last point, the lowest and
        the highest of each of the first `looks` columns of the batch (by default
        all), and one NaN and infinity of either sign where it has them, so that
        neither spike nor gap is lost. A series of no more than four points a
        column stays whole. `window` is what the pixels show, by default all; `x`
        does not decrease within a series.
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
            for found in _extremes(column, starts, parts):
                own = parts[found]
                # Of several the first: a flat line needs no more.
                kept[found[np.diff(own, prepend=-1) != 0]] = True
        return self.take(np.flatnonzero(kept))

    def _pixels(self, width: int, window: Window | None, is_log: bool) -> NDArray[np.int64]:
        """The column of pixels of each point; what lies beside the window is at its edge."""
        low, high = self._bounds(window or (self.x.min(), self.x.max()))
        high = max(low, high)  # a window may lie between two steps
        x = np.clip(self.x, low, high)
        if is_log:
            positive = x[x > 0]
            if not len(positive):
                return np.zeros(len(x), np.int64)
            x = np.log10(np.maximum(x, positive.min()).astype(np.float64))
            low, high = float(x.min()), float(x.max())
        if x.dtype == np.int64:
            # Unsigned, because the distance of two int64 steps may not fit into an int64.
            distance = (x.view(np.uint64) - np.array(low, np.int64).view(np.uint64)).astype(float)
            share = distance / ((high - low) or 1)
        else:
            # Halves, because the distance of two floats may not be a finite float.
            share = (x / 2 - low / 2) / ((high / 2 - low / 2) or 1.0)
        return np.minimum((share * width).astype(np.int64), width - 1)

    def _bounds(self, window: Window) -> tuple[Any, Any]:
        """The edges of a window as numbers that x can be compared with exactly."""
        if self.x.dtype != np.int64:
            return float(window[0]), float(window[1])
        low, high = (min(max(edge, _INT64.min), _INT64.max) for edge in window)
        return math.ceil(low), math.floor(high)

    def _count(self, mask: NDArray[np.bool_]) -> NDArray[np.intp]:
        """How often a mask holds in each series."""
        sums = np.concatenate([[0], np.cumsum(mask)])
        return np.diff(sums[self.offsets])


def _extremes(
    values: Column, starts: NDArray[np.intp], parts: NDArray[np.intp]
) -> list[NDArray[np.intp]]:
    """Where the lowest and the highest of each part are, and what is no finite number."""
    finite = np.isfinite(values)
    if finite.all():
        lows = highs = values
        strange = []
    else:
        lows, highs = (np.where(finite, values, blank) for blank in (np.inf, -np.inf))
        strange = [np.isnan(values), values == np.inf, values == -np.inf]
    return [
        np.flatnonzero(found)
        for found in (
            lows == np.minimum.reduceat(lows, starts)[parts],
            highs == np.maximum.reduceat(highs, starts)[parts],
            *strange,
        )
    ]
