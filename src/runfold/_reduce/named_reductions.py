"""Statistics that Runfold does not know itself: NumPy's by name, and a caller's functions."""

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

# These give the place of a run, which must be its place among all of them.
_PLACES = ("argmax", "argmin", "nanargmax", "nanargmin")


def find_reduction(name: str) -> Callable[[Sample], NDArray[np.float64]] | None:
    """NumPy's function of that name, if it reduces an axis of an array to numbers.

    `ptp`, `nanmedian`, `prod` and `argmax` do. What takes no `axis`, such as
    `save` or `seterr`, is not even called to find out.
    """
    function: Any = vars(np).get(name)
    if name.startswith("_") or not _takes_axis(function):
        return None
    probe = np.arange(6.0).reshape(3, 2)
    try:
        with warnings.catch_warnings(action="ignore"):
            whole = function(probe, axis=0)
            # `lexsort` too gives two numbers here, but they hang together.
            each = [function(column, axis=0) for column in probe.T]
    except Exception:  # it asks for more arguments, or for other arrays
        return None
    if np.shape(whole) != (2,) or _real(whole) is None or not np.array_equal(whole, each):
        return None
    return partial(_reduce, reduction=partial(function, axis=0), gives_place=name in _PLACES)


def list_reductions() -> list[str]:
    """The names for which `find_reduction` has an answer."""
    return [name for name in sorted(vars(np)) if find_reduction(name)]


def adapt(function: Callable[..., Any], name: str) -> Callable[[Sample], NDArray[np.float64]]:
    """A caller's function as a statistic of samples.

    It is called with a (runs, steps) array without gaps, and with `axis=0` if
    it takes that, and should give one number for each step. A function that
    raises or gives something else is called for each step alone, with one
    number for each run; what it raises then is the caller's to see, and
    CannotFold says that its result is not one number.
    """
    call = partial(function, axis=0) if _takes_axis(function) else function

    def reduce(dense: NDArray[np.float64]) -> NDArray[np.float64]:
        whole = _call_whole(call, dense)
        return _call_each(call, dense, name) if whole is None else whole

    return partial(_reduce, reduction=reduce)


def _takes_axis(function: Any) -> bool:
    try:
        return "axis" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # no function, or one in C that does not tell
        return False


def _reduce(sample: Sample, reduction: Reduction, gives_place: bool = False) -> NDArray[np.float64]:
    results = np.full(len(sample.counts), np.nan)
    for runs, steps in sample.patterns():
        reduced = reduction(sample.values[np.ix_(runs, steps)])
        results[steps] = runs[reduced] if gives_place else reduced
    return results


def _call_whole(call: Callable[..., Any], dense: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """One result for each step, or None when the function cannot take them all at once."""
    try:
        # One step alone tells a function that reduces the other axis, which
        # would go unseen where there are as many runs as steps.
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
                f"The function '{name}' gave {result.dtype} of shape {result.shape} for the "
                "values of one step. It must give one number."
            )
    return np.array([float(result.item()) for result in results])


def _real(values: NDArray[Any]) -> NDArray[np.float64] | None:
    return values.astype(np.float64) if values.dtype.kind in "biuf" else None
