"""The operations of a fold: names and functions in, columns of statistics out.

| name | what it is |
|---|---|
| `mean`, `std`, ... | those of `statistics` |
| `q05`, `q97.5` | the quantile at so many percent, between two values by linear interpolation |
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

from runfold._humanize import did_you_mean, escape
from runfold._reduce.bootstrap import bootstrap_intervals
from runfold._reduce.named_reductions import adapt, find_reduction, list_reductions
from runfold._reduce.sample import Sample
from runfold._reduce.statistics import CENTRES, STATISTICS, name_interval
from runfold.errors import UnknownStatistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Columns = tuple[NDArray[np.float64], ...]

Operation = str | Callable[[Any], Any]

QUANTILE = re.compile(r"q([0-9]+(?:\.[0-9]+)?)")
_OTHER_CENTRES = sorted(name for name in CENTRES if name != "mean")
INTERVAL = re.compile(rf"ci([0-9]+(?:\.[0-9]+)?)(?:-({'|'.join(['t', *_OTHER_CENTRES])}))?")
_INTERVALS = ("ci95", "ci95-t", *(name_interval("95", name) for name in _OTHER_CENTRES))
_EXAMPLES = ("q05", "q95", *_INTERVALS)


@dataclass(frozen=True, slots=True)
class Statistic:
    """An operation that was asked for, such as `ci95`, and the columns that it gives."""

    name: str
    columns: tuple[str, ...]
    function: Callable[[Sample], Columns]
    has_blanks: bool = True

    def compute(self, sample: Sample) -> Columns:
        """The float64 values of each column at each step; NaN at the blank ones, `count` aside."""
        if not self.has_blanks:
            return self.function(sample)
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
    if known := STATISTICS.get(operation):
        return Statistic(operation, (operation,), _one(known.compute), known.has_blanks)
    if found := QUANTILE.fullmatch(operation):
        if float(found[1]) > 100:
            raise UnknownStatistic(f"No quantile '{operation}': they go from q0 to q100.")
        quantile = partial(Sample.quantile, percent=float(found[1]))
        return Statistic(operation, (operation,), _one(quantile))
    if found := INTERVAL.fullmatch(operation):
        if not 0 < float(found[1]) < 100:
            raise UnknownStatistic(f"No interval '{operation}': its level lies between 0 and 100.")
        interval = _t_interval if found[2] == "t" else partial(_bootstrap, of=found[2] or "mean")
        columns = (f"{operation}-low", f"{operation}-high")
        return Statistic(operation, columns, partial(interval, level=float(found[1]) / 100))
    if reduction := find_reduction(operation):
        return Statistic(operation, (operation,), _one(reduction))
    hint = did_you_mean(operation, dict.fromkeys([*STATISTICS, *_EXAMPLES, *list_reductions()]))
    raise UnknownStatistic(
        " ".join(filter(None, (f"No operation '{escape(operation)}'.", hint, _kinds())))
    )


def _kinds() -> str:
    return (
        f"There are {', '.join(STATISTICS)}, quantiles such as q05, intervals such as "
        f"{', '.join(_INTERVALS[:-1])} and {_INTERVALS[-1]}, and NumPy's reductions such as ptp."
    )


def _one(function: Callable[[Sample], NDArray[np.float64]]) -> Callable[[Sample], Columns]:
    return lambda sample: (function(sample),)


def _t_interval(sample: Sample, level: float) -> Columns:
    from scipy.special import stdtrit

    margin = stdtrit(sample.counts - 1, (1 + level) / 2) * sample.standard_errors
    return sample.means - margin, sample.means + margin


def _bootstrap(sample: Sample, of: str, level: float) -> Columns:
    low, high = np.full((2, len(sample.counts)), np.nan)
    for size, steps in sample.sizes():
        low[steps], high[steps] = bootstrap_intervals(
            sample.ordered[steps, :size], of, level, sample.resamples, sample.seed
        )
    return low, high
