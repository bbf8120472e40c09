"""Statistics that Runfold does not define itself: NumPy's reductions, and user functions."""

from __future__ import annotations

import inspect
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from runfold._reduce.sample import Sample

    # (runs, steps) without gaps -> (steps,)
    Reduction = Callable[[NDArray[np.float64]], NDArray[np.float64]]

# Functions that return the index of a run, which must refer to all runs.
_INDEX_FUNCTIONS = ("argmax", "argmin", "nanargmax", "nanargmin")


def find_reduction(name: str) -> Callable[[Sample], NDArray[np.float64]] | None:
    """Return the NumPy function with this name if it reduces an axis to numbers, or None.

    Examples are `ptp`, `nanmedian`, `prod` and `argmax`. Functions without an `axis` parameter,
    such as `save` or `seterr`, are never called.
    """
    function: Any = vars(np).get(name)
    if name.startswith("_") or not _takes_axis(function):
        return None
    probe = np.arange(6.0).reshape(3, 2)
    try:
        with warnings.catch_warnings(action="ignore"):
            whole = function(probe, axis=0)
            # `lexsort` also returns two numbers, but they depend on both columns.
            each = [function(column, axis=0) for column in probe.T]
    except Exception:  # it requires more arguments, or other arrays
        return None
    if np.shape(whole) != (2,) or _real(whole) is None or not np.array_equal(whole, each):
        return None
    returns_index = name in _INDEX_FUNCTIONS
    return partial(_reduce, reduction=partial(function, axis=0), returns_index=returns_index)


def list_reductions() -> list[str]:
    """Return all names that `find_reduction` accepts."""
    return [name for name in sorted(vars(np)) if find_reduction(name)]


def adapt(function: Callable[..., Any], name: str) -> Callable[[Sample], NDArray[np.float64]]:
    """Wrap a user's function as a statistic of samples.

    The function is called with a (runs, steps) array without gaps, and with `axis=0` if it
    has that parameter, and should return one number per step. If it raises or returns
    something else, it is called for each step separately, with one number per run. In these calls,
    exceptions propagate, and a result that is not a single number raises CannotFold.
    """
    call = partial(function, axis=0) if _takes_axis(function) else function

    def reduce(dense: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = _call_whole(call, dense)
        return _call_each(call, dense, name) if whole is None else whole

    return partial(_reduce, reduction=reduce)


def _takes_axis(function: Any) -> bool:
    try:
        return "axis" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # not a function, or one in C without a signature
        return False


def _reduce(
    sample: Sample, reduction: Reduction, returns_index: bool = False
) -> NDArray[np.float64]:
    results = np.full(len(sample.counts), np.nan)
    for runs, steps in sample.patterns():
        reduced = reduction(sample.values[np.ix_(runs, steps)])
        results[steps] = runs[reduced] if returns_index else reduced
    return results


def _call_whole(call: Callable[..., Any], dense: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return one result per step, or None if the function cannot process all steps at once."""
    try:
        # A call with a single step detects a function that reduces the other axis,
        # which would go unnoticed if there are as many runs as steps.
        with warnings.catch_warnings(action="ignore"):
            if np.shape(call(dense[:, :1].copy())) != (1,):
                return None
        whole = np.asarray(call(dense.copy()))
    except Exception:  # such as `max`, which cannot compare rows
        return None
    return _real(whole) if whole.shape == dense.shape[1:] else None


def _call_each(
    call: Callable[..., Any], dense: NDArray[np.float64], name: str
) -> NDArray[np.float64]:
    results = [np.asarray(call(values)) for values in dense.T.copy()]
    for result in results:
        if result.size != 1 or _real(result) is None:
            raise CannotFold(
                f"The function '{name}' returned {result.dtype} of shape {result.shape} for the "
                "values of one step. It must return one number."
            )
    return np.array([float(result.item()) for result in results])


def _real(values: NDArray[Any]) -> NDArray[np.float64] | None:
    return values.astype(np.float64) if values.dtype.kind in "biuf" else None
