"""Precision-recall curves."""

from dataclasses import dataclass

import numpy as np

from runfold._events.kinds import stored_value

ROWS = 6


@dataclass(frozen=True, slots=True, eq=False)
class PrCurve:
    """Counts and rates at `num_thresholds` evenly spaced thresholds from 0 to 1."""

    num_thresholds: int
    thresholds: np.ndarray
    true_positives: np.ndarray
    false_positives: np.ndarray
    true_negatives: np.ndarray
    false_negatives: np.ndarray
    precision: np.ndarray
    recall: np.ndarray


def decode(value: bytes) -> PrCurve:
    """Return the curve as float64, decoded from its tensor of six rows.

    The number of columns gives the number of thresholds: torch caps the number in
    the plugin's metadata at 127, whatever the size of the curve.
    """
    array = stored_value.tensor_of(stored_value.parse(value), "a PR curve")
    if array.ndim != 2 or array.shape[0] != ROWS or array.dtype.kind not in "fiu":
        raise ValueError(f"expected 6 rows of numbers, got {stored_value.describe(array)}")
    count = array.shape[1]
    return PrCurve(count, np.linspace(0.0, 1.0, count), *array.astype(np.float64))
