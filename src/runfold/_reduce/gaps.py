"""What a strict fold refuses: tags and steps that some runs lack, listed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runfold._humanize import escape, human_count, human_list
from runfold._reduce.align import union
from runfold._reduce.axes import name_places
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._logdir.run_log import RunLog
    from runfold._reduce.curve_points import Points

_LINES = 10


class Gaps:
    """Tags and places that some runs lack, gathered over all tags before one error names them."""

    def __init__(self, x: str) -> None:
        self._x = x
        self._tags: list[str] = []
        self._places: list[str] = []

    def add_tag(self, tag: str, lacking: Sequence[RunLog]) -> None:
        """Note that some runs of a group have no scalars under a tag."""
        names = [_other_kind(log, tag) for log in lacking]
        self._tags.append(f"tag '{escape(tag)}' is missing in {human_list(names)}")

    def add_places(self, tag: str, points: Sequence[Points]) -> None:
        """Note that runs have a tag at different places."""
        every = union(points)
        lacking = []
        for one in points:
            missing = every[~np.isin(every, one.x, assume_unique=True)]
            if len(missing):
                lacking.append(
                    f"{one.run} ({len(missing):,} of {len(every):,}, first {missing[0]})"
                )
        self._places.append(
            f"tag '{escape(tag)}': {name_places(self._x)} missing in {human_list(lacking)}"
        )

    def refuse(self) -> None:
        """Raise CannotFold if there are any, naming the options that allow them."""
        lines = self._tags + self._places
        if not lines:
            return
        told = [f"  {line}" for line in lines[:_LINES]]
        if len(lines) > _LINES:
            told.append(f"  and {human_count(len(lines) - _LINES, 'tag')} more")
        places = name_places(self._x)
        subject = " and ".join(["tags"] * bool(self._tags) + [places] * bool(self._places))
        hints = []
        if self._tags:
            hints.append(
                "Fold each tag over the runs that have it with lax_tags=True (--lax-tags)."
            )
        if self._places:
            hints.append(
                "Bring the runs together with align='interpolate', or 'intersection', 'union', "
                "'nearest', 'ffill', or bins=N (--align, --bins)."
            )
        raise CannotFold(
            "\n".join([f"The runs do not have the same {subject}, so nothing was folded:", *told])
            + "\n"
            + " ".join(hints)
        )


def _other_kind(log: RunLog, tag: str) -> str:
    kinds = [kind for kind, name in log.payloads if name == tag]
    return f"{log.name} (where it holds {kinds[0]} data)" if kinds else log.name
