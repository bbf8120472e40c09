"""Converts histograms to distributions and to bins of equal width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def tensor_to_histogram(tensor: ArrayLike) -> dict[str, Any]:
    """Return the histogram described by rows of left edge, right edge and count.

    `limits` has one more edge than there are rows, and `counts` starts with 0, as the
    other functions require. `sum` and `sum_squares` cannot be computed and are NaN.
    """
    rows = np.asarray(tensor)
    limits = np.concatenate([rows[:1, 0], rows[:, 1]])
    counts = np.concatenate([np.zeros(1, rows.dtype), rows[:, 2]])
    return {
        "limits": limits,
        "counts": counts,
        "min": limits[0],
        "max": limits[-1],
        "num": counts.sum(),
        "sum": np.nan,
        "sum_squares": np.nan,
    }


def histogram_to_cdf(counts: ArrayLike, limits: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
    """Return the fraction of all numbers up to each `x`, assuming evenly filled buckets.

    Raises ValueError unless `x` increases and there are as many counts as limits.
    """
    edges, points = np.asarray(limits, np.float64), np.asarray(x, np.float64)
    totals = np.cumsum(counts, dtype=np.float64)
    _check(totals, edges)
    if not (np.diff(points) > 0).all():
        raise ValueError("x must be increasing")
    # At a jump of the distribution, such as a bucket of zero width, use the lower value.
    right = np.clip(np.searchsorted(edges, points, side="left"), 1, len(edges) - 1)
    low, high = edges[right - 1], edges[right]
    with np.errstate(divide="ignore", invalid="ignore"):
        within = (totals[right - 1] * (high - points) + totals[right] * (points - low)) / (
            high - low
        )
    share = np.where(points <= edges[0], 0.0, np.where(points > edges[-1], totals[-1], within))
    shares: NDArray[np.float64] = share / totals[-1]
    return shares


def histogram_to_pdf(
    counts: ArrayLike, limits: ArrayLike, x: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the midpoint of each interval between neighbors in `x`, and the density there."""
    points = np.asarray(x, np.float64)
    shares = histogram_to_cdf(counts, limits, points)
    return (points[1:] + points[:-1]) / 2, np.diff(shares) / np.diff(points)


def histogram_to_bins(
    counts: ArrayLike,
    limits: ArrayLike,
    lower_bound: float | None = None,
    upper_bound: float | None = None,
    n_bins: int = 30,
) -> tuple[list[float], list[float]]:
    """Return the centers of bins of equal width between the bounds, and the count in each.

    A bucket's count is divided among the bins in proportion to their overlap; a bucket
    of zero width goes to the bin that contains it. If a bound is missing, the bins cover
    a range around 0; if both bounds are equal, they cover a range around that number. Raises
    ValueError if the first count, for numbers left of the first limit, is not 0.
    """
    amounts, edges = np.asarray(counts, np.float64), np.asarray(limits, np.float64)
    _check(amounts, edges)
    if amounts[0] != 0:
        raise ValueError(f"expected 0 as the first count, got {amounts[0]:g}")
    low, high = (
        (0.0, 0.0) if lower_bound is None or upper_bound is None else (lower_bound, upper_bound)
    )
    if low == high:
        low, high = sorted((low / 1.1 - 1, low * 1.1 + 1))
    width = (high - low) / n_bins
    starts = low + np.arange(n_bins) * width
    ends = starts + width
    # The outermost limits can be infinite.
    left, right = np.maximum(edges[:-1], low)[:, None], np.minimum(edges[1:], high)[:, None]
    shared = np.minimum(right, ends) - np.maximum(left, starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(shared > 0, shared / (right - left), 0.0)
    is_last = ends >= high
    contains = (starts <= left) & np.where(is_last, right <= ends, right < ends)
    parts = np.where(right - left > 0, parts, contains)
    return (starts + width / 2).tolist(), (parts * amounts[1:, None]).sum(axis=0).tolist()


def _check(counts: NDArray[np.float64], limits: NDArray[np.float64]) -> None:
    if len(counts) != len(limits):
        raise ValueError(f"expected as many counts as limits, got {len(counts)} and {len(limits)}")
