"""Histograms of arrays, with the buckets and statistics that torch and TensorFlow store."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from runfold._events import value_encoding
from runfold._log.writer.convert import as_array, as_number, as_real, refuse, warn_about
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

TENSORFLOW = "tensorflow"


class Histogram(NamedTuple):
    """A histogram with `counts[i]` values up to `limits[i]`, in the field order of the event."""

    min: float
    max: float
    num: float
    sum: float
    sum_squares: float
    limits: NDArray[Any]
    counts: NDArray[Any]


def finite_numbers(given: Any, tag: str) -> tuple[NDArray[np.float64], int]:
    """Return the finite numbers in an array, flattened, and the count of all others.

    Raises CannotLog if no number is finite.
    """
    array = as_real(given, tag, "values")
    if array.size == 0:
        raise CannotLog(refuse(tag, "values", given, "it is empty"))
    numbers: NDArray[np.float64] = array.astype(np.float64).reshape(-1)
    # NaN and infinity show in the minimum or maximum, so most arrays need no second pass.
    if np.isfinite(numbers.min()) and np.isfinite(numbers.max()):
        return numbers, 0
    finite = numbers[np.isfinite(numbers)]
    if not finite.size:
        raise CannotLog(refuse(tag, "values", given, "it contains no finite numbers"))
    return finite, numbers.size - finite.size


def count(numbers: NDArray[np.float64], tag: str, bins: Any, max_bins: Any = None) -> Histogram:
    """Return the histogram of an array of finite numbers.

    `bins` is "tensorflow" or any `bins` argument of `numpy.histogram`. As in torch, if there are
    more than `max_bins` bins, groups of adjacent bins are merged; up to `2 * max_bins` bins can
    remain. If all numbers are outside the bins, warns and returns one empty bucket. Raises
    CannotLog for invalid input; the message names the argument.
    """
    counts, limits = _join(*_count(numbers, tag, bins), tag, max_bins)
    filled = np.flatnonzero(counts)
    if filled.size:
        first, last = filled[0], filled[-1]
        # Only right limits are stored, so an empty first bucket holds the leftmost limit.
        counts, limits = np.append(0, counts[first : last + 1]), limits[first : last + 2]
    else:
        warn_about(tag, "values", "are all outside the bins; the histogram is empty")
        counts, limits = np.zeros(1), limits[-1:]
    with np.errstate(over="ignore", invalid="ignore"):
        total, squares = float(numbers.sum()), float(numbers.dot(numbers))
    return Histogram(
        float(numbers.min()),
        float(numbers.max()),
        len(numbers),
        total,
        squares,
        limits,
        counts,
    )


def encode(tag: str, counted: Histogram) -> bytes:
    """Return the `Summary.Value` of a histogram, as torch stores it."""
    low, high, num, total, squares, limits, counts = counted
    return value_encoding.histogram(tag, low, high, num, total, squares, limits, counts)


def _count(numbers: NDArray[np.float64], tag: str, bins: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    if not isinstance(bins, str | int):
        bins = as_array(bins, tag, "bins")
        if np.isnan(bins).any():
            raise CannotLog(refuse(tag, "bins", bins, "an edge is NaN"))
    try:
        edges = default_limits() if isinstance(bins, str) and bins == TENSORFLOW else bins
        counts, limits = np.histogram(numbers, bins=edges)
    except (ValueError, TypeError, IndexError, OverflowError, MemoryError) as error:
        raise CannotLog(refuse(tag, "bins", bins, str(error).rstrip("."))) from error
    if not len(counts):
        raise CannotLog(refuse(tag, "bins", bins, "expected at least two edges"))
    return counts, limits


def _join(
    counts: NDArray[Any], limits: NDArray[Any], tag: str, max_bins: Any
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Merge bins if there are more than `max_bins`. Raises CannotLog for an invalid limit."""
    most = math.inf if max_bins is None else as_number(max_bins, tag, "max_bins")
    if not len(counts) > most:
        return counts, limits
    if most < 1:
        raise CannotLog(refuse(tag, "max_bins", max_bins, "expected a positive number"))
    width = len(counts) // int(most)
    joined = np.add.reduceat(counts, np.arange(0, len(counts), width))
    return joined, np.append(limits[:-1:width], limits[-1])


@functools.cache
def default_limits() -> NDArray[np.float64]:
    """Return bucket limits on both sides of 0, from 1e-12 to 1e20, growing by 10 % each."""
    limits, limit = [], 1e-12
    while limit < 1e20:
        limits.append(limit)
        limit *= 1.1
    return np.array([-limit for limit in reversed(limits)] + [0.0] + limits)
