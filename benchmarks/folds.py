"""Arrays in memory, of runs x steps, folded by Runfold and its peers: one function for each.

A function imports its package and takes the arrays as it wants them, none of
which is measured, and returns the call that is.
"""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000

Array: TypeAlias = NDArray[np.float64]
# Gives the statistics of each array, by name.
Fold: TypeAlias = Callable[[], list[dict[str, Array]]]


def fold_with_runfold(arrays: list[Array]) -> Fold:
    """Mean and std by `runfold._reduce`."""
    return _fold_with_runfold(arrays, "mean,std")


def fold_with_numpy(arrays: list[Array]) -> Fold:
    """NumPy's functions that skip NaN, as Runfold and pandas do."""

    def fold(array: Array) -> dict[str, Array]:
        return {"mean": np.nanmean(array, axis=0), "std": np.nanstd(array, axis=0, ddof=1)}

    return lambda: [fold(array) for array in arrays]


def fold_with_pandas(arrays: list[Array]) -> Fold:
    """A DataFrame for each tag with a column for each run, as tensorboard-reducer has it."""
    import pandas as pd

    def fold(frame: pd.DataFrame) -> dict[str, Array]:
        return {"mean": frame.mean(axis=1).to_numpy(), "std": frame.std(axis=1).to_numpy()}

    frames = [pd.DataFrame(array.T) for array in arrays]
    return lambda: [fold(frame) for frame in frames]


def resample_with_runfold(arrays: list[Array]) -> Fold:
    """The interval `ci95` by `runfold._reduce`."""
    return _fold_with_runfold(arrays, "ci95")


def resample_with_scipy(arrays: list[Array]) -> Fold:
    """The percentile bootstrap of scipy, a hundred resamples at a time, which suits it best."""
    from scipy.stats import bootstrap

    def resample(array: Array) -> dict[str, Array]:
        found = bootstrap(
            (array,),
            np.mean,
            n_resamples=RESAMPLES,
            batch=100,
            axis=0,
            vectorized=True,
            method="percentile",
        )
        low, high = found.confidence_interval
        return {"ci95-low": low, "ci95-high": high}

    return lambda: [resample(array) for array in arrays]


def _fold_with_runfold(arrays: list[Array], operations: str) -> Fold:
    from runfold._reduce.operations import fold, parse
    from runfold._reduce.sample import Sample

    statistics = parse(operations)
    return lambda: [fold(Sample(array, resamples=RESAMPLES), statistics) for array in arrays]
