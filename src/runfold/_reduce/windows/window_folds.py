"""Curves of tags whose points do not fit into memory, folded window by window."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from runfold._humanize import escape
from runfold._logdir.point_cache import POINT_BYTES
from runfold._logdir.run_batches import COPIES, count_points, hold
from runfold._reduce.align import Binned, NotDivisible, Origin, align_window, union
from runfold._reduce.axes import AXES, INTERSECTION
from runfold._reduce.curve_points import Points, place
from runfold._reduce.folded import Curve
from runfold._reduce.sample import block_width
from runfold._reduce.windows.column_fold import ColumnFold
from runfold._reduce.windows.outline import Outline, Outlines, Task
from runfold._reduce.windows.pieces import Piece
from runfold._reduce.windows.stretches import Stretches
from runfold._reduce.windows.window_plan import plan_windows
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from runfold._logdir.point_cache import PointCache, Positions
    from runfold._logdir.run_log import RunLog
    from runfold._reduce.fold import FoldOptions
    from runfold._reduce.groups import Members
    from runfold._reduce.operations import Statistic
    from runfold._reduce.windows.window_plan import Window

    # The outlines of each tag in one group, in the order of the runs that have the tag.
    Surveyed = dict[str, list[Outline]]

# Bytes per point of the tag that is being folded, in addition to its points: copies of x values,
# and the matrix of values with its masks.
_WORK = 48
# Bytes per value of a matrix: the value and its mask, joined with those of the previous window.
_CELL = 20
# Values of a matrix at a time, unless the limit allows more.
_CELLS = 1 << 18
# Bytes per value of a matrix with bins: the sum, the number of points, and masks.
_BIN_CELL = 20
# The share of the limit for the marks of all outlines, and the number of marks of each outline.
_MARKS_SHARE = 16
_LEAST_MARKS, _MOST_MARKS = 8, 256


class WindowFolds:
    """The folds of some tags, with a few windows and one run in memory at a time.

    Every window decodes all runs of a group. `reserved` is the number of bytes for the results of
    all tags, and `row` for one x value of one curve. `alone` is the number of bytes that
    each tag needs if it is not divided.
    """

    def __init__(
        self,
        members: Sequence[Members],
        tags: Sequence[str],
        statistics: Sequence[Statistic],
        options: FoldOptions,
        cache: PointCache,
        reserved: int,
        row: int,
        alone: Mapping[str, int],
    ) -> None:
        self._members = members
        self._tags = tags
        self._statistics = statistics
        self._options = options
        self._cache = cache
        self._reserved = reserved
        self._row = row
        self._alone = alone
        # The bytes for results in addition, by group and tag.
        self._excess: dict[tuple[int, str], int] = {}
        self._axis = [] if options.x in AXES else [options.x]
        series = sum(len(own.logs) for own in members) * len(tags)
        most = cache.limit // _MARKS_SHARE // 8 // max(1, series)
        self._outlines = Outlines(max(_LEAST_MARKS, min(most, _MOST_MARKS)))
        logs = [log for own in members for log in own.logs]
        self._stretches = Stretches(options.x, cache.limit, logs, len(tags))

    @property
    def reserved(self) -> int:
        """The number of bytes for the results of all tags."""
        return self._reserved + sum(self._excess.values())

    def survey(self, number: int) -> tuple[Surveyed, tuple[str, CannotFold] | None]:
        """Return the outlines of the runs of a group by tag, and the first error and its tag."""
        members = self._members[number]
        found: Surveyed = {}
        errors: dict[str, CannotFold] = {}
        for log, tags in self._each_run(members.logs, self._tags, self._stretches.positions):
            for tag in tags:
                series = log.scalars[tag]
                try:
                    points = place(log, series, self._options.x, self._options.duplicates)
                except CannotFold as error:
                    errors.setdefault(tag, error)
                else:
                    found.setdefault(tag, []).append(self._outlines.make(points))
                    self._stretches.add(log, series, points)
        failed = next(((tag, errors[tag]) for tag in self._tags if tag in errors), None)
        return {tag: found[tag] for tag in self._tags if tag in found}, failed

    def _place(self, log: RunLog, tag: str) -> Points:
        return place(log, log.scalars[tag], self._options.x, self._options.duplicates)

    def _each_run(
        self, logs: Iterable[RunLog], tags: Sequence[str], positions: Positions | None = None
    ) -> Iterator[tuple[RunLog, list[str]]]:
        """Yield all runs with their tags, in order, in parts whose points are in memory."""
        room = self._room_for_runs(tags)
        batch: list[tuple[RunLog, list[str]]] = []
        total = longest = 0
        for log in logs:
            own: list[str] = []
            counts = [count_points(log, tag) for tag in tags if tag in log.scalars]
            axis = sum(count_points(log, tag) for tag in self._axis if tag in log.scalars)
            # A run that fits is decoded at once.
            whole = sum(counts) + axis
            if batch and POINT_BYTES * (total + whole) + COPIES * max(longest, *counts, 0) > room:
                yield from self._hold(batch, positions)
                batch, total, longest = [], 0, 0
            for tag in tags:
                if tag not in log.scalars:
                    continue
                count = count_points(log, tag)
                more = count + (0 if own else axis)
                longest = max(longest, count + axis)
                if batch and POINT_BYTES * (total + more) + COPIES * longest > room:
                    yield from self._hold(batch, positions)
                    batch, own = [], []
                    total, longest, more = 0, count + axis, count + axis
                total += more
                if not own:
                    batch.append((log, own))
                own.append(tag)
        yield from self._hold(batch, positions)

    def _hold(
        self, batch: Sequence[tuple[RunLog, list[str]]], positions: Positions | None
    ) -> Iterator[tuple[RunLog, list[str]]]:
        parts = [
            (log, [tag for tag in (*self._axis, *own) if tag in log.scalars]) for log, own in batch
        ]
        with hold(self._cache, parts, positions):
            yield from batch

    def _room_for_runs(self, tags: Sequence[str]) -> int:
        """Return the bytes for the runs that are decoded at the same time."""
        longest = 0
        for own in self._members:
            for log in own.logs:
                counts = [count_points(log, tag) for tag in tags if tag in log.scalars]
                axis = sum(count_points(log, tag) for tag in self._axis if tag in log.scalars)
                longest = max(longest, axis + max(counts, default=0))
        return max((self._cache.limit - self.reserved) // 4, (POINT_BYTES + COPIES) * longest)

    def windows(self, number: int, tasks: Mapping[str, Task]) -> Iterator[dict[str, list[Piece]]]:
        """Yield the pieces of each tag in each window.

        Raises NotEnoughMemory, before anything is decoded, if the smallest window does not fit.
        """
        members = self._members[number]
        used = {tag: task.used for tag, task in tasks.items()}
        cells = max(
            min(
                len(own) * sum(outline.size for outline in own),
                self._most_cells + 3 * len(own) * block_width(len(own)),
            )
            for own in used.values()
        )
        fixed = self.reserved + self._room_for_runs([*tasks]) + _CELL * cells
        windows, need = plan_windows(used, POINT_BYTES, _WORK, self._cache.limit - fixed)
        self.check(next(iter(tasks)), fixed + need)
        for window in windows:
            pieces: dict[str, list[Piece]] = {tag: [] for tag in tasks}
            for tag, points in self._read_window(members.logs, tasks, window):
                if tasks[tag].skips_nan:
                    points = points.without_nan()
                start = used[tag][len(pieces[tag])].low
                pieces[tag].append(Piece(points, 0, len(points), start).cut(*window).copy())
            yield pieces

    def _read_window(
        self, logs: Sequence[RunLog], tasks: Mapping[str, Task], window: Window
    ) -> Iterator[tuple[str, Points]]:
        """Yield the points of all runs that are in a window, and others, run by run."""
        # The neighbors of a window must not be NaN.
        gaps = {
            (outline.run, tag)
            for tag, task in tasks.items()
            for outline in task.outlines
            if task.skips_nan and outline.nans
        }

        def can_be_divided(log: RunLog) -> bool:
            own = [tag for tag in tasks if tag in log.scalars]
            has_gaps = any((log.name, tag) in gaps for tag in own)
            return not has_gaps and self._stretches.has(log, own)

        for is_divided, part in groupby(logs, can_be_divided):
            if is_divided:
                for log in part:
                    own = [tag for tag in tasks if tag in log.scalars]
                    yield from self._stretches.read(log, own, window).items()
            else:
                for log, own in self._each_run(part, [*tasks]):
                    yield from ((tag, self._place(log, tag)) for tag in own)

    @property
    def _most_cells(self) -> int:
        return max(_CELLS, self._cache.limit // 8 // (2 * _CELL))

    def check(self, tag: str, need: int) -> None:
        """Raise NotEnoughMemory if something needs more bytes than the limit."""
        if need > self._cache.limit:
            need = max(min(need, self._alone[tag]), self._cache.limit + 1)
        self._cache.check(need, f"Tag '{escape(tag)}', with the results of all tags,")

    def refuse(self, tag: str) -> None:
        """Raise NotEnoughMemory for a tag that cannot be divided."""
        self.check(tag, max(self._alone[tag], self._cache.limit + 1))

    def count_columns(self, number: int, tag: str, task: Task) -> int:
        """Return the number of distinct x values of the runs of a group."""
        if task.is_same:
            return task.used[0].size
        windows = self.windows(number, {tag: task})
        return sum(len(union([piece.inner for piece in own[tag]])) for own in windows)

    def find_lacking(
        self, number: int, tag: str, task: Task
    ) -> tuple[int, list[tuple[str, int, object]]]:
        """Return the number of x values, and which runs lack how many, with the first of them."""
        total = 0
        lacking: dict[int, tuple[int, object]] = {}
        for pieces in self.windows(number, {tag: task}):
            points = [piece.inner for piece in pieces[tag]]
            all_x = union(points)
            total += len(all_x)
            for row, run_points in enumerate(points):
                missing = all_x[~np.isin(all_x, run_points.x, assume_unique=True)]
                if len(missing):
                    count, first = lacking.get(row, (0, missing[0]))
                    lacking[row] = count + len(missing), first
        return total, [(task.outlines[row].run, *lacking[row]) for row in sorted(lacking)]

    def fold(self, number: int, tasks: Mapping[str, Task]) -> Iterator[tuple[str, Curve, int]]:
        """Yield the curve of each tag of a group, and the number of x values left out."""
        binned = {tag: task for tag, task in tasks.items() if task.bins is not None}
        for tag, task in binned.items():
            yield tag, *self._fold_bins(number, tag, task)
        others = {tag: task for tag, task in tasks.items() if tag not in binned}
        for tag, task in others.items():
            self._refuse_odd(tag, task)
        # Whether `min_runs` leaves out anything is known only at the end.
        guesses = {tag: _may_leave_out(task) for tag, task in others.items()}
        while others:
            folds = self._fold_windows(number, others, guesses)
            for tag, fold in folds.items():
                if guesses[tag] == fold.has_left_out:
                    yield tag, _curve(tag, others.pop(tag), fold), fold.dropped
                guesses[tag] = fold.has_left_out

    def _refuse_odd(self, tag: str, task: Task) -> None:
        """Raise NotEnoughMemory for curves that depend on all of their points in rare ways."""
        filled = [outline for outline in task.used if outline.size]
        lacks_times = (
            task.options.align == INTERSECTION
            and not task.is_same
            and bool(filled)
            and not filled[0].has_all_times
        )
        is_odd = any(outline.is_odd for outline in filled) and not task.is_same
        if lacks_times or is_odd or block_width(len(task.outlines)) == 1:
            self.refuse(tag)

    def _fold_windows(
        self, number: int, tasks: Mapping[str, Task], guesses: Mapping[str, bool]
    ) -> dict[str, ColumnFold]:
        folds = {tag: _start(task, self._statistics, guesses[tag]) for tag, task in tasks.items()}
        origins = {tag: _origin(task) for tag, task in tasks.items()}
        for tag in tasks:
            self._excess.pop((number, tag), None)
        rows = dict.fromkeys(tasks, 0)
        for pieces in self.windows(number, tasks):
            for tag, task in tasks.items():
                own = pieces.pop(tag)
                most = max(1, self._most_cells // len(own))
                is_same, origin = task.is_same, origins[tag]
                try:
                    for aligned in align_window(own, task.options.align, is_same, origin, most):
                        rows[tag] += len(aligned.x)
                        self._check_rows(number, tag, rows[tag])
                        folds[tag].add(aligned)
                except NotDivisible:
                    self.refuse(tag)
        return folds

    def _check_rows(self, number: int, tag: str, rows: int) -> None:
        """Raise NotEnoughMemory if the result is much longer than expected."""
        logs = self._members[number].logs
        # Room was reserved for a result as if all runs had the same x values.
        expected = max(count_points(log, tag) for log in logs if tag in log.scalars)
        if rows > expected:
            self._excess[number, tag] = self._row * (rows - expected)
            self.check(tag, self.reserved)

    def _fold_bins(self, number: int, tag: str, task: Task) -> tuple[Curve, int]:
        assert task.bins is not None
        runs = len(task.outlines)
        matrix = 3 * _BIN_CELL * runs * task.bins.bins
        self.check(tag, self.reserved + self._room_for_runs([tag]) + matrix)
        binned = Binned(runs, task.bins)
        for log, _ in self._each_run(self._members[number].logs, [tag]):
            points = self._place(log, tag)
            binned.add(points.without_nan() if task.skips_nan else points)
        fold = _start(task, self._statistics, False)
        aligned = binned.finish()
        del binned
        fold.add(aligned)
        if fold.has_left_out:
            fold = _start(task, self._statistics, True)
            fold.add(aligned)
        return _curve(tag, task, fold), fold.dropped


def _may_leave_out(task: Task) -> bool:
    has_gaps = not task.is_same or any(outline.nans for outline in task.outlines)
    return task.options.min_runs is not None and has_gaps


def _start(task: Task, statistics: Sequence[Statistic], leaves_out: bool) -> ColumnFold:
    options = task.options
    return ColumnFold(
        statistics, options.nan, options.seed, options.resamples, options.min_runs, leaves_out
    )


def _origin(task: Task) -> Origin:
    if task.options.align == INTERSECTION and not task.is_same:
        return Origin()  # the first common x has it
    times = (outline.time for outline in task.used)
    return Origin(next((time for time in times if not np.isnan(time)), np.nan))


def _curve(tag: str, task: Task, fold: ColumnFold) -> Curve:
    runs = tuple(outline.run for outline in task.outlines)
    return Curve(tag, runs, *fold.finish(len(runs), task.outlines[0].marks[:0]))
