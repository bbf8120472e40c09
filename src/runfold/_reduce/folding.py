"""The folds of all tags, in any order, with results that do not depend on it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from runfold._reduce.align import (
    align,
    choose_alignment,
    choose_by_cells,
    divide,
    has_same_places,
    range_of,
)
from runfold._reduce.axes import AUTO, BINS, FILLS, STEP, STRICT
from runfold._reduce.curve_points import Points, place
from runfold._reduce.fold_notes import Notes
from runfold._reduce.folded import Curve, Group
from runfold._reduce.gaps import Gaps
from runfold._reduce.operations import fold
from runfold._reduce.run_stack import RunStack, find_stack
from runfold._reduce.sample import Sample
from runfold._reduce.windows.outline import Task
from runfold.errors import CannotFold, NotEnoughMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runfold._logdir.run_log import RunLog
    from runfold._reduce.align import Aligned, Range
    from runfold._reduce.fold import FoldOptions
    from runfold._reduce.groups import Members
    from runfold._reduce.operations import Statistic
    from runfold._reduce.windows.outline import Outline
    from runfold._reduce.windows.window_folds import Surveyed, WindowFolds

    # The points of each tag in one group.
    Gathered = dict[str, Sequence[Points]]
    # The runs of a group that lack a tag, by tag.
    Lacking = dict[str, list[RunLog]]
    Gather = Callable[[int, str], Sequence[Points]]
    Fits = Callable[[str, list[tuple[Sequence[Points], str]]], bool]

_T = TypeVar("_T")


class Folding:
    """The curves of each group so far.

    Errors and notes are kept until all batches have been folded, and then sorted by group and
    tag. If the batches contain one tag each, they are the same as with one batch.

    `sizes` are the numbers of runs in the groups. `lacking` has, for each group, the runs that lack
    a tag although others have it; `gather` can add runs. If there are any, and if `is_complete` is
    False, nothing is folded, but other gaps are found. An instance can be pickled.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        tags: Sequence[str],
        statistics: Sequence[Statistic],
        options: FoldOptions,
        lacking: Sequence[Lacking] = (),
        is_complete: bool = True,
    ) -> None:
        self._sizes = sizes
        self._lacking = lacking
        self._is_complete = is_complete
        self.tags = tags
        self.statistics = statistics
        self.options = options
        self._options_of: dict[str, FoldOptions] = {}
        self._gaps: list[dict[str, Gaps]] = [{} for _ in sizes]
        self._notes: list[dict[str, Notes]] = [{} for _ in sizes]
        self._curves: list[dict[str, Curve]] = [{} for _ in sizes]
        # The first group with an error, its tag, and the error: while placing and folding.
        self._unplaced = self._unfolded = _Error(len(sizes), 0, None)

    @property
    def is_complete(self) -> bool:
        """Whether no run lacks a tag, as far as is known."""
        return self._is_complete and not any(self._lacking)

    @property
    def count(self) -> int:
        """The number of curves so far."""
        return sum(map(len, self._curves))

    def add(
        self,
        tags: Sequence[str],
        gather: Gather,
        advance: Callable[[int], object] = lambda _: None,
        fits: Fits = lambda tag, groups: True,
    ) -> None:
        """Fold some tags of all groups. Raises NotEnoughMemory if one of them does not fit.

        `gather` returns the points of a group and tag, and raises CannotFold if they cannot be
        placed on the x-axis. `fits` returns whether a tag can be folded now.
        """
        gathered = [self._try_gather(number, tags, gather) for number in range(len(self._sizes))]
        if self._unplaced.error is not None or any(self._gaps) or not self.is_complete:
            return
        by_tag = _by_tag(gathered)
        chosen = {tag: self._choose(groups) for tag, groups in by_tag.items()}
        for tag, groups in by_tag.items():
            if not fits(tag, [(points, chosen[tag].align) for points in groups]):
                return
        self._options_of |= chosen
        ranges = {tag: _range(groups, chosen[tag]) for tag, groups in by_tag.items()}
        for number, own in enumerate(gathered):
            for tag, points in own.items():
                self._try_fold(number, tag, points, ranges[tag])
                advance(1)

    def add_windows(self, windows: WindowFolds, advance: Callable[[int], object]) -> None:
        """Fold the tags of windows in all groups. Raises NotEnoughMemory if one does not fit."""
        surveyed = [self._try_survey(number, windows) for number in range(len(self._sizes))]
        if self._unplaced.error is not None or any(self._gaps) or not self.is_complete:
            return
        by_tag = _by_tag(surveyed)
        for tag in by_tag:
            self._options_of[tag] = self._choose_for(tag, surveyed, windows)
        ranges = {
            tag: _range_between(groups, self._options_of[tag]) for tag, groups in by_tag.items()
        }
        for number, own in enumerate(surveyed):
            tasks = {
                tag: Task(outlines, self._options_of[tag], ranges[tag])
                for tag, outlines in own.items()
            }
            for tag, curve, dropped in windows.fold(number, tasks) if tasks else ():
                self._store(number, tag, own[tag], curve, dropped)
                advance(1)

    def _try_survey(self, number: int, windows: WindowFolds) -> Surveyed:
        """Return the outlines of a group; nothing after an error in an earlier one."""
        if number >= self._unplaced.group:
            return {}
        surveyed, failed = windows.survey(number)
        if failed is not None:
            self._unplaced = _Error(number, self.tags.index(failed[0]), failed[1])
            return {}
        for tag, outlines in surveyed.items():
            task = Task(outlines, replace(self.options, align=STRICT), None)
            if self.options.align == STRICT and not task.is_same:
                self._gaps[number][tag] = gaps = Gaps(self.options.x)
                gaps.add_lacking(tag, *windows.find_lacking(number, tag, task))
        return surveyed

    def _choose_for(
        self, tag: str, surveyed: Sequence[Surveyed], windows: WindowFolds
    ) -> FoldOptions:
        """Return the options for a tag, like `_choose`."""
        options = self.options
        if options.align != AUTO:
            return options
        tasks = {
            number: Task(own[tag], replace(options, align=STRICT), None)
            for number, own in enumerate(surveyed)
            if tag in own
        }
        different = {number: task for number, task in tasks.items() if not task.is_same}
        sizes = [outline.size for task in tasks.values() for outline in task.outlines]
        # All runs of a group together have at least as many x values as the longest one.
        cells = sum(
            max(map(len, task.outlines)) * len(task.outlines) for task in different.values()
        )
        if choose_by_cells(cells, sizes)[0] != BINS:
            cells = sum(
                windows.count_columns(number, tag, task) * len(task.outlines)
                for number, task in different.items()
            )
        alignment, bins = choose_by_cells(cells, sizes)
        return replace(options, align=alignment, bins=bins)

    def _try_gather(self, number: int, tags: Sequence[str], gather: Gather) -> Gathered:
        """Return the points of the tags in a group; nothing after an error in an earlier one."""
        curves: Gathered = {}
        if number >= self._unplaced.group:
            return curves
        for tag in tags:
            try:
                points = gather(number, tag)
            except CannotFold as error:
                self._unplaced = _Error(number, self.tags.index(tag), error)
                return {}
            if points:
                curves[tag] = points
                if self.options.align == STRICT and not has_same_places(points):
                    # A tag that is gathered again, because it did not fit at first, has no gaps.
                    self._gaps[number][tag] = gaps = Gaps(self.options.x)
                    gaps.add_places(tag, points)
        return curves

    def _choose(self, groups: Sequence[Sequence[Points]]) -> FoldOptions:
        """Return the options for a tag; with align="auto" they depend on its x values."""
        if self.options.align != AUTO:
            return self.options
        alignment, bins = choose_alignment(groups)
        return replace(self.options, align=alignment, bins=bins)

    def _try_fold(
        self, number: int, tag: str, points: Sequence[Points], bins: Range | None
    ) -> None:
        if number >= self._unfolded.group:
            return
        try:
            self._fold(number, tag, points, bins)
        except NotEnoughMemory:
            raise
        except Exception as error:  # raised by `finish`
            self._unfolded = _Error(number, self.tags.index(tag), error)

    def _fold(self, number: int, tag: str, points: Sequence[Points], bins: Range | None) -> None:
        curve, dropped = _fold_tag(tag, points, self.statistics, self._options_of[tag], bins)
        self._store(number, tag, points, curve, dropped)

    def _store(
        self, number: int, tag: str, points: Sequence[Points | Outline], curve: Curve, dropped: int
    ) -> None:
        options = self.options
        notes = Notes(options.x, options.nan, options.too_few, options.has_hints)
        notes.see(tag, points, self._sizes[number])
        notes.drop(tag, dropped, len(curve))
        self._notes[number][tag] = notes
        self._curves[number][tag] = curve

    def merge(self, other: Folding, first: int) -> None:
        """Add the curves of some tags in some groups. `first` is the number of the first group.

        If tags are aligned together in all groups, no tag may be in two instances.
        """
        self._options_of |= other._options_of
        for number in range(len(other._sizes)):
            self._gaps[first + number] |= other._gaps[number]
            self._notes[first + number] |= other._notes[number]
            self._curves[first + number] |= other._curves[number]
        for name in ("_unplaced", "_unfolded"):
            theirs: _Error = getattr(other, name)
            if theirs.error is not None:
                tag = self.tags.index(other.tags[theirs.tag])
                error = _Error(first + theirs.group, tag, theirs.error)
                setattr(self, name, min(getattr(self, name), error, key=_Error.order))

    def finish(
        self, members: Sequence[Members]
    ) -> tuple[dict[str, Group], dict[str, FoldOptions], Notes]:
        """Return the groups with any curves, the options of each tag, and the notes.

        Raises the first error, or one CannotFold for all gaps.
        """
        options = self.options
        if self._unplaced.error is not None:
            raise self._unplaced.error
        gaps = Gaps(options.x)
        for without, own_gaps in zip(self._lacking, self._gaps, strict=True):
            for tag, logs in without.items():
                gaps.add_tag(tag, logs)
            for tag in self.tags:
                if tag in own_gaps:
                    gaps.add(own_gaps[tag])
        gaps.check()
        if self._unfolded.error is not None:
            raise self._unfolded.error
        notes = Notes(options.x, options.nan, options.too_few, options.has_hints)
        groups, options_of = {}, {}
        for own, curves, own_notes in zip(members, self._curves, self._notes, strict=True):
            # A tag that did not fit at first was folded after the others.
            tags = [tag for tag in self.tags if tag in curves]
            for tag in tags:
                notes.add(own_notes[tag])
                options_of[tag] = self._options_of[tag]
            if kept := {tag: curves[tag] for tag in tags if len(curves[tag])}:
                runs = tuple(log.name for log in own.logs)
                groups[own.name] = Group(own.name, own.key, runs, own.hparams, kept)
        return groups, options_of, notes


class _Error(NamedTuple):
    """The first error: in which group and tag, by their numbers."""

    group: int
    tag: int
    error: Exception | None

    def order(self) -> tuple[int, int]:
        """Return a key that sorts errors."""
        return self.group, self.tag


def gather_from(
    members: Sequence[Members], options: FoldOptions, lacking: Sequence[Lacking]
) -> Gather:
    """Return a function that returns the points of a group and tag from the logs.

    It adds the runs without the tag to `lacking`, which has an entry for each group.
    """

    def gather(number: int, tag: str) -> Sequence[Points]:
        logs = members[number].logs
        stack = find_stack(logs, tag) if options.x == STEP else None
        if stack is not None:
            return stack
        having = [log for log in logs if tag in log.scalars]
        if not options.lax_tags:
            lacking[number].update(_find_lacking(logs, having, tag))
        return [place(log, log.scalars[tag], options.x, options.duplicates) for log in having]

    return gather


def find_lacking(
    members: Sequence[Members], tags: Sequence[str], options: FoldOptions
) -> list[Lacking]:
    """Return, for each group, the runs that lack a tag although others in the group have it."""
    found: list[Lacking] = [{} for _ in members]
    for own, lacking in zip(members, found, strict=True):
        for tag in tags if not options.lax_tags else ():
            having = [log for log in own.logs if tag in log.scalars]
            lacking.update(_find_lacking(own.logs, having, tag))
    return found


def _find_lacking(logs: Sequence[RunLog], having: Sequence[RunLog], tag: str) -> Lacking:
    if not 0 < len(having) < len(logs):
        return {}
    return {tag: [log for log in logs if tag not in log.scalars]}


def count_curves(members: Sequence[Members], tags: Sequence[str]) -> int:
    """Return the number of curves, for a progress bar."""
    return sum(any(tag in log.scalars for log in own.logs) for own in members for tag in tags)


def _by_tag(gathered: Sequence[dict[str, _T]]) -> dict[str, list[_T]]:
    """Return the points of each group that has a tag, by tag."""
    tags: dict[str, list[_T]] = {}
    for curves in gathered:
        for tag, points in curves.items():
            tags.setdefault(tag, []).append(points)
    return tags


def _range(groups: Sequence[Sequence[Points]], options: FoldOptions) -> Range | None:
    points = [run_points for group in groups for run_points in group if len(run_points)]
    return range_of(points, options.bins) if points and options.bins is not None else None


def _range_between(groups: Sequence[Sequence[Outline]], options: FoldOptions) -> Range | None:
    """Return the range of the points in the outlines, like `_range`."""
    filled = [outline for group in groups for outline in group if outline.size]
    if options.bins is None or not filled:
        return None
    low = min(outline.low for outline in filled)
    return divide(low, max(outline.high for outline in filled), options.bins)


def _fold_tag(
    tag: str,
    points: Sequence[Points],
    statistics: Sequence[Statistic],
    options: FoldOptions,
    bins: Range | None,
) -> tuple[Curve, int]:
    """Return the curve of a tag, and the number of x values that were left out."""
    # A skipped NaN is treated as if it had not been logged, so gaps are filled across it.
    if options.align in FILLS and options.nan == "skip" and not isinstance(points, RunStack):
        used: Sequence[Points] = [run_points.without_nan() for run_points in points]
    else:
        used = points
    aligned = align(used, options.align, bins)
    sample = _sample(aligned, options)
    if options.min_runs is not None:
        aligned = aligned.take(sample.counts >= options.min_runs)
        sample = _sample(aligned, options)
    runs = tuple(
        points.runs if isinstance(points, RunStack) else [run_points.run for run_points in points]
    )
    values = fold(sample, statistics)
    curve = Curve(tag, runs, aligned.x, aligned.wall_times, sample.counts, values)
    return curve, aligned.dropped


def _sample(aligned: Aligned, options: FoldOptions) -> Sample:
    return Sample(aligned.values, aligned.present, options.nan, options.seed, options.resamples)
