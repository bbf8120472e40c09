"""What a fold has to say besides its numbers: what was left out, and what to beware of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from runfold._humanize import escape, human_count, human_list
from runfold._reduce.axes import AXES, name_axis, name_places
from runfold._reduce.bands import explain_stray_edges

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from runfold._reduce.curve_points import Points
    from runfold._reduce.folded import Group

# What one run alone does not have.
_SPREAD = re.compile(r"std|var|sem|ci.*-(low|high)")

_MOST_TAGS = 3


class Notes:
    """Counts, gathered tag by tag, that become sentences at the end."""

    def __init__(self, x: str, nan: str, too_few: str, has_hints: bool = False) -> None:
        """`too_few` says which places are dropped: those "that not all runs have".

        With hints, sentences name the options of the command that change things.
        """
        self._x = x
        self._nan = nan
        self._too_few = too_few
        self._has_hints = has_hints
        self._nans = 0
        self._nan_runs: dict[str, None] = {}
        self._lost = self._doubles = self._hidden = 0
        self._places = 0
        self._partial: dict[str, None] = {}
        self._empty: dict[str, int] = {}

    def see(self, tag: str, points: Sequence[Points], runs: int) -> None:
        """Count what the points of a tag in a group of so many runs lack."""
        if len(points) < runs:
            self._partial[tag] = None
        for one in points:
            nans = int(np.count_nonzero(np.isnan(one.values)))
            self._lost += one.lost
            self._doubles += one.doubles
            self._hidden += one.hidden
            self._nans += nans
            if nans:
                self._nan_runs[one.run] = None

    def drop(self, tag: str, places: int, left: int) -> None:
        """Count places of a tag that were dropped from a group, and whether any are left."""
        self._places += places
        if not left:
            self._empty[tag] = self._empty.get(tag, 0) + 1

    def left_out(self, groups: Mapping[str, Group]) -> list[str]:
        """Everything that did not enter."""
        told = []
        for tag, count in self._empty.items():
            is_elsewhere = any(tag in group.curves for group in groups.values())
            where = f"in {human_count(count, 'group')}" if is_elsewhere else "altogether"
            told.append(f"{name_all('tag', [tag])} {where}")
        if len(told) > _MOST_TAGS:
            told = [f"{name_all('tag', self._empty)} in whole or in part"]
        if self._places:
            told.append(f"{name_places(self._x, self._places)} {self._too_few}")
        if self._lost:
            is_tag = self._x not in AXES
            place = (
                f"finite value of '{escape(self._x)}'" if is_tag else f"known {name_axis(self._x)}"
            )
            told.append(f"{human_count(self._lost, 'point')} without a {place}")
        if self._doubles:
            doubles = human_count(self._doubles, "duplicate point")
            told.append(doubles + self._hint("--duplicates chooses another value of a step"))
        if self._hidden:
            told.append(f"{human_count(self._hidden, 'point')} hidden by a restart")
        if self._nans and self._nan == "skip":
            told.append(f"{human_count(self._nans, 'NaN')} of {name_all('run', self._nan_runs)}")
        return told

    def remarks(self, groups: Mapping[str, Group], statistics: Sequence[str]) -> list[str]:
        """What to beware of in the result."""
        told = []
        folded = {tag for group in groups.values() for tag in group.curves}
        if partial := {tag: None for tag in self._partial if tag in folded}:
            told.append(
                f"Folded over fewer runs than the group has: {name_all('tag', partial)}"
                f"{self._hint('--no-lax-tags refuses that')}."
            )
        if self._nans and self._nan == "propagate":
            told.append(
                f"{human_count(self._nans, 'NaN')} of {name_all('run', self._nan_runs)} made the "
                "statistics NaN there."
            )
        if spread := [name for name in statistics if _SPREAD.fullmatch(name)]:
            are = f"{', '.join(spread)} {'is' if len(spread) == 1 else 'are'} NaN there."
            told += [f"Only one run {where}: {are}" for where in self._alone(groups)]
        if text := explain_stray_edges(statistics):
            told.append(text)
        return told

    def _hint(self, text: str) -> str:
        return f" ({text})" if self._has_hints else ""

    def _alone(self, groups: Mapping[str, Group]) -> list[str]:
        """Where a single run has no company: in whole groups, and at places of others."""
        told = []
        alone = {name: None for name, group in groups.items() if len(group.runs) == 1}
        if alone:
            told.append(f"in {name_all('group', alone)}" if any(alone) else "in all")
        counts = [
            curve.counts
            for group in groups.values()
            if len(group.runs) > 1
            for curve in group.curves.values()
        ]
        if lonely := sum(int(np.count_nonzero(one == 1)) for one in counts):
            told.append(f"at {lonely:,} of {name_places(self._x, sum(map(len, counts)))}")
        return told


def name_all(noun: str, names: Iterable[str]) -> str:
    """Names with their noun: `tag a` or `2 tags (a, b)`."""
    every = [name or '""' for name in names]
    shown = human_list(every)
    return f"{noun} {shown}" if len(every) == 1 else f"{human_count(len(every), noun)} ({shown})"
