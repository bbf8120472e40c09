"""The folds of all tags, batch by batch, with results that do not depend on the batches."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from runfold._reduce.align import (
    AUTO,
    BINS,
    STRICT,
    align,
    choose_alignment,
    has_same_places,
    range_of,
)
from runfold._reduce.axes import STEP
from runfold._reduce.curve_points import Points, place
from runfold._reduce.fold_notes import Notes
from runfold._reduce.folded import Curve, Group
from runfold._reduce.gaps import Gaps
from runfold._reduce.operations import fold
from runfold._reduce.run_stack import RunStack, find_stack
from runfold._reduce.sample import Sample
from runfold.errors import CannotFold, NotEnoughMemory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from runfold._logdir.run_log import RunLog
    from runfold._reduce.align import Aligned, Range
    from runfold._reduce.fold import FoldOptions
    from runfold._reduce.groups import Members
    from runfold._reduce.operations import Statistic
    from runfold._reduce.tag_batches import TagBatches

    # The points of each tag in one group.
    Gathered = dict[str, Sequence[Points]]


class Folding:
    """The curves of each group so far.

    Errors and notes are kept until all batches have been folded, and then sorted by group and
    tag. If the batches contain one tag each, they are the same as with one batch.
    """

    def __init__(
        self,
        members: Sequence[Members],
        tags: Sequence[str],
        statistics: Sequence[Statistic],
        options: FoldOptions,
    ) -> None:
        self._members = members
        self._tags = tags
        self._statistics = statistics
        self._options = options
        self._options_of: dict[str, FoldOptions] = {}
        self._gaps = [Gaps(options.x) for _ in members]
        self._notes: list[dict[str, Notes]] = [{} for _ in members]
        self._curves: list[dict[str, Curve]] = [{} for _ in members]
        # The number of the first group with an error, and the error: while placing and folding.
        none: tuple[int, Exception] = len(members), CannotFold()
        self._unplaced = self._unfolded = none

    @property
    def total(self) -> int:
        """The number of curves, for a progress bar."""
        return sum(
            any(tag in log.scalars for log in own.logs)
            for own in self._members
            for tag in self._tags
        )

    def add(
        self, tags: Sequence[str], batches: TagBatches, advance: Callable[[int], object]
    ) -> None:
        """Fold some tags of all groups. Raises NotEnoughMemory if one of them does not fit."""
        gathered = [self._try_gather(number, tags) for number in range(len(self._members))]
        if self._unplaced[0] < len(self._members) or any(self._gaps):
            return
        by_tag = _by_tag(gathered)
        chosen = {tag: self._choose(groups) for tag, groups in by_tag.items()}
        for tag, groups in by_tag.items():
            if not batches.fits(tag, [(points, chosen[tag].align) for points in groups]):
                return
        self._options_of |= chosen
        ranges = {tag: _range(groups, chosen[tag]) for tag, groups in by_tag.items()}
        for number, own in enumerate(gathered):
            for tag, points in own.items():
                self._try_fold(number, tag, points, ranges[tag])
                advance(1)

    def _try_gather(self, number: int, tags: Sequence[str]) -> Gathered:
        """Return the points of the tags in a group; nothing after an error in an earlier one."""
        if number < self._unplaced[0]:
            try:
                return self._gather(number, tags)
            except CannotFold as error:
                self._unplaced = number, error
        return {}

    def _gather(self, number: int, tags: Sequence[str]) -> Gathered:
        members, options, gaps = self._members[number], self._options, self._gaps[number]
        curves: Gathered = {}
        for tag in tags:
            stack = find_stack(members.logs, tag) if options.x == STEP else None
            if stack is not None:
                curves[tag] = stack
                continue
            having = [log for log in members.logs if tag in log.scalars]
            if not having:
                continue
            # A tag that is gathered again, because it did not fit at first, has no gaps.
            if len(having) < len(members.logs) and not options.lax_tags:
                gaps.add_tag(tag, [log for log in members.logs if tag not in log.scalars])
            points = [_place(log, tag, options) for log in having]
            if options.align == STRICT and not has_same_places(points):
                gaps.add_places(tag, points)
            curves[tag] = points
        return curves

    def _choose(self, groups: Sequence[Sequence[Points]]) -> FoldOptions:
        """Return the options for a tag; with align="auto" they depend on its x values."""
        if self._options.align != AUTO:
            return self._options
        alignment, bins = choose_alignment(groups)
        return replace(self._options, align=alignment, bins=bins)

    def _try_fold(
        self, number: int, tag: str, points: Sequence[Points], bins: Range | None
    ) -> None:
        if number >= self._unfolded[0]:
            return
        try:
            self._fold(number, tag, points, bins)
        except NotEnoughMemory:
            raise
        except Exception as error:  # raised by `finish`
            self._unfolded = number, error

    def _fold(self, number: int, tag: str, points: Sequence[Points], bins: Range | None) -> None:
        options = self._options
        notes = Notes(options.x, options.nan, options.too_few, options.has_hints)
        notes.see(tag, points, len(self._members[number].logs))
        curve, dropped = _fold_tag(tag, points, self._statistics, self._options_of[tag], bins)
        notes.drop(tag, dropped, len(curve))
        self._notes[number][tag] = notes
        self._curves[number][tag] = curve

    def finish(self) -> tuple[dict[str, Group], dict[str, FoldOptions], Notes]:
        """Return the groups with any curves, the options of each tag, and the notes.

        Raises the first error, or one CannotFold for all gaps.
        """
        options = self._options
        if self._unplaced[0] < len(self._members):
            raise self._unplaced[1]
        gaps = Gaps(options.x)
        for own_gaps in self._gaps:
            gaps.add(own_gaps)
        gaps.check()
        if self._unfolded[0] < len(self._members):
            raise self._unfolded[1]
        notes = Notes(options.x, options.nan, options.too_few, options.has_hints)
        groups, options_of = {}, {}
        for own, curves, own_notes in zip(self._members, self._curves, self._notes, strict=True):
            # A tag that did not fit at first was folded after the others.
            tags = [tag for tag in self._tags if tag in curves]
            for tag in tags:
                notes.add(own_notes[tag])
                options_of[tag] = self._options_of[tag]
            if kept := {tag: curves[tag] for tag in tags if len(curves[tag])}:
                runs = tuple(log.name for log in own.logs)
                groups[own.name] = Group(own.name, own.key, runs, own.hparams, kept)
        return groups, options_of, notes


def _by_tag(gathered: Sequence[Gathered]) -> dict[str, list[Sequence[Points]]]:
    """Return the points of each group that has a tag, by tag."""
    tags: dict[str, list[Sequence[Points]]] = {}
    for curves in gathered:
        for tag, points in curves.items():
            tags.setdefault(tag, []).append(points)
    return tags


def _place(log: RunLog, tag: str, options: FoldOptions) -> Points:
    return place(log, log.scalars[tag], options.x, options.duplicates)


def _range(groups: Sequence[Sequence[Points]], options: FoldOptions) -> Range | None:
    points = [run_points for group in groups for run_points in group if len(run_points)]
    return range_of(points, options.bins) if points and options.bins is not None else None


def _fold_tag(
    tag: str,
    points: Sequence[Points],
    statistics: Sequence[Statistic],
    options: FoldOptions,
    bins: Range | None,
) -> tuple[Curve, int]:
    """Return the curve of a tag, and the number of x values that were left out."""
    # A skipped NaN is treated as if it had not been logged, so gaps are filled across it.
    fills = options.align in ("nearest", "ffill", "interpolate", BINS)
    if fills and options.nan == "skip" and not isinstance(points, RunStack):
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
