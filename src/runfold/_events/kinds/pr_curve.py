"""Precision-recall curves."""

from dataclasses import dataclass

import numpy as np

from runfold._events.kinds import stored_value

ROWS = 6


@dataclass(frozen=True, slots=True, eq=False)
class PrCurve:
    """Counts and rates at each of num_thresholds thresholds, which rise evenly from 0 to 1."""

    num_thresholds: int
    thresholds: np.ndarray
    true_positives: np.ndarray
    false_positives: np.ndarray
    true_negatives: np.ndarray
    false_negatives: np.ndarray
    precision: np.ndarray
    recall: np.ndarray


def decode(value: bytes) -> PrCurve:
    """Give the curve from its tensor of six rows, as float64.

    The number of thresholds is that of the columns: torch caps the number in
    the plugin's metadata at 127, whatever the curve has.
    """
    array = stored_value.tensor_of(stored_value.parse(value), "a pr curve")
    if array.ndim != 2 or array.shape[0] != ROWS or array.dtype.kind not in "fiu":
        raise ValueError(f"a pr curve has 6 rows of numbers, not {stored_value.describe(array)}")
    count = array.shape[1]
    return PrCurve(count, np.linspace(0.0, 1.0, count), *array.astype(np.float64))
