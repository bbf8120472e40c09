"""The statistics of a curve whose aligned values arrive window by window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from runfold._reduce.align import Aligned
from runfold._reduce.operations import PartialFold
from runfold._reduce.sample import Sample, block_width

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._reduce.operations import Statistic, Values

    Result = tuple[
        NDArray[Any], NDArray[np.float64], NDArray[np.int64], dict[str, NDArray[np.float64]]
    ]


class ColumnFold:
    """The curve so far, with results that are the same, to the last bit, as with one window.

    `leaves_out` says whether `min_runs` leaves out any x value of the whole curve. NumPy stores
    the remaining values by column then, and adds them in another order.
    """

    def __init__(
        self,
        statistics: Sequence[Statistic],
        nan: str,
        seed: int,
        resamples: int,
        min_runs: int | None,
        leaves_out: bool,
    ) -> None:
        self._statistics = statistics
        self._nan = nan
        self._seed = seed
        self._resamples = resamples
        self._min_runs = min_runs
        self._leaves_out = leaves_out
        self._order: Literal["C", "F"] = "F" if leaves_out else "C"
        self._waiting: list[Aligned] = []
        self._has_nan = False
        self._fold: PartialFold | None = None
        self._columns: dict[str, list[tuple[Any, NDArray[np.float64]]]] = {}
        self._x: list[NDArray[Any]] = []
        self._times: list[NDArray[np.float64]] = []
        self._counts: list[NDArray[np.int64]] = []
        self.dropped = 0
        self.has_left_out = False

    def add(self, aligned: Aligned) -> None:
        """Add the next x values."""
        self.dropped += aligned.dropped
        if self._min_runs is not None:
            kept = self._sample(aligned).counts >= self._min_runs
            left_out = int(np.count_nonzero(~kept))
            self.dropped += left_out
            self.has_left_out |= left_out > 0
            if self._leaves_out:
                aligned = _select(aligned, kept)
        self._has_nan = self._has_nan or bool(np.isnan(aligned.values).any())
        self._waiting.append(aligned)
        width = block_width(len(aligned.values))
        held = sum(len(part.x) for part in self._waiting)
        # The last block may be a single column, which must be computed with the one before it.
        if held >= 3 * width:
            self._compute(_join(self._waiting, self._order), (held // width - 1) * width)

    def _sample(self, aligned: Aligned) -> Sample:
        return Sample(aligned.values, aligned.present, self._nan, self._seed, self._resamples)

    def _compute(self, aligned: Aligned, size: int) -> None:
        """Compute the statistics of the first columns, and keep the others."""
        first, rest = _part(aligned, slice(size)), _part(aligned, slice(size, None))
        self._waiting = [_copy(rest)] if len(rest.x) else []
        sample = self._sample(first)
        if self._has_nan:
            sample.expect_gaps()
        if self._fold is None:
            self._fold = PartialFold(self._statistics, sample)
        for part in sample.split():
            self._store(self._fold.add(sample.part(part)))
        self._x.append(first.x.copy())
        self._times.append(first.wall_times.copy())
        self._counts.append(sample.counts)

    def _store(self, values: Any) -> None:
        value: Values
        for value in values:
            column, steps, numbers = value
            self._columns.setdefault(column, []).append((steps, numbers))

    def finish(self, runs: int, no_x: NDArray[Any]) -> Result:
        """Return the x values, the mean wall times, the counts and the columns of the curve.

        `no_x` is for a curve without points: an empty array of x values.
        """
        if self._fold is None and not self._waiting:
            self._waiting.append(Aligned(no_x, np.empty((runs, 0)), np.empty(0)))
        aligned = _join(self._waiting, self._order)
        self._compute(aligned, len(aligned.x))
        assert self._fold is not None
        self._store(self._fold.finish())
        total = self._fold.steps
        columns = {}
        for statistic in self._statistics:
            for column in statistic.columns:
                values = columns[column] = np.full(total, np.nan)
                for steps, numbers in self._columns.pop(column, ()):
                    values[steps] = numbers
        return _take(self._x), _take(self._times), _take(self._counts), columns


def _select(aligned: Aligned, kept: NDArray[np.bool_]) -> Aligned:
    """Return some x values, stored by column even if all are kept."""
    present = None if aligned.present is None else np.asfortranarray(aligned.present[:, kept])
    values = np.asfortranarray(aligned.values[:, kept])
    return Aligned(aligned.x[kept], values, aligned.wall_times[kept], present)


def _part(aligned: Aligned, steps: slice) -> Aligned:
    """Return a range of x values."""
    present = None if aligned.present is None else aligned.present[:, steps]
    return Aligned(aligned.x[steps], aligned.values[:, steps], aligned.wall_times[steps], present)


def _copy(aligned: Aligned) -> Aligned:
    """Return a part that does not keep the arrays of a larger one in memory."""
    present = None if aligned.present is None else np.copy(aligned.present, order="K")
    values = np.copy(aligned.values, order="K")
    return Aligned(aligned.x.copy(), values, aligned.wall_times.copy(), present)


def _join(parts: Sequence[Aligned], order: Literal["C", "F"]) -> Aligned:
    """Return consecutive parts as one, stored by row or by column."""
    if len(parts) == 1:
        return parts[0]
    masks = [part.present for part in parts if part.present is not None]
    present = np.concatenate(masks, axis=1) if masks else None
    values = np.concatenate([part.values for part in parts], axis=1)
    return Aligned(
        np.concatenate([part.x for part in parts]),
        # A part with a single column has both orders.
        np.asarray(values, order=order),
        np.concatenate([part.wall_times for part in parts]),
        None if present is None else np.asarray(present, order=order),
    )


def _take(parts: list[NDArray[Any]]) -> NDArray[Any]:
    joined = np.concatenate(parts)
    parts.clear()
    return joined
