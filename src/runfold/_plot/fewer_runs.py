"""The parts of a curve that are folded over fewer runs, and how a figure shows them.

When a run ends early, the mean over the others can jump for that reason alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from runfold._humanize import escape, human_list, not_one_of
from runfold._reduce.axes import STEP, name_axis, name_places
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._reduce.folded import Curve, Folded

    Mask = NDArray[np.bool_]

DASH, HIDE, PLAIN = "dash", "hide", "plain"
STYLES = (DASH, HIDE, PLAIN)
# More marks than this would look like a line style.
_MOST_MARKS = 12
_SHOWN = {DASH: "dashed", HIDE: "not drawn", PLAIN: "drawn like the rest"}


def check_style(fewer_runs: str) -> None:
    """Raise RunfoldError for an unknown style."""
    if fewer_runs not in STYLES:
        raise RunfoldError(not_one_of("fewer_runs", fewer_runs, STYLES))


def find_fewer(curve: Curve) -> Mask | None:
    """Return a mask of the points with fewer runs than the maximum, or None if there are none."""
    fewer: Mask = curve.counts < curve.counts.max(initial=0)
    return fewer if (fewer & (curve.counts > 0)).any() else None


def find_changes(curve: Curve) -> Mask:
    """Return a mask of the points where the number of runs changes, on the side with more runs.

    The mask is empty if the number changes so often that marks would hide the line.
    """
    marks = np.zeros(len(curve), np.bool_)
    known = np.flatnonzero(curve.counts > 0)
    growth = np.diff(curve.counts[known])
    if np.count_nonzero(growth) <= _MOST_MARKS:
        marks[known[:-1][growth < 0]] = True
        marks[known[1:][growth > 0]] = True
    return marks


def count_runs(curves: Sequence[Curve], fewer_runs: str) -> str:
    """Return the number of runs per point of a group's line: `3`, `1-3`, or `1-2 of 3`."""
    every = max(len(curve.runs) for curve in curves)
    counts = np.concatenate([_drawn_counts(curve, fewer_runs) for curve in curves])
    low, high = int(counts.min(initial=every)), int(counts.max(initial=0)) or every
    span = str(low) if low == high else f"{low}-{high}"
    # If runs share no steps, each point has one run, and no point has all runs.
    return span if high == every else f"{span} of {every}"


def explain_fewer(folded: Folded, tags: Sequence[str], fewer_runs: str) -> list[str]:
    """Return a note on the parts with fewer runs and how they are drawn, or an empty list."""
    parts = [
        f"'{escape(tag)}'{f' of {escape(group.name)}' if group.name else ''}"
        f" (n={count_runs([curve], PLAIN)}, {_where(curve, fewer, folded.x)})"
        for group in folded.groups.values()
        for tag, curve in group.curves.items()
        if tag in tags and (fewer := find_fewer(curve)) is not None
    ]
    if not parts:
        return []
    others = " or ".join(f"'{style}'" for style in STYLES if style != fewer_runs)
    return [
        f"Not all runs have a value everywhere: {human_list(parts, 3)}."
        f" These parts are {_SHOWN[fewer_runs]}; fewer_runs={others} (--fewer-runs) changes that."
    ]


def _drawn_counts(curve: Curve, fewer_runs: str) -> NDArray[np.int64]:
    counts = curve.counts[curve.counts > 0]
    return counts[counts == counts.max(initial=0)] if fewer_runs == HIDE else counts


def _where(curve: Curve, fewer: Mask, x: str) -> str:
    """Return text such as `fewer from step 510` or `fewer at 3 of 9 steps`."""
    first = int(fewer.argmax())
    if x == STEP and fewer[first:].all():
        return f"fewer from {name_axis(x)} {curve.x[first]}"
    return f"fewer at {np.count_nonzero(fewer):,} of {name_places(x, len(curve))}"
