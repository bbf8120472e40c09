"""The x-axes of curves: steps, times, or the values of a tag; and the names of alignments."""

from __future__ import annotations

from runfold._humanize import escape, human_count

STEP, WALL_TIME, RELATIVE = "step", "wall_time", "relative"
AXIS_NAMES = {STEP: "step", WALL_TIME: "wall time", RELATIVE: "relative time"}
AXES = tuple(AXIS_NAMES)

AUTO, STRICT, INTERSECTION, BINS = "auto", "strict", "intersection", "bins"
INTERPOLATE = "interpolate"
ALIGNMENTS = (AUTO, STRICT, INTERSECTION, "union", "nearest", "ffill", INTERPOLATE, BINS)
# These use values of a run at x values that it does not have.
FILLS = ("nearest", "ffill", INTERPOLATE, BINS)


def name_axis(x: str) -> str:
    """Return the name of an axis: `step`, `wall time`, `relative time`, or the tag."""
    return AXIS_NAMES.get(x) or escape(x)


def name_places(x: str, count: int | None = None) -> str:
    """Return a noun for x values: `1 step`, `3 wall times`; without a count, `steps`.

    If the axis is a tag, the noun is `values of 'samples'`.
    """
    noun = AXIS_NAMES.get(x, "value")
    words = f"{noun}s" if count is None else human_count(count, noun)
    return words if x in AXIS_NAMES else f"{words} of '{escape(x)}'"
