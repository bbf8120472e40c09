"""What a fold has to say besides its numbers: what was left out, and what to beware of."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from runfold.reduce.points import AXES, name_axis, name_places
from runfold.text import escape, human_count, human_list

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from runfold.reduce.folded import Group
    from runfold.reduce.points import Points

# What one run alone does not have.
_SPREAD = re.compile(r"std|var|sem|ci.*-(low|high)")


class Notes:
    """Counts, gathered tag by tag, that become sentences at the end."""

    def __init__(self, x: str, nan: str) -> None:
        self._x = x
        self._nan = nan
        self._nans = 0
        self._nan_runs: dict[str, None] = {}
        self._lost = 0
        self._places = 0
        self._partial: dict[str, None] = {}
        self._empty: dict[str, None] = {}

    def see(self, tag: str, points: Sequence[Points], runs: int) -> None:
        """Count what the points of a tag in a group of so many runs lack."""
        if len(points) < runs:
            self._partial[tag] = None
        for one in points:
            nans = int(np.count_nonzero(np.isnan(one.values)))
            self._lost += one.lost
            self._nans += nans
            if nans:
                self._nan_runs[one.run] = None

    def drop(self, tag: str, places: int, left: int) -> None:
        """Count places of a tag that were dropped, and whether any are left."""
        self._places += places
        if not left:
            self._empty[tag] = None

    def left_out(self) -> list[str]:
        """Everything that did not enter."""
        told = []
        if self._empty:
            told.append(f"{_named('tag', self._empty)} altogether")
        if self._places:
            told.append(f"{name_places(self._x, self._places)} that too few runs have")
        if self._lost:
            is_tag = self._x not in AXES
            place = (
                f"finite value of '{escape(self._x)}'" if is_tag else f"known {name_axis(self._x)}"
            )
            told.append(f"{human_count(self._lost, 'point')} without a {place}")
        if self._nans and self._nan == "skip":
            told.append(f"{human_count(self._nans, 'NaN')} of {_named('run', self._nan_runs)}")
        return told

    def remarks(self, groups: Mapping[str, Group], statistics: Sequence[str]) -> list[str]:
        """What to beware of in the result."""
        told = []
        if self._partial:
            told.append(
                f"{_named('tag', self._partial)}: folded over fewer runs than the group has."
            )
        if self._nans and self._nan == "propagate":
            told.append(
                f"{human_count(self._nans, 'NaN')} of {_named('run', self._nan_runs)} made the "
                "statistics NaN there."
            )
        alone = [group.name for group in groups.values() if len(group.runs) == 1]
        spread = [name for name in statistics if _SPREAD.fullmatch(name)]
        if alone and spread:
            where = f" in {_named('group', dict.fromkeys(alone))}" if any(alone) else ""
            told.append(f"Only one run{where}: {', '.join(spread)} are NaN there.")
        return told


def _named(noun: str, names: Mapping[str, None]) -> str:
    """`tag a` or `2 tags (a, b)`."""
    shown = human_list(names)
    return f"{noun} {shown}" if len(names) == 1 else f"{human_count(len(names), noun)} ({shown})"
