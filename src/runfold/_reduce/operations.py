"""The operations of a reduction: names and functions parsed into columns of statistics.

| name | meaning |
|---|---|
| `mean`, `std`, ... | see `statistics` |
| `q05`, `q97.5` | the quantile at this percentage, with linear interpolation |
| `ci95`, `ci95-NAME` | percentile bootstrap of the mean, or of another of the CENTERS |
| `ci95-t` | Student's t interval of the mean |
| `ptp`, `nanmedian`, `prod`, ... | any NumPy function that reduces an axis |

An interval has two columns, `ci95-low` and `ci95-high`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import did_you_mean, escape
from runfold._reduce.bootstrap import Intervals, bootstrap_intervals
from runfold._reduce.named_reductions import adapt, find_reduction, list_reductions
from runfold._reduce.sample import Sample
from runfold._reduce.statistics import CENTERS, STATISTICS, name_interval
from runfold.errors import UnknownStatistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._reduce.bootstrap import Done, Interval

    Columns = tuple[NDArray[np.float64], ...]
    # A column, some of its steps, and their values.
    Values = tuple[str, slice | NDArray[np.intp], NDArray[np.float64]]

Operation = str | Callable[[Any], Any]

QUANTILE = re.compile(r"q([0-9]+(?:\.[0-9]+)?)")
_OTHER_CENTERS = sorted(name for name in CENTERS if name != "mean")
INTERVAL = re.compile(rf"ci([0-9]+(?:\.[0-9]+)?)(?:-({'|'.join(['t', *_OTHER_CENTERS])}))?")
_INTERVALS = ("ci95", "ci95-t", *(name_interval("95", name) for name in _OTHER_CENTERS))
_EXAMPLES = ("q05", "q95", *_INTERVALS)


@dataclass(frozen=True, slots=True)
class Statistic:
    """A requested operation, such as `ci95`, and its columns.

    With `is_per_step`, a step's values are the same, to the last bit, whichever other steps the
    sample has. `interval` is the center and level of a bootstrap interval.
    """

    name: str
    columns: tuple[str, ...]
    function: Callable[[Sample], Columns]
    has_blanks: bool = True
    is_per_step: bool = False
    interval: Interval | None = None

    @property
    def is_divisible(self) -> bool:
        """Whether a curve can be computed in parts."""
        return self.is_per_step or self.interval is not None

    def compute(self, sample: Sample) -> Columns:
        """Return the float64 values of each column; NaN at blank steps, except for `count`."""
        if not self.has_blanks:
            return self.function(sample)
        if sample.blank.all():
            return tuple(np.full((len(self.columns), len(sample.blank)), np.nan))
        with np.errstate(all="ignore"):
            columns = self.function(sample)
        return tuple(np.where(sample.blank, np.nan, column) for column in columns)


def fold(sample: Sample, statistics: Sequence[Statistic]) -> dict[str, NDArray[np.float64]]:
    """Return the values of all columns by name, in the order of the statistics."""
    parts = list(sample.split())
    if len(parts) == 1:
        return _fold(sample, statistics)
    rest = _fold(sample, [statistic for statistic in statistics if not statistic.is_divisible])
    curve = PartialFold([each for each in statistics if each.is_divisible], sample)
    found = dict(rest)
    for column, where, values in chain(
        chain.from_iterable(curve.add(sample.part(steps)) for steps in parts), curve.finish()
    ):
        if column not in found:
            found[column] = np.full(len(sample.counts), np.nan)
        found[column][where] = values
    columns = [column for statistic in statistics for column in statistic.columns]
    if not found.keys() >= set(columns):
        # Without two runs at any step, all intervals share one array.
        nothing = np.full(len(sample.counts), np.nan)
        nothing.flags.writeable = False
        found = dict.fromkeys(columns, nothing) | found
    return {column: found[column] for column in columns}


class PartialFold:
    """The divisible statistics of a curve, computed part by part.

    The results are the same, to the last bit, as with one part. All parts except the last one
    must consist of whole blocks of the sample.
    """

    def __init__(self, statistics: Sequence[Statistic], sample: Sample) -> None:
        self._per_step = [statistic for statistic in statistics if statistic.is_per_step]
        self._intervals = [
            (statistic.columns, statistic.interval)
            for statistic in statistics
            if statistic.interval is not None
        ]
        requests = [interval for _, interval in self._intervals]
        self._bootstrap = Intervals(requests, sample.resamples, sample.seed)
        self.steps = 0

    def add(self, part: Sample) -> Iterator[Values]:
        """Yield the values that are complete after the next part: column, steps and values."""
        start = self.steps
        self.steps += len(part.counts)
        for column, values in _fold(part, self._per_step).items():
            yield column, slice(start, self.steps), values
        if self._intervals:
            for size, steps in part.sizes():
                if size > 1:  # sorting a single long run would take much memory
                    done = self._bootstrap.add(size, start + steps, part.ordered[steps, :size])
                    yield from self._name(done)

    def finish(self) -> Iterator[Values]:
        """Yield the values that were not complete yet. NaN is not included."""
        return self._name(self._bootstrap.finish())

    def _name(self, done: Iterable[Done]) -> Iterator[Values]:
        for number, steps, ends in done:
            for column, values in zip(self._intervals[number][0], ends, strict=True):
                yield column, steps, values


def _fold(sample: Sample, statistics: Sequence[Statistic]) -> dict[str, NDArray[np.float64]]:
    return {
        column: values
        for statistic in statistics
        for column, values in zip(statistic.columns, statistic.compute(sample), strict=True)
    }


def parse(operations: Operation | Iterable[Operation]) -> list[Statistic]:
    """Return the distinct statistics for names and functions.

    A string can contain several names: "mean,std". A function's column has its name, or
    `callable1` if it has none; see `adapt` for how it is called. Raises UnknownStatistic if a name
    is unknown (listing similar names), if two functions have the same name, or if there is no
    operation.

    >>> [statistic.columns for statistic in parse("mean,ci95")]
    [('mean',), ('ci95-low', 'ci95-high')]
    """
    statistics: dict[str | int, Statistic] = {}
    nameless = (f"callable{number}" for number in count(1))
    for operation in each_operation(operations):
        # Use the id, because a function need not be hashable.
        key = operation if isinstance(operation, str) else id(operation)
        if key in statistics:
            continue
        statistic = _parse_operation(operation, nameless)
        if any(statistic.name == other.name for other in statistics.values()):
            raise UnknownStatistic(
                f"Two operations have the name '{escape(statistic.name)}'. "
                "Give the function another name."
            )
        statistics[key] = statistic
    if not statistics:
        raise UnknownStatistic(f"No operation was specified. {_kinds()}")
    return list(statistics.values())


def each_operation(operations: Operation | Iterable[Operation]) -> Iterator[Operation]:
    """Yield the names and functions one by one. Raises UnknownStatistic for anything else."""
    if isinstance(operations, str):
        yield from filter(None, (name.strip() for name in operations.split(",")))
    elif callable(operations):
        yield operations
    elif isinstance(operations, Iterable) and not isinstance(operations, bytes):
        for operation in operations:
            yield from each_operation(operation)
    else:
        raise UnknownStatistic(f"Expected an operation name or a function, got {operations!r}.")


def _parse_operation(operation: Operation, nameless: Iterator[str]) -> Statistic:
    if callable(operation):
        name = str(getattr(operation, "__name__", ""))
        name = name if name.isidentifier() else next(nameless)
        return Statistic(name, (name,), _single_column(adapt(operation, name)))
    if known := STATISTICS.get(operation):
        function = _single_column(known.compute)
        return Statistic(operation, (operation,), function, known.has_blanks, is_per_step=True)
    if match := QUANTILE.fullmatch(operation):
        if float(match[1]) > 100:
            raise UnknownStatistic(f"No quantile '{operation}': quantiles go from q0 to q100.")
        quantile = partial(Sample.quantile, percent=float(match[1]))
        return Statistic(operation, (operation,), _single_column(quantile), is_per_step=True)
    if match := INTERVAL.fullmatch(operation):
        if not 0 < float(match[1]) < 100:
            raise UnknownStatistic(
                f"No interval '{operation}': the level must be between 0 and 100."
            )
        level = float(match[1]) / 100
        columns = (f"{operation}-low", f"{operation}-high")
        if match[2] == "t":
            return Statistic(
                operation, columns, partial(_t_interval, level=level), is_per_step=True
            )
        interval = match[2] or "mean", level
        bootstrap = partial(_bootstrap, of=interval[0], level=level)
        return Statistic(operation, columns, bootstrap, interval=interval)
    if reduction := find_reduction(operation):
        return Statistic(operation, (operation,), _single_column(reduction))
    hint = did_you_mean(operation, dict.fromkeys([*STATISTICS, *_EXAMPLES, *list_reductions()]))
    raise UnknownStatistic(
        " ".join(filter(None, (f"No operation '{escape(operation)}'.", hint, _kinds())))
    )


def _kinds() -> str:
    return (
        f"Available: {', '.join(STATISTICS)}, quantiles such as q05, intervals such as "
        f"{', '.join(_INTERVALS[:-1])} and {_INTERVALS[-1]}, and NumPy's reductions such as ptp."
    )


def _single_column(
    function: Callable[[Sample], NDArray[np.float64]],
) -> Callable[[Sample], Columns]:
    return lambda sample: (function(sample),)


def _t_interval(sample: Sample, level: float) -> Columns:
    from scipy.special import stdtrit

    margin = stdtrit(sample.counts - 1, (1 + level) / 2) * sample.standard_errors
    ends = sample.means - margin, sample.means + margin
    for end in ends:
        # The sign of a NaN from two others depends on the position of the step.
        end[np.isnan(end)] = np.nan
    return ends


def _bootstrap(sample: Sample, of: str, level: float) -> Columns:
    low, high = np.full((2, len(sample.counts)), np.nan)
    for size, steps in sample.sizes():
        if size < 2:  # no interval; sorting a single long run would take much memory
            continue
        low[steps], high[steps] = bootstrap_intervals(
            sample.ordered[steps, :size], of, level, sample.resamples, sample.seed
        )
    return low, high
