"""Histograms for display: on shared bins, and as quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from runfold._events.kinds.histogram import Histogram

# The minimum, median and maximum, and 0.5, 1 and 1.5 standard deviations of a normal
# distribution on either side of the median, as in TensorBoard's distributions.
QUANTILES = (0.0, 0.0668, 0.1587, 0.3085, 0.5, 0.6915, 0.8413, 0.9332, 1.0)

# Number of buckets to spread over the bins at a time. One logged value can have millions.
_BATCH = 4096


class Buckets:
    """The non-empty buckets of a histogram that have a position on the axis.

    A bucket that is open at one end is placed at its other end. `outside` counts the
    values in buckets without a finite edge, which an axis cannot show.
    """

    __slots__ = ("counts", "left", "outside", "right")

    def __init__(self, histogram: Histogram) -> None:
        counts = np.asarray(histogram.counts, np.float64)
        filled = np.isfinite(counts) & (counts > 0)
        edges = np.stack([histogram.left[filled], histogram.right[filled]]).astype(np.float64)
        has_edge = np.isfinite(edges)
        edges = np.where(has_edge, edges, edges[::-1])
        placed = has_edge.any(axis=0)
        edges = np.sort(edges[:, placed], axis=0)
        order = np.lexsort((edges[1], edges[0]))
        self.left, self.right = edges[:, order]
        self.counts = counts[filled][placed][order]
        self.outside = float(counts[filled][~placed].sum())


def share_edges(histograms: Iterable[Buckets], bins: int) -> NDArray[np.float64]:
    """Return the edges of `bins` equal bins over all histograms; from 0 to 1 if all are empty."""
    filled = [histogram for histogram in histograms if len(histogram.counts)]
    low = min((float(histogram.left[0]) for histogram in filled), default=0.0)
    high = max((float(histogram.right.max()) for histogram in filled), default=1.0)
    if low == high:
        half = max(0.5, abs(low) * 1e-6)
        largest = float(np.finfo(np.float64).max)
        low, high = max(low - half, -largest), min(high + half, largest)
    # linspace is not used, because the distance between the ends may overflow a float.
    part = np.arange(bins + 1) / bins
    return low * (1.0 - part) + high * part


def resample(buckets: Buckets, edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how much of a histogram is in each bin, assuming evenly filled buckets."""
    below = np.zeros(len(edges))
    # Everything is halved, because the width of a bucket may overflow a float.
    left, width = buckets.left / 2, buckets.right / 2 - buckets.left / 2
    is_wide = width > 0
    left, width, counts = left[is_wide, None], width[is_wide, None], buckets.counts[is_wide]
    for start in range(0, len(counts), _BATCH):
        part = slice(start, start + _BATCH)
        with np.errstate(over="ignore"):
            share = np.clip((edges / 2 - left[part]) / width[part], 0.0, 1.0)
        below += counts[part] @ share
    points = np.histogram(buckets.left[~is_wide], edges, weights=buckets.counts[~is_wide])[0]
    binned: NDArray[np.float64] = np.diff(below) + points
    return binned


def find_quantiles(buckets: Buckets) -> NDArray[np.float64]:
    """Return the QUANTILES of a histogram, assuming evenly filled buckets; NaN if it is empty."""
    if not len(buckets.counts):
        return np.full(len(QUANTILES), np.nan)
    below = np.cumsum(buckets.counts)
    targets = np.array(QUANTILES) * below[-1]
    number = np.minimum(np.searchsorted(below, targets), len(below) - 1)
    counts = buckets.counts[number]
    part = np.clip((targets - (below[number] - counts)) / counts, 0.0, 1.0)
    quantiles: NDArray[np.float64] = (
        buckets.left[number] * (1.0 - part) + buckets.right[number] * part
    )
    return quantiles
