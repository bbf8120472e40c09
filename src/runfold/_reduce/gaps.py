"""The error for runs with different tags or steps, which lists what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runfold._humanize import escape, human_count, human_list
from runfold._reduce.align import union
from runfold._reduce.axes import name_places
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runfold._logdir.run_log import RunLog
    from runfold._reduce.curve_points import Points

_LINES = 10


class Gaps:
    """Tags and x values that some runs lack, collected over all tags for one error message."""

    def __init__(self, x: str) -> None:
        self._x = x
        self._tags: list[str] = []
        self._places: list[str] = []

    def add_tag(self, tag: str, lacking: Sequence[RunLog]) -> None:
        """Record that the given runs of a group lack a scalar tag."""
        names = [_other_kind(log, tag) for log in lacking]
        self._tags.append(f"tag '{escape(tag)}' is missing in {human_list(names)}")

    def add_places(self, tag: str, points: Sequence[Points]) -> None:
        """Record that runs have different x values for a tag."""
        all_x = union(points)
        lacking = []
        for run_points in points:
            missing = all_x[~np.isin(all_x, run_points.x, assume_unique=True)]
            if len(missing):
                lacking.append((run_points.run, len(missing), missing[0]))
        self.add_lacking(tag, len(all_x), lacking)

    def add_lacking(self, tag: str, total: int, lacking: Iterable[tuple[str, int, object]]) -> None:
        """Record which runs lack how many of all x values, with the first one."""
        names = [f"{run} ({count:,} of {total:,}, first {first})" for run, count, first in lacking]
        self._places.append(
            f"tag '{escape(tag)}': {name_places(self._x)} missing in {human_list(names)}"
        )

    def __bool__(self) -> bool:
        return bool(self._tags or self._places)

    def add(self, other: Gaps) -> None:
        """Add what another instance has recorded."""
        self._tags += other._tags
        self._places += other._places

    def check(self) -> None:
        """Raise CannotFold if there are gaps; the message names the options that allow them."""
        lines = self._tags + self._places
        if not lines:
            return
        shown = [f"  {line}" for line in lines[:_LINES]]
        if len(lines) > _LINES:
            shown.append(f"  and {human_count(len(lines) - _LINES, 'more tag')}")
        places = name_places(self._x)
        subject = " and ".join(["tags"] * bool(self._tags) + [places] * bool(self._places))
        hints = []
        if self._tags:
            hints.append(
                "To reduce each tag over the runs that have it, set lax_tags=True (--lax-tags)."
            )
        if self._places:
            hints.append(
                "To align the runs, set align='interpolate', 'intersection', 'union', 'nearest' or "
                "'ffill', or bins=N (--align, --bins)."
            )
        raise CannotFold(
            "\n".join([f"The runs do not have the same {subject}, so nothing was reduced:", *shown])
            + "\n"
            + " ".join(hints)
        )


def _other_kind(log: RunLog, tag: str) -> str:
    kinds = [kind for kind, name in log.payloads if name == tag]
    return f"{log.name} (where it contains {kinds[0]} data)" if kinds else log.name
