"""Precision and recall over thresholds: the tensor that TensorBoard's PR curves page draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold.errors import CannotLog
from runfold.log.arrays import as_array, refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

# As many as torch and tensorboardX write at most, whatever is asked for.
MOST_THRESHOLDS = 127
ROWS = (
    "true_positive_counts",
    "false_positive_counts",
    "true_negative_counts",
    "false_negative_counts",
    "precision",
    "recall",
)


def limit_thresholds(asked: Any, tag: str) -> int:
    """The number of thresholds that is meant. Raises CannotLog."""
    if not isinstance(asked, int | np.integer) or isinstance(asked, bool) or asked < 1:
        reason = "a whole number from 1 on is meant"
        raise CannotLog(refuse(tag, "num_thresholds", asked, reason))
    return min(int(asked), MOST_THRESHOLDS)


def count_curve(
    tag: str, labels: Any, predictions: Any, thresholds: int, weights: Any = None
) -> tuple[NDArray[np.float64], int]:
    """The six rows of a curve (see `ROWS`), and how many predictions no threshold holds.

    A prediction counts at all thresholds up to it; those that are not from 0 to 1
    are left out. Raises CannotLog, which names the argument.
    """
    scores = as_array(predictions, tag, "predictions")
    if not scores.size:
        raise CannotLog(refuse(tag, "predictions", predictions, "it is empty"))
    truth = _real(labels, tag, "labels")
    if truth.shape != scores.shape:
        reason = f"its shape {truth.shape} is not {scores.shape}, that of predictions"
        raise CannotLog(refuse(tag, "labels", labels, reason))
    weight = np.float64(1) if weights is None else _real(weights, tag, "weights")
    if weight.shape not in ((), (1,), scores.shape):
        reason = f"its shape {weight.shape} is not {scores.shape}, that of predictions"
        raise CannotLog(refuse(tag, "weights", weights, reason))
    if scores.dtype.kind == "c":
        raise CannotLog(refuse(tag, "predictions", predictions, "they are complex numbers"))
    with np.errstate(over="ignore", invalid="ignore"):
        index = np.floor(scores * (thresholds - 1))
        is_inside = (index >= 0) & (index < thresholds)
    if not is_inside.any():
        reason = "none is a probability, from 0 to 1"
        raise CannotLog(refuse(tag, "predictions", predictions, reason))
    bucket = index[is_inside].astype(np.intp)
    positive = np.bincount(bucket, (truth * weight)[is_inside], thresholds)
    negative = np.bincount(bucket, ((1 - truth) * weight)[is_inside], thresholds)
    # How many are at or above each threshold.
    tp, fp = np.cumsum(positive[::-1])[::-1], np.cumsum(negative[::-1])[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7  # where there is nothing, a ratio is 0
    precision, recall = tp / np.maximum(least, tp + fp), tp / np.maximum(least, tp + fn)
    rows = np.stack([tp, fp, tn, fn, precision, recall])
    return rows, int(scores.size - np.count_nonzero(is_inside))


def stack_rows(tag: str, rows: tuple[Any, ...]) -> NDArray[np.float64]:
    """Six rows of a curve as they were given. Raises CannotLog, which names the argument."""
    found = [_real(row, tag, name, may_be_nan=True) for name, row in zip(ROWS, rows, strict=True)]
    for name, given, row in zip(ROWS, rows, found, strict=True):
        if row.ndim != 1 or row.shape != found[0].shape:
            reason = f"its shape {row.shape} is not that of a row of {found[0].size} numbers"
            raise CannotLog(refuse(tag, name, given, reason))
    if not found[0].size:
        raise CannotLog(refuse(tag, ROWS[0], rows[0], "it is empty"))
    return np.stack(found)


def _real(value: Any, tag: str, argument: str, *, may_be_nan: bool = False) -> NDArray[np.float64]:
    array = as_array(value, tag, argument)
    if array.dtype.kind == "c":
        raise CannotLog(refuse(tag, argument, value, "they are complex numbers"))
    if not may_be_nan and np.isnan(array).any():
        raise CannotLog(refuse(tag, argument, value, "it holds NaN"))
    return array.astype(np.float64)
