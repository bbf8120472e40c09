"""The statistics of a fold: what they are called, and how they are computed.

| name | what it is |
|---|---|
| `mean`, `median`, `sum`, `min`, `max` | as everywhere |
| `std`, `var`, `sem` | of a sample (ddof 1), as in pandas; NaN for one value |
| `count` | how many runs entered; 0 where none did, where all others are NaN, `sum` too |
| `q05`, `q97.5` | the quantile at so many percent, between two values by linear interpolation |
| `iqm` | interquartile mean: of what is left without a quarter of the runs at each end |
| `ci95`, `ci95-median`, `ci95-iqm` | percentile bootstrap of the mean, the median, the `iqm` |
| `ci95-t` | Student's t interval of the mean |
| `ptp`, `nanmedian`, `prod`, ... | any function of NumPy that reduces an axis, as NumPy does it |

An interval gives two columns, `ci95-low` and `ci95-high`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold.errors import UnknownStatistic
from runfold.reduce.bootstrap import CUTS, bootstrap_intervals
from runfold.reduce.reductions import adapt, find_reduction, list_reductions
from runfold.reduce.sample import Sample
from runfold.text import did_you_mean, escape

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Columns = tuple[NDArray[np.float64], ...]

Operation = str | Callable[[Any], Any]

QUANTILE = re.compile(r"q([0-9]+(?:\.[0-9]+)?)")
INTERVAL = re.compile(r"ci([0-9]+(?:\.[0-9]+)?)(?:-(t|iqm|median))?")
_EXAMPLES = ("q05", "q95", "ci95", "ci95-t", "ci95-iqm", "ci95-median")


@dataclass(frozen=True, slots=True)
class Statistic:
    """An operation that was asked for, such as `ci95`, and the columns that it gives."""

    name: str
    columns: tuple[str, ...]
    function: Callable[[Sample], Columns]

    def compute(self, sample: Sample) -> Columns:
        """The float64 values of each column at each step; NaN at the blank ones, `count` aside."""
        if self.function is _count:
            return _count(sample)
        if sample.blank.all():
            return tuple(np.full((len(self.columns), len(sample.blank)), np.nan))
        with np.errstate(all="ignore"):
            columns = self.function(sample)
        return tuple(np.where(sample.blank, np.nan, column) for column in columns)


def fold(sample: Sample, statistics: Sequence[Statistic]) -> dict[str, NDArray[np.float64]]:
    """The values of all columns by name, in the order of the statistics."""
    return {
        column: values
        for statistic in statistics
        for column, values in zip(statistic.columns, statistic.compute(sample), strict=True)
    }


def parse(operations: Operation | Iterable[Operation]) -> list[Statistic]:
    """The statistics that names and functions stand for, each taken once.

    A text may hold several names, "mean,std". A function is called as `adapt`
    says; its column has its name, or is `callable1` if it has none. Raises
    UnknownStatistic, with the near names, for a name that means nothing, for
    two functions of one name, and when nothing at all is asked for.

    >>> [statistic.columns for statistic in parse("mean,ci95")]
    [('mean',), ('ci95-low', 'ci95-high')]
    """
    found: dict[str | int, Statistic] = {}
    nameless = (f"callable{number}" for number in count(1))
    for operation in _each(operations):
        # A function need not be hashable to be the same one.
        key = operation if isinstance(operation, str) else id(operation)
        if key in found:
            continue
        statistic = _parse_one(operation, nameless)
        if any(statistic.name == other.name for other in found.values()):
            raise UnknownStatistic(
                f"Two operations would both be called '{escape(statistic.name)}'. "
                "Give the function another name."
            )
        found[key] = statistic
    if not found:
        raise UnknownStatistic(f"No operation was asked for. {_kinds()}")
    return list(found.values())


def _each(operations: Operation | Iterable[Operation]) -> Iterator[Operation]:
    if isinstance(operations, str):
        yield from filter(None, (name.strip() for name in operations.split(",")))
    elif callable(operations):
        yield operations
    elif isinstance(operations, Iterable) and not isinstance(operations, bytes):
        for operation in operations:
            yield from _each(operation)
    else:
        raise UnknownStatistic(f"An operation is a name or a function, not {operations!r}.")


def _parse_one(operation: Operation, nameless: Iterator[str]) -> Statistic:
    if callable(operation):
        name = str(getattr(operation, "__name__", ""))
        name = name if name.isidentifier() else next(nameless)
        return Statistic(name, (name,), _one(adapt(operation, name)))
    if operation in _KNOWN:
        return Statistic(operation, (operation,), _KNOWN[operation])
    if found := QUANTILE.fullmatch(operation):
        if float(found[1]) > 100:
            raise UnknownStatistic(f"No quantile '{operation}': they go from q0 to q100.")
        return Statistic(operation, (operation,), _one(partial(_quantile, percent=float(found[1]))))
    if found := INTERVAL.fullmatch(operation):
        if not 0 < float(found[1]) < 100:
            raise UnknownStatistic(f"No interval '{operation}': its level lies between 0 and 100.")
        interval = _t_interval if found[2] == "t" else partial(_bootstrap, of=found[2] or "mean")
        columns = (f"{operation}-low", f"{operation}-high")
        return Statistic(operation, columns, partial(interval, level=float(found[1]) / 100))
    if reduction := find_reduction(operation):
        return Statistic(operation, (operation,), _one(reduction))
    hint = did_you_mean(operation, dict.fromkeys([*_KNOWN, *_EXAMPLES, *list_reductions()]))
    raise UnknownStatistic(
        " ".join(filter(None, (f"No operation '{escape(operation)}'.", hint, _kinds())))
    )


def _kinds() -> str:
    return (
        f"There are {', '.join(_KNOWN)}, quantiles such as q05, intervals such as ci95, ci95-t, "
        "ci95-iqm and ci95-median, and NumPy's reductions such as ptp."
    )


def _one(function: Callable[[Sample], NDArray[np.float64]]) -> Callable[[Sample], Columns]:
    return lambda sample: (function(sample),)


def _count(sample: Sample) -> Columns:
    return (sample.counts.astype(np.float64),)


def _quantile(sample: Sample, percent: float) -> NDArray[np.float64]:
    quantiles = np.full(len(sample.counts), np.nan)
    for size, steps in sample.sizes():
        below, part = divmod(percent / 100 * (size - 1), 1)
        lower = sample.ordered[steps, int(below)]
        upper = sample.ordered[steps, min(int(below) + 1, size - 1)]
        quantiles[steps] = lower if part == 0 else _between(lower, upper, part)
    return quantiles


def _between(
    lower: NDArray[np.float64], upper: NDArray[np.float64], part: float
) -> NDArray[np.float64]:
    apart = upper - lower
    # From the nearer end, so that it stays between the two and never falls with `part`.
    between = lower + apart * part if part < 0.5 else upper - apart * (1 - part)
    # The distance of two infinities, or of two huge numbers, is no number.
    return np.where(np.isfinite(apart), between, lower * (1 - part) + upper * part)


def _iqm(sample: Sample) -> NDArray[np.float64]:
    means = np.full(len(sample.counts), np.nan)
    for size, steps in sample.sizes():
        cut = CUTS["iqm"](size)
        means[steps] = sample.ordered[steps, cut : size - cut].mean(axis=1)
    return means


def _sem(sample: Sample) -> NDArray[np.float64]:
    return np.sqrt(sample.variances / sample.counts)


def _t_interval(sample: Sample, level: float) -> Columns:
    from scipy.special import stdtrit

    margin = stdtrit(sample.counts - 1, (1 + level) / 2) * _sem(sample)
    return sample.means - margin, sample.means + margin


def _bootstrap(sample: Sample, of: str, level: float) -> Columns:
    low, high = np.full((2, len(sample.counts)), np.nan)
    for size, steps in sample.sizes():
        low[steps], high[steps] = bootstrap_intervals(
            sample.ordered[steps, :size], of, level, sample.resamples, sample.seed
        )
    return low, high


_KNOWN: dict[str, Callable[[Sample], Columns]] = {
    "mean": _one(lambda sample: sample.means),
    "std": _one(lambda sample: np.sqrt(sample.variances)),
    "var": _one(lambda sample: sample.variances),
    "sem": _one(_sem),
    "min": _one(lambda sample: sample.lowest),
    "max": _one(lambda sample: sample.highest),
    "median": _one(partial(_quantile, percent=50)),
    "sum": _one(lambda sample: sample.sums),
    "count": _count,
    "iqm": _one(_iqm),
}
