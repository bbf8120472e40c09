"""Folds of arrays in memory, of runs x steps: one function for each package.

Each function imports its package, converts the arrays and returns the call to
measure. Only that call is measured.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000

Array: TypeAlias = NDArray[np.float64]
# Returns the statistics of each array, by name.
Fold: TypeAlias = Callable[[], list[dict[str, Array]]]


def fold_with_runfold(arrays: list[Array]) -> Fold:
    """Mean and std with `runfold._reduce`."""
    return _fold_with_runfold(arrays, "mean,std")


def fold_with_numpy(arrays: list[Array]) -> Fold:
    """Mean and std with NumPy's functions that skip NaN, as Runfold and pandas do."""

    def fold(array: Array) -> dict[str, Array]:
        return {"mean": np.nanmean(array, axis=0), "std": np.nanstd(array, axis=0, ddof=1)}

    return lambda: [fold(array) for array in arrays]


def fold_with_pandas(arrays: list[Array]) -> Fold:
    """One DataFrame per tag with one column per run, like tensorboard-reducer."""
    import pandas as pd

    def fold(frame: pd.DataFrame) -> dict[str, Array]:
        return {"mean": frame.mean(axis=1).to_numpy(), "std": frame.std(axis=1).to_numpy()}

    frames = [pd.DataFrame(array.T) for array in arrays]
    return lambda: [fold(frame) for frame in frames]


def resample_with_runfold(arrays: list[Array]) -> Fold:
    """The interval `ci95` with `runfold._reduce`."""
    return _fold_with_runfold(arrays, "ci95")


def resample_with_scipy(arrays: list[Array]) -> Fold:
    """SciPy's percentile bootstrap in batches of 100 resamples, its fastest setting."""
    from scipy.stats import bootstrap

    def resample(array: Array) -> dict[str, Array]:
        result = bootstrap(
            (array,),
            np.mean,
            n_resamples=RESAMPLES,
            batch=100,
            axis=0,
            vectorized=True,
            method="percentile",
        )
        low, high = result.confidence_interval
        return {"ci95-low": low, "ci95-high": high}

    return lambda: [resample(array) for array in arrays]


def _fold_with_runfold(arrays: list[Array], operations: str) -> Fold:
    from runfold._reduce.operations import fold, parse
    from runfold._reduce.sample import Sample

    statistics = parse(operations)
    return lambda: [fold(Sample(array, resamples=RESAMPLES), statistics) for array in arrays]
