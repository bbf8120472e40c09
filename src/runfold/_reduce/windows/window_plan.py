"""Windows of x values whose points fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._reduce.windows.outline import Outline

    # The first x of the window, and the first x after it. None: no limit.
    Window = tuple[Any, Any]

# Candidates for the ends of windows.
_MOST_EDGES = 4096


def plan_windows(
    outlines: Mapping[str, Sequence[Outline]], held: int, work: int, room: int
) -> tuple[list[Window], int]:
    """Return windows that cover all points of these tags, and the bytes that the largest needs.

    A window needs `held` bytes for each of its points, and `work` bytes for each point of its
    largest tag. The largest window needs more than `room` only if no window is smaller.
    """
    every = [outline for own in outlines.values() for outline in own if outline.size]
    if not every:
        return [], 0
    marks = np.concatenate([outline.marks for outline in every])
    marks.sort()
    edges = np.unique(marks[:: -(-len(marks) // _MOST_EDGES)])
    # The number of points of each tag before each edge, and after the last one: at most.
    counts = np.array([[*_count(own, edges), 0] for own in outlines.values()])
    counts[:, -1] = [sum(outline.size for outline in own) for own in outlines.values()]
    # A mark stands for all points up to the next one.
    spare = np.array(
        [sum(outline.stride - 1 for outline in own if outline.size) for own in outlines.values()]
    )

    def cost(start: int, stop: int) -> int:
        points = np.minimum(counts[:, stop] - counts[:, start] + spare, counts[:, -1])
        return int(held * points.sum() + work * points.max())

    windows: list[Window] = []
    start = largest = 0
    last = len(edges)
    while start < last:
        stop = start + 1
        # A binary search, because costs increase with `stop`.
        step = 1 << last.bit_length()
        while step:
            if stop + step <= last and cost(start, stop + step) <= room:
                stop += step
            step //= 2
        largest = max(largest, cost(start, stop))
        low = None if start == 0 else edges[start]
        windows.append((low, None if stop == last else edges[stop]))
        start = stop
    return windows, largest


def _count(outlines: Sequence[Outline], edges: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of points before each edge, at most."""
    total = np.zeros(len(edges), np.int64)
    by_key: dict[tuple[int, bytes], list[Outline]] = {}
    for outline in outlines:
        by_key.setdefault(outline.key, []).append(outline)
    for (size, _), same in by_key.items():
        before = np.searchsorted(same[0].marks, edges) * same[0].stride
        total += np.minimum(before, size) * len(same)
    return total
