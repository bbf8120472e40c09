"""Precision-recall curves: the tensor that TensorBoard's PR curves page draws."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._log.writer.convert import as_number, as_real, as_row, refuse
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

# torch and tensorboardX never write more thresholds than this, whatever number is passed.
MOST_THRESHOLDS = 127
ROWS = (
    "true_positive_counts",
    "false_positive_counts",
    "true_negative_counts",
    "false_negative_counts",
    "precision",
    "recall",
)


def limit_thresholds(given: Any, tag: str, least: int = 1) -> int:
    """Return the number of thresholds, at most 127. Raises CannotLog."""
    count = min(as_number(given, tag, "num_thresholds"), MOST_THRESHOLDS)
    if not (count >= least and count == int(count)):
        reason = f"expected a whole number, at least {least}"
        raise CannotLog(refuse(tag, "num_thresholds", given, reason))
    return int(count)


def count_curve(
    tag: str, labels: Any, predictions: Any, thresholds: int, weights: Any = None
) -> tuple[NDArray[np.float64], int]:
    """Return the six rows of a curve (see `ROWS`), and the number of predictions left out.

    A prediction counts at every threshold up to its value. Predictions outside 0 to 1, or with a
    NaN label or weight, are left out. Raises CannotLog for invalid input; the message names the
    argument.
    """
    scores = as_real(predictions, tag, "predictions")
    truth = as_real(labels, tag, "labels").astype(np.float64)
    weight = np.float64(1) if weights is None else as_real(weights, tag, "weights").astype(float)
    positives, negatives = _weigh(tag, scores.shape, truth, weight)
    with np.errstate(over="ignore", invalid="ignore"):
        index = np.asarray(np.floor(scores * (thresholds - 1)))
        is_inside = (index >= 0) & (index < thresholds) & ~np.isnan(positives)
    bucket = index[is_inside].astype(np.intp)
    positive = np.bincount(bucket, positives[is_inside], thresholds)
    negative = np.bincount(bucket, negatives[is_inside], thresholds)
    # Counts at or above each threshold.
    tp, fp = np.cumsum(positive[::-1])[::-1], np.cumsum(negative[::-1])[::-1]
    tn, fn = fp[0] - fp, tp[0] - tp
    least = 1e-7  # makes 0 / 0 equal 0
    precision, recall = tp / np.maximum(least, tp + fp), tp / np.maximum(least, tp + fn)
    rows = np.stack([tp, fp, tn, fn, precision, recall])
    return rows, int(scores.size - np.count_nonzero(is_inside))


def stack_rows(tag: str, rows: tuple[Any, ...]) -> NDArray[np.float64]:
    """Return six rows of a curve as one array. Raises CannotLog, naming the invalid argument."""
    arrays = [
        as_row(row, tag, name).astype(np.float64) for name, row in zip(ROWS, rows, strict=True)
    ]
    for name, given, row in zip(ROWS, rows, arrays, strict=True):
        if row.shape != arrays[0].shape:
            reason = f"it has {row.size} numbers, but {ROWS[0]} has {arrays[0].size}"
            raise CannotLog(refuse(tag, name, given, reason))
    return np.stack(arrays)


def _weigh(
    tag: str, shape: tuple[int, ...], truth: NDArray[np.float64], weight: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the contribution of each prediction to positives and negatives. Raises CannotLog."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            positives, negatives = np.asarray(truth * weight), np.asarray((1 - truth) * weight)
    except ValueError:
        positives = negatives = np.empty(0)
    if positives.shape != shape:
        argument, given = ("weights", weight) if truth.shape == shape else ("labels", truth)
        reason = f"its shape is {given.shape}, but predictions have shape {shape}"
        raise CannotLog(refuse(tag, argument, given, reason))
    return positives, negatives
