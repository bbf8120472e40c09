"""The reduction of runs: grouped, aligned tag by tag, and summarized by statistics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from runfold._humanize import did_you_mean, escape, human_count, not_one_of
from runfold._logdir.run_engine import find_engine
from runfold._progress import progress_bar
from runfold._reduce.axes import (
    ALIGNMENTS,
    AUTO,
    AXES,
    BINS,
    INTERSECTION,
    STEP,
    STRICT,
    name_places,
)
from runfold._reduce.contributing_runs import having_axis, having_tags
from runfold._reduce.curve_points import DUPLICATES
from runfold._reduce.fold_notes import name_all
from runfold._reduce.folded import Folded
from runfold._reduce.folding import Folding, count_curves, find_lacking, gather_from
from runfold._reduce.groups import make_groups
from runfold._reduce.operations import parse
from runfold._reduce.scalar_tags import choose_tags, set_system_apart
from runfold._reduce.tag_batches import TagBatches
from runfold.errors import CannotFold, UnknownTag

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runfold._logdir.run_log import RunLog
    from runfold._reduce.groups import By
    from runfold._reduce.operations import Operation

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
    columns = tuple(column for statistic in statistics for column in statistic.columns)
    engine = find_engine(grouped)
    missing = [{} for _ in members] if engine is None else find_lacking(members, selected, options)
    sizes = [len(own.logs) for own in members]
    folding = Folding(sizes, selected, statistics, options, missing)
    total = partial(count_curves, members, selected)
    with progress_bar(total, "Reducing", progress, " tags") as advance:
        if engine is not None:
            from runfold._reduce.fold_pieces import add_from_engine

            add_from_engine(engine, folding, members, advance)
        else:
            gather = gather_from(members, options, missing)
            batches = TagBatches(members, selected, statistics, options)
            for batch in batches:
                if isinstance(batch, list):
                    folding.add(batch, gather, advance, batches.fits)
                else:
                    missing[:] = find_lacking(members, selected, options)
                    folding.add_windows(batch, advance)
    groups, options_of, notes = folding.finish(members)
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
