"""Where a curve is folded over fewer runs than elsewhere, and how a figure shows it.

A seed that ends early leaves the fold there, and the mean of the others may jump as if
something had happened.
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
WAYS = (DASH, HIDE, PLAIN)
# More marks than these would look like a line style.
_MOST_MARKS = 12
_SHOWN = {DASH: "dashed", HIDE: "not drawn", PLAIN: "drawn as elsewhere"}


def check_way(fewer_runs: str) -> None:
    """Raise RunfoldError for a way that does not exist."""
    if fewer_runs not in WAYS:
        raise RunfoldError(not_one_of("fewer_runs", fewer_runs, WAYS))


def find_fewer(curve: Curve) -> Mask | None:
    """Where the curve has fewer runs than at most; None where it never has."""
    fewer: Mask = curve.counts < curve.counts.max(initial=0)
    return fewer if (fewer & (curve.counts > 0)).any() else None


def find_changes(curve: Curve) -> Mask:
    """The points next to which the number of runs changes, on the side with more runs.

    None where it changes so often that the marks would hide the line.
    """
    marks = np.zeros(len(curve), np.bool_)
    known = np.flatnonzero(curve.counts > 0)
    growth = np.diff(curve.counts[known])
    if np.count_nonzero(growth) <= _MOST_MARKS:
        marks[known[:-1][growth < 0]] = True
        marks[known[1:][growth > 0]] = True
    return marks


def count_runs(curves: Sequence[Curve], fewer_runs: str) -> str:
    """How many runs the points of a group's line are folded over: `3`, `1-3`, or `1-2 of 3`."""
    every = max(len(curve.runs) for curve in curves)
    counts = np.concatenate([_drawn_counts(curve, fewer_runs) for curve in curves])
    low, high = int(counts.min(initial=every)), int(counts.max(initial=0)) or every
    span = str(low) if low == high else f"{low}-{high}"
    # Seeds that share no step: each point is of one run, and no point is of all.
    return span if high == every else f"{span} of {every}"


def explain_fewer(folded: Folded, tags: Sequence[str], fewer_runs: str) -> list[str]:
    """Where groups have fewer runs, how that is drawn, and how to change it, in a sentence."""
    places = [
        f"'{escape(tag)}'{f' of {escape(group.name)}' if group.name else ''}"
        f" (n={count_runs([curve], PLAIN)}, {_where(curve, fewer, folded.x)})"
        for group in folded.groups.values()
        for tag, curve in group.curves.items()
        if tag in tags and (fewer := find_fewer(curve)) is not None
    ]
    if not places:
        return []
    others = " or ".join(f"'{way}'" for way in WAYS if way != fewer_runs)
    return [
        f"Not all runs have a value everywhere: {human_list(places, 3)}."
        f" These parts are {_SHOWN[fewer_runs]}; fewer_runs={others} (--fewer-runs) changes that."
    ]


def _drawn_counts(curve: Curve, fewer_runs: str) -> NDArray[np.int64]:
    counts = curve.counts[curve.counts > 0]
    return counts[counts == counts.max(initial=0)] if fewer_runs == HIDE else counts


def _where(curve: Curve, fewer: Mask, x: str) -> str:
    """`fewer from step 510 on`, or how many of the points."""
    first = int(fewer.argmax())
    if x == STEP and fewer[first:].all():
        return f"fewer from {name_axis(x)} {curve.x[first]} on"
    return f"fewer at {np.count_nonzero(fewer):,} of {name_places(x, len(curve))}"
