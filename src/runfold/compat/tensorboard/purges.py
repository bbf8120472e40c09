"""What a restarted job wrote twice: which older values TensorBoard's EventAccumulator drops.

A file of version 2, which all of today are, says so itself: a restart marker at step
s drops every value before it from step s on. In older files an event whose step lies
below the highest so far drops what its own tags held from its step on. Tensors are
never dropped, graphs and metadata neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from runfold._core.event import Form

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_IN_SUMMARY = {*range(Form.NOTHING, Form.TENSOR + 1), int(Form.SUMMARY)}


@dataclass(frozen=True, slots=True)
class Purge:
    """Drop what came before item `before`, from `step` on, of some tags or of all (None)."""

    before: int
    step: int
    tags: frozenset[str] | None = None


@dataclass(slots=True)
class Purges:
    """The purges of a run, and the highest step and its time that old files are judged by."""

    found: list[Purge] = field(default_factory=list)
    most_recent_step: int = -1
    most_recent_wall_time: float = -1

    def of(self, tag: str, rows: NDArray[np.intp]) -> list[tuple[int, int]]:
        """(how many of a tag's items came before it, step) of each purge that concerns it."""
        ours = [one for one in self.found if one.tags is None or tag in one.tags]
        befores = np.searchsorted(rows, [one.before for one in ours]).tolist()
        return list(zip(befores, (one.step for one in ours), strict=True))

    def judge_steps(
        self, items: NDArray[np.void], names: Sequence[str], events: Sequence[int]
    ) -> None:
        """Take the events between the given items as those of an old file, one after the other."""
        firsts = items[events[:-1]]
        columns = (firsts[name].tolist() for name in ("form", "step", "wall_time"))
        for event, behind, form, step, wall_time in zip(
            events[:-1], events[1:], *columns, strict=True
        ):
            if step < self.most_recent_step and form in _IN_SUMMARY:
                tags = frozenset(
                    names[tag] for tag in items["tag"][event:behind].tolist() if tag >= 0
                )
                # An empty name stands for every tag there.
                self.found.append(Purge(event, step, None if "" in tags else tags))
            else:
                self.most_recent_step = step
                self.most_recent_wall_time = wall_time


def find_purges(
    items: NDArray[np.void],
    names: Sequence[str],
    restarts: Sequence[tuple[int, int]],
    versions: Sequence[tuple[int, float]],
    stretches: Sequence[int],
) -> Purges:
    """The purges in a run's items.

    Args:
        items: in the order in which they were read.
        names: the tags by number.
        restarts: (items before it, step) of each restart marker.
        versions: (item, number) where a file tells its version.
        stretches: the first item of each stretch of a file.
    """
    purges = Purges()
    # The values of one event lie in one record.
    is_first = np.diff(items["record"], prepend=-1) != 0
    is_first[list(stretches)] = True
    events = np.flatnonzero(is_first)
    told = events[np.searchsorted(events, [row for row, _ in versions], "right") - 1].tolist()
    numbers = [None, *(number for _, number in versions)]
    for start, end, version in zip([0, *told], [*told, len(items)], numbers, strict=True):
        if version and version >= 2:
            purges.found += [Purge(*mark) for mark in restarts if start <= mark[0] < end]
        else:
            within = events[(events >= start) & (events < end)].tolist()
            purges.judge_steps(items, names, [*within, end])
    return purges
