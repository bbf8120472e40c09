"""The reduction of runs: grouped, aligned tag by tag, and summarized by statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from runfold._humanize import did_you_mean, escape, human_count, not_one_of
from runfold._progress import progress_bar
from runfold._reduce.align import (
    ALIGNMENTS,
    AUTO,
    BINS,
    INTERSECTION,
    STRICT,
    align,
    choose_alignment,
    has_same_places,
    range_of,
)
from runfold._reduce.axes import AXES, STEP, name_places
from runfold._reduce.contributing_runs import having_axis, having_tags
from runfold._reduce.curve_points import DUPLICATES, Points, place
from runfold._reduce.fold_notes import Notes, name_all
from runfold._reduce.folded import Curve, Folded, Group
from runfold._reduce.gaps import Gaps
from runfold._reduce.groups import make_groups
from runfold._reduce.operations import fold, parse
from runfold._reduce.sample import Sample
from runfold._reduce.scalar_tags import choose_tags, set_system_apart
from runfold.errors import CannotFold, UnknownTag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runfold._logdir.run_log import RunLog
    from runfold._reduce.align import Aligned, Range
    from runfold._reduce.groups import By, Members
    from runfold._reduce.operations import Operation, Statistic

NANS = ("skip", "propagate")


@dataclass(frozen=True, slots=True)
class FoldOptions:
    """The options of `runs.reduce` that apply to every tag.

    If `has_hints` is set, notes name the command-line options that change a choice.

    Raises CannotFold for an invalid value.
    """

    align: str = STRICT
    bins: int | None = None
    min_runs: int | None = None
    duplicates: str = "error"
    nan: str = "skip"
    x: str = STEP
    lax_tags: bool = False
    resamples: int = 10_000
    seed: int = 0
    has_hints: bool = False

    def __post_init__(self) -> None:
        for name, known in (("align", ALIGNMENTS), ("duplicates", DUPLICATES), ("nan", NANS)):
            if getattr(self, name) not in known:
                raise CannotFold(not_one_of(name, getattr(self, name), known))
        for name in ("bins", "min_runs", "resamples"):
            number = getattr(self, name)
            if number is not None and (
                isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 1
            ):
                raise CannotFold(f"{name} must be a positive whole number, got {number!r}.")
        if self.align == BINS and self.bins is None:
            raise CannotFold("align='bins' requires the number of bins: bins=100 (--bins 100).")
        if self.bins is not None:
            if self.align not in (AUTO, STRICT, BINS):
                raise CannotFold(
                    f"bins={self.bins} and align='{self.align}' cannot be combined."
                    " Use one of them."
                )
            object.__setattr__(self, "align", BINS)

    @property
    def too_few(self) -> str:
        """A clause that says which x values are left out."""
        if self.min_runs is None:
            return "that not all runs have"
        least = human_count(self.min_runs, "run")
        return (
            "that too few runs have"
            if self.align == INTERSECTION
            else f"that fewer than {least} have"
        )

    @property
    def hint(self) -> str:
        """Advice on options that keep more x values, for when none remain."""
        hints = []
        if self.align == INTERSECTION:
            hints.append(
                "Use align='interpolate' or 'union' (--align) to keep x values that not all runs"
                " have."
            )
        if self.min_runs is not None:
            hints.append("Use a smaller min_runs (--min-runs) to keep more.")
        return " ".join(hints)


def fold_runs(
    logs: Iterable[RunLog],
    operations: Operation | Iterable[Operation] = ("mean", "std"),
    *,
    tags: str | Iterable[str] | None = None,
    by: By = None,
    options: FoldOptions | None = None,
    progress: bool | None = None,
) -> Folded:
    """Reduce the scalars of runs to statistics, group by group and tag by tag.

    `progress` shows a progress bar. By default, it appears in a terminal or notebook if folding
    is slow.

    Raises UnknownStatistic, UnknownTag, and CannotFold if the runs have different tags or
    steps and no option allows this.
    """
    options = options or FoldOptions()
    statistics = parse(operations)
    grouping = make_groups(logs, by)
    if not grouping.groups:
        raise CannotFold("There are no runs to reduce.")
    grouped = [log for group in grouping.groups for log in group.logs]
    selected, not_requested = _select_tags(grouped, tags, options.x)
    members, lacking = having_axis(
        grouping.groups, options.x, is_lax=options.lax_tags, has_hints=options.has_hints
    )
    members, untagged = having_tags(members, selected, is_lax=options.lax_tags)
    gathered = _gather(members, selected, options)
    notes = Notes(options.x, options.nan, options.too_few, options.has_hints)
    options_of = _choose_options(gathered, options)
    ranges = _ranges(gathered, options_of)
    groups = {}
    with progress_bar(lambda: sum(map(len, gathered)), "Reducing", progress, " tags") as advance:
        for own, tracks in zip(members, gathered, strict=True):
            runs = tuple(log.name for log in own.logs)
            curves = {}
            for tag, points in tracks.items():
                notes.see(tag, points, len(runs))
                curve, dropped = _fold_tag(
                    tag, points, statistics, options_of[tag], ranges.get(tag)
                )
                notes.drop(tag, dropped, len(curve))
                if len(curve):
                    curves[tag] = curve
                advance(1)
            if curves:
                groups[own.name] = Group(own.name, own.key, runs, own.hparams, curves)
    columns = tuple(column for statistic in statistics for column in statistic.columns)
    result = Folded(
        groups,
        columns,
        options.x,
        max((own.align for own in options_of.values()), key=ALIGNMENTS.index, default=STRICT),
        options.nan,
        left_out=(*grouping.left_out, *not_requested, *lacking, *untagged, *notes.left_out(groups)),
        remarks=(*_explain_choice(options, options_of), *notes.remarks(groups, columns)),
    )
    if not result.tags:
        left_out = "; ".join(result.left_out)
        raise CannotFold(
            f"There is nothing to reduce. Left out: {left_out}. {options.hint}".rstrip()
        )
    return result


def _select_tags(
    logs: Sequence[RunLog], tags: str | Iterable[str] | None, x: str
) -> tuple[list[str], list[str]]:
    """Return the scalar tags to reduce, and a note on tags that are left out by default.

    By default, the tag of the x-axis is left out without a note, and the system metrics of
    tracked runs with one.
    """
    names = choose_tags(logs)
    if not names:
        runs = human_count(len(logs), "run")
        raise CannotFold(f"There are no scalars in {runs}, and only scalars can be reduced.")
    if x not in AXES and x not in names:
        hint = did_you_mean(x, [*AXES, *names])
        raise UnknownTag(f"No tag '{escape(x)}' for the x-axis. {hint}".rstrip())
    if tags is None:
        return set_system_apart(logs, [name for name in names if name != x] or names)
    if not isinstance(tags, str) and not (tags := list(tags)):
        raise CannotFold("No tag was specified, so there is nothing to reduce.")
    return choose_tags(logs, tags), []


def _gather(
    groups: Sequence[Members], tags: Sequence[str], options: FoldOptions
) -> list[dict[str, list[Points]]]:
    """Return the points of each tag in each group. Raises one CannotFold for all gaps."""
    gaps = Gaps(options.x)
    gathered = []
    for members in groups:
        curves = {}
        for tag in tags:
            having = [log for log in members.logs if tag in log.scalars]
            if not having:
                continue
            if len(having) < len(members.logs) and not options.lax_tags:
                gaps.add_tag(tag, [log for log in members.logs if tag not in log.scalars])
            points = [_place(log, tag, options) for log in having]
            if options.align == STRICT and not has_same_places(points):
                gaps.add_places(tag, points)
            curves[tag] = points
        gathered.append(curves)
    gaps.check()
    return gathered


def _place(log: RunLog, tag: str, options: FoldOptions) -> Points:
    return place(log, log.scalars[tag], options.x, options.duplicates)


def _choose_options(
    gathered: Sequence[dict[str, list[Points]]], options: FoldOptions
) -> dict[str, FoldOptions]:
    """Return the options for each tag; with align="auto" they depend on its x values."""
    tags: dict[str, list[list[Points]]] = {}
    for curves in gathered:
        for tag, points in curves.items():
            tags.setdefault(tag, []).append(points)
    if options.align != AUTO:
        return dict.fromkeys(tags, options)
    chosen = {tag: choose_alignment(groups) for tag, groups in tags.items()}
    return {
        tag: replace(options, align=alignment, bins=bins)
        for tag, (alignment, bins) in chosen.items()
    }


def _explain_choice(options: FoldOptions, options_of: dict[str, FoldOptions]) -> list[str]:
    """Return sentences on the alignment that "auto" selected."""
    if options.align != AUTO:
        return []
    tags: dict[str, list[str]] = {}
    for tag, own in options_of.items():
        if own.align != STRICT:
            alignment = f"means over {own.bins:,} bins" if own.bins else own.align
            tags.setdefault(alignment, []).append(tag)
    return [
        f"The runs have different {name_places(options.x)} in {name_all('tag', names)}:"
        f" aligned by {alignment} (align=, --align)."
        for alignment, names in tags.items()
    ]


def _ranges(
    gathered: Sequence[dict[str, list[Points]]], options_of: dict[str, FoldOptions]
) -> dict[str, Range]:
    tags: dict[str, list[Points]] = {}
    for curves in gathered:
        for tag, points in curves.items():
            tags.setdefault(tag, []).extend(run_points for run_points in points if len(run_points))
    return {
        tag: range_of(points, bins)
        for tag, points in tags.items()
        if points and (bins := options_of[tag].bins) is not None
    }


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
    if fills and options.nan == "skip":
        used: Sequence[Points] = [run_points.without_nan() for run_points in points]
    else:
        used = points
    aligned = align(used, options.align, bins)
    sample = _sample(aligned, options)
    if options.min_runs is not None:
        aligned = aligned.take(sample.counts >= options.min_runs)
        sample = _sample(aligned, options)
    runs = tuple(run_points.run for run_points in points)
    values = fold(sample, statistics)
    curve = Curve(tag, runs, aligned.x, aligned.wall_times, sample.counts, values)
    return curve, aligned.dropped


def _sample(aligned: Aligned, options: FoldOptions) -> Sample:
    return Sample(aligned.values, aligned.present, options.nan, options.seed, options.resamples)
