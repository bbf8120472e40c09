"""Notes on a reduction: data that was left out, and caveats."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from runfold._humanize import escape, human_count, human_list
from runfold._reduce.axes import AXES, name_axis, name_places
from runfold._reduce.bands import explain_stray_edges
from runfold._reduce.run_stack import RunStack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runfold._reduce.curve_points import Points
    from runfold._reduce.folded import Group
    from runfold._reduce.windows.outline import Outline

# Statistics that are undefined for a single run.
_SPREAD = re.compile(r"std|var|sem|ci.*-(low|high)")

_MOST_TAGS = 3


class Notes:
    """Counters, collected tag by tag, that become sentences at the end."""

    def __init__(self, x: str, nan: str, too_few: str, has_hints: bool = False) -> None:
        """Start with zero counts.

        `too_few` is a clause on the dropped x values, such as "that not all runs have". If
        `has_hints` is set, the notes mention command-line options.
        """
        self._x = x
        self._nan = nan
        self._too_few = too_few
        self._has_hints = has_hints
        self._nans = 0
        self._nan_runs: dict[str, None] = {}
        self._lost = self._doubles = self._hidden = 0
        self._dropped = 0
        self._partial: dict[str, None] = {}
        self._empty: dict[str, int] = {}

    def see(self, tag: str, points: Sequence[Points | Outline], runs: int) -> None:
        """Count the missing points of a tag in a group of this many runs."""
        if len(points) < runs:
            self._partial[tag] = None
        if isinstance(points, RunStack):
            return  # which has no missing points
        for run_points in points:
            nans = run_points.nans
            self._lost += run_points.lost
            self._doubles += run_points.doubles
            self._hidden += run_points.hidden
            self._nans += nans
            if nans:
                self._nan_runs[run_points.run] = None

    def drop(self, tag: str, dropped: int, kept: int) -> None:
        """Count x values of a tag that were dropped from a group, and tags that have none left."""
        self._dropped += dropped
        if not kept:
            self._empty[tag] = self._empty.get(tag, 0) + 1

    def add(self, other: Notes) -> None:
        """Add what another instance has counted."""
        for name in ("_nans", "_lost", "_doubles", "_hidden", "_dropped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self._nan_runs |= other._nan_runs
        self._partial |= other._partial
        for tag, count in other._empty.items():
            self._empty[tag] = self._empty.get(tag, 0) + count

    def left_out(self, groups: Mapping[str, Group]) -> list[str]:
        """Return phrases on the data that was left out."""
        phrases = []
        for tag, count in self._empty.items():
            is_elsewhere = any(tag in group.curves for group in groups.values())
            where = f"in {human_count(count, 'group')}" if is_elsewhere else "in all groups"
            phrases.append(f"{name_all('tag', [tag])} {where}")
        if len(phrases) > _MOST_TAGS:
            phrases = [f"{name_all('tag', self._empty)} in some or all groups"]
        if self._dropped:
            phrases.append(f"{name_places(self._x, self._dropped)} {self._too_few}")
        if self._lost:
            is_tag = self._x not in AXES
            missing = (
                f"finite value of '{escape(self._x)}'" if is_tag else f"known {name_axis(self._x)}"
            )
            phrases.append(f"{human_count(self._lost, 'point')} without a {missing}")
        if self._doubles:
            doubles = human_count(self._doubles, "duplicate point")
            phrases.append(doubles + self._hint("--duplicates selects a different value"))
        if self._hidden:
            phrases.append(f"{human_count(self._hidden, 'point')} hidden by a restart")
        if self._nans and self._nan == "skip":
            nans = human_count(self._nans, "NaN")
            phrases.append(f"{nans} in {name_all('run', self._nan_runs)}")
        return phrases

    def remarks(self, groups: Mapping[str, Group], statistics: Sequence[str]) -> list[str]:
        """Return caveats about the result, as sentences."""
        sentences = []
        tags = {tag for group in groups.values() for tag in group.curves}
        if partial := {tag: None for tag in self._partial if tag in tags}:
            sentences.append(
                f"Reduced over fewer runs than the group has: {name_all('tag', partial)}"
                f"{self._hint('to raise an error instead: --no-lax-tags')}."
            )
        if self._nans and self._nan == "propagate":
            nans = human_count(self._nans, "NaN")
            runs = name_all("run", self._nan_runs)
            sentences.append(f"{nans} in {runs} made the statistics at the same x values NaN.")
        if spread := [name for name in statistics if _SPREAD.fullmatch(name)]:
            are = f"{', '.join(spread)} {'is' if len(spread) == 1 else 'are'} NaN there."
            sentences += [f"Only one run {where}, so {are}" for where in self._alone(groups)]
        if text := explain_stray_edges(statistics):
            sentences.append(text)
        return sentences

    def _hint(self, text: str) -> str:
        return f" ({text})" if self._has_hints else ""

    def _alone(self, groups: Mapping[str, Group]) -> list[str]:
        """Return phrases such as "in 2 groups": whole groups, and x values, with only one run."""
        phrases = []
        alone = {name: None for name, group in groups.items() if len(group.runs) == 1}
        if alone:
            phrases.append(f"in {name_all('group', alone)}" if any(alone) else "in total")
        counts = [
            curve.counts
            for group in groups.values()
            if len(group.runs) > 1
            for curve in group.curves.values()
        ]
        if single := sum(int(np.count_nonzero(numbers == 1)) for numbers in counts):
            phrases.append(f"at {single:,} of {name_places(self._x, sum(map(len, counts)))}")
        return phrases


def name_all(noun: str, names: Iterable[str]) -> str:
    """Return names with a noun: `tag a` or `2 tags (a, b)`."""
    quoted = [name or '""' for name in names]
    shown = human_list(quoted)
    return f"{noun} {shown}" if len(quoted) == 1 else f"{human_count(len(quoted), noun)} ({shown})"
