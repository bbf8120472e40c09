"""Values that TensorBoard's EventAccumulator drops because a restarted job wrote them again.

Files of version 2, the current version, contain restart markers: a marker at step s
drops every earlier value at step s or later. In older files, an event whose step is
below the highest step so far drops the earlier values of its tags at or after its step.
Tensors, graphs and metadata are never dropped.
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
    """Drops items before number `before` at `step` or later, for some tags or, if None, for all."""

    before: int
    step: int
    tags: frozenset[str] | None = None


@dataclass(slots=True)
class Purges:
    """The purges of a run, and the last step and time, which show restarts in old files."""

    found: list[Purge] = field(default_factory=list)
    most_recent_step: int = -1
    most_recent_wall_time: float = -1

    def of(self, tag: str, rows: NDArray[np.intp]) -> list[tuple[int, int]]:
        """Return (number of the tag's earlier items, step) of each purge that affects a tag."""
        ours = [purge for purge in self.found if purge.tags is None or tag in purge.tags]
        befores = np.searchsorted(rows, [purge.before for purge in ours]).tolist()
        return list(zip(befores, (purge.step for purge in ours), strict=True))

    def judge_steps(
        self, items: NDArray[np.void], names: Sequence[str], events: Sequence[int]
    ) -> None:
        """Find purges in the events of an old file; `events` has the first item of each event."""
        firsts = items[events[:-1]]
        columns = (firsts[name].tolist() for name in ("form", "step", "wall_time"))
        for event, following, form, step, wall_time in zip(
            events[:-1], events[1:], *columns, strict=True
        ):
            if step < self.most_recent_step and form in _IN_SUMMARY:
                tags = frozenset(
                    names[tag] for tag in items["tag"][event:following].tolist() if tag >= 0
                )
                # In TensorBoard, an empty name stands for every tag.
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
    """Return the purges in a run's items.

    Args:
        items: the items in the order in which they were read.
        names: the tags by number.
        restarts: (number of earlier items, step) of each restart marker.
        versions: (item, version) of each file version.
        stretches: the first item of each stretch of a file.
    """
    purges = Purges()
    # The values of one event are in one record.
    is_first = np.diff(items["record"], prepend=-1) != 0
    is_first[list(stretches)] = True
    events = np.flatnonzero(is_first)
    marks = events[np.searchsorted(events, [row for row, _ in versions], "right") - 1].tolist()
    numbers = [None, *(number for _, number in versions)]
    for start, end, version in zip([0, *marks], [*marks, len(items)], numbers, strict=True):
        if version and version >= 2:
            purges.found += [Purge(*restart) for restart in restarts if start <= restart[0] < end]
        else:
            within = events[(events >= start) & (events < end)].tolist()
            purges.judge_steps(items, names, [*within, end])
    return purges
