"""Histograms read otherwise: as a distribution, and in buckets of equal width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def tensor_to_histogram(tensor: ArrayLike) -> dict[str, Any]:
    """The histogram that rows of left edge, right edge and count describe.

    `limits` has one edge more than there are rows, and `counts` starts with 0, as
    the other functions ask. What rows do not tell, `sum` and `sum_squares`, is NaN.
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
    """The share of all numbers up to each `x`, with those of a bucket spread evenly over it.

    Raises ValueError unless `x` ascends and there are as many counts as limits.
    """
    edges, points = np.asarray(limits, np.float64), np.asarray(x, np.float64)
    totals = np.cumsum(counts, dtype=np.float64)
    _check(totals, edges)
    if not (np.diff(points) > 0).all():
        raise ValueError("x must ascend")
    # Left of a step in the distribution, as of a bucket without width, is what is below it.
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
    """The middle of each stretch between neighbours in `x`, and the density there."""
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
    """The middles of bins of equal width between the bounds, and how many numbers lie in each.

    A bucket gives each bin the share of its own width that both have in common; one
    without width all to the bin that holds it. Without both bounds, or between equal
    ones, the bins lie about 0 or that bound. Raises ValueError where the first count,
    which stands for what is left of the first limit, is not 0.
    """
    amounts, edges = np.asarray(counts, np.float64), np.asarray(limits, np.float64)
    _check(amounts, edges)
    if amounts[0] != 0:
        raise ValueError(f"the first count must be 0, not {amounts[0]:g}")
    low, high = (
        (0.0, 0.0) if lower_bound is None or upper_bound is None else (lower_bound, upper_bound)
    )
    if low == high:
        low, high = sorted((low / 1.1 - 1, low * 1.1 + 1))
    width = (high - low) / n_bins
    starts = low + np.arange(n_bins) * width
    ends = starts + width
    # The outermost limits may be infinite.
    left, right = np.maximum(edges[:-1], low)[:, None], np.minimum(edges[1:], high)[:, None]
    shared = np.minimum(right, ends) - np.maximum(left, starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(shared > 0, shared / (right - left), 0.0)
    is_last = ends >= high
    holds = (starts <= left) & np.where(is_last, right <= ends, right < ends)
    parts = np.where(right - left > 0, parts, holds)
    return (starts + width / 2).tolist(), (parts * amounts[1:, None]).sum(axis=0).tolist()


def _check(counts: NDArray[np.float64], limits: NDArray[np.float64]) -> None:
    if len(counts) != len(limits):
        raise ValueError(f"{len(counts)} counts and {len(limits)} limits: there must be as many")
