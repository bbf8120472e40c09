"""The events of one kind by tag: all events, or the sample that TensorBoard would keep."""

# ruff: noqa: N802 - the names are TensorBoard's.

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import did_you_mean
from runfold._logdir.restarts import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from runfold.compat.tensorboard.event_index import Index


class Reservoir:
    """The events of one kind, created and cached on first access to a tag.

    Args:
        kind: the name of the kind in the index.
        size: number of events per tag to keep; 0 keeps all.
        make: returns the events at the given rows of the index.
        always_keep_last: whether the last event is always in the sample.
        is_purged: whether values that a restart made obsolete are dropped.
    """

    def __init__(
        self,
        kind: str,
        size: int,
        make: Callable[[Index, NDArray[np.intp]], list[Any]],
        always_keep_last: bool = True,
        is_purged: bool = True,
    ) -> None:
        if size < 0 or size != int(size):
            raise ValueError(f"size must be nonnegative integer, was {size}")
        self.size = size
        self.always_keep_last = always_keep_last
        self._kind = kind
        self._make = make
        self._is_purged = is_purged
        self._index: Index | None = None
        self._kept: dict[str, NDArray[np.intp]] = {}
        self._made: dict[str, tuple[NDArray[np.intp], list[Any]]] = {}

    def show(self, index: Index) -> None:
        """Use an index from now on; cached events are reused if possible."""
        if self._index is not None and self._index.generation != index.generation:
            self._made = {}
        self._kept = {}
        self._index = index

    def Keys(self) -> list[str]:
        """Return the tags in order of first appearance."""
        return list(self._rows())

    def Items(self, key: str) -> list[Any]:
        """Return a tag's events. Raises KeyError for an unknown tag."""
        if self._index is None or key not in self._rows():
            hint = did_you_mean(key, self._rows())
            raise KeyError(f"Key {key} was not found in Reservoir" + (f". {hint}" if hint else ""))
        if key not in self._kept:
            self._kept[key] = self._choose(self._index, key)
            self._extend(self._index, key)
        return list(self._made[key][1])

    def _rows(self) -> dict[str, NDArray[np.intp]]:
        return self._index.rows(self._kind) if self._index is not None else {}

    def _choose(self, index: Index, tag: str) -> NDArray[np.intp]:
        rows = self._rows()[tag]
        markers = index.purges.of(tag, rows) if self._is_purged else []
        if not markers and (self.size == 0 or len(rows) <= self.size):
            return rows
        steps = index.items["step"][rows]
        if self.size == 0:
            mask = visible(steps, markers, "session")
            return rows if mask is None else rows[mask]
        return rows[_sample(steps.tolist(), markers, self.size, self.always_keep_last)]

    def _extend(self, index: Index, tag: str) -> None:
        """Create the events of a tag that are not cached yet."""
        kept = self._kept[tag]
        old, events = self._made.get(tag, (kept[:0], []))
        if not np.array_equal(kept[: len(old)], old):
            old, events = kept[:0], []
        self._made[tag] = kept, events + self._make(index, kept[len(old) :])


def _sample(
    steps: Sequence[int], markers: Sequence[tuple[int, int]], size: int, keeps_last: bool
) -> list[int]:
    """Return the numbers of the values that TensorBoard's reservoir would keep for a tag.

    The reservoir gets one value at a time, and its random seed is reset for each tag,
    so the same values always give the same sample.
    """
    kept: list[int] = []
    seen = start = 0
    randint = random.Random(0).randint
    for before, step in [*markers, (len(steps), None)]:
        for number in range(start, before):
            if len(kept) < size:
                kept.append(number)
            else:
                slot = randint(0, seen)
                if slot < size:
                    del kept[slot]
                    kept.append(number)
                elif keeps_last:
                    kept[-1] = number
            seen += 1
        if step is not None:
            remaining = [number for number in kept if steps[number] < step]
            seen = round(seen * (len(remaining) / len(kept) if kept else 0))
            kept = remaining
        start = before
    return kept
