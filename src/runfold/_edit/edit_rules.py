"""The rules of an edit: one dataclass, checked when it is created."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal

from runfold._edit.renaming import Renames, list_renames
from runfold._events.kinds import KINDS
from runfold._humanize import escape, not_one_of
from runfold._select import Names
from runfold.errors import CannotEdit

Overlap = Literal["marker", "cut", "keep"]
Split = Literal["headers", "files", "sessions"]
# The first step and the step after the last; None leaves that side open.
Span = tuple[int | None, int | None]
Spans = str | Span | Iterable[str | Span]

OVERLAPS = ("marker", "cut", "keep")
SPLITS = ("headers", "files", "sessions")
STRIPPABLE = tuple(kind.name for kind in KINDS.values() if kind.is_in_event_files)

LOWEST, HIGHEST = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Rules:
    """The changes that an edit makes, and their scope.

    By default, there are no changes, and all runs and tags are in scope.

    Attributes:
        runs, tags: names and globs of the runs and tags to change; None means all.
        delete_tags, keep_tags: names and globs of the tags to delete or keep.
        rename_tags: old names mapped to new ones, or "OLD=NEW"; see
            `runfold._edit.renaming.rename`.
        move_tags: names and globs of tags, mapped to the run they move to; `{run}` in its
            name is replaced with the new name of the run they come from.
        strip: kinds whose values are deleted, such as "image,histogram".
        steps, cut_steps: the steps to keep or delete: "100:200", or (first, end). The end
            is exclusive, and None leaves a side open.
        every: keep only the points at multiples of this many steps, and the first and
            last point of each series.
        shift_steps, shift_time: added to steps and to wall times (in seconds).
        delete_runs: names and globs of runs to delete, with the files in their folders.
        rename_runs: old names mapped to new ones; runs below a run's folder move with it.
        merge_runs: names and globs of runs, mapped to the run that they are merged into, in
            the order in which they started; runs below their folders move with them.
        overlap: how a merge handles a later run that starts again at an earlier step:
            "marker" writes a restart marker, so that readers hide the earlier points;
            "cut" removes them; "keep" does neither.
        split: each part of a run becomes a run `part-1`, `part-2`, ... in its folder.
            "headers" starts a part at each file header within a file, "files" also at each
            file, and "sessions" also at each restart marker.
    """

    runs: Names = None
    tags: Names = None
    delete_tags: Names = ()
    keep_tags: Names = None
    rename_tags: Renames = ()
    move_tags: Renames = ()
    strip: str | Iterable[str] = ()
    steps: Spans = ()
    cut_steps: Spans = ()
    every: int = 1
    shift_steps: int = 0
    shift_time: float = 0.0
    delete_runs: Names = ()
    rename_runs: Renames = ()
    merge_runs: Renames = ()
    overlap: Overlap = "marker"
    split: Split | None = None

    def __post_init__(self) -> None:
        """Raise CannotEdit for invalid rules."""
        strip = self.strip.split(",") if isinstance(self.strip, str) else self.strip
        object.__setattr__(self, "strip", [kind.strip() for kind in strip if kind.strip()])
        for kind in self.strip:
            if kind not in STRIPPABLE:
                raise CannotEdit(not_one_of("strip", kind, STRIPPABLE))
        for name in ("steps", "cut_steps"):
            object.__setattr__(self, name, _list_spans(getattr(self, name)))
        for name in ("rename_tags", "move_tags", "rename_runs", "merge_runs"):
            object.__setattr__(self, name, list_renames(getattr(self, name)))
        if not _is_whole(self.every) or self.every < 1:
            raise CannotEdit(f"every must be a positive integer, not {self.every!r}.")
        if not isinstance(self.shift_time, Real) or not math.isfinite(self.shift_time):
            raise CannotEdit(f"shift_time must be a number of seconds, not {self.shift_time!r}.")
        if not _is_whole(self.shift_steps):
            raise CannotEdit(f"shift_steps must be an integer, not {self.shift_steps!r}.")
        if not LOWEST <= self.shift_steps <= HIGHEST:
            raise CannotEdit("shift_steps does not fit in 64 bits.")
        if self.overlap not in OVERLAPS:
            raise CannotEdit(not_one_of("overlap", self.overlap, OVERLAPS))
        if self.split is not None and self.split not in SPLITS:
            raise CannotEdit(not_one_of("split", self.split, SPLITS))
        if self.split is not None and self.merge_runs:
            raise CannotEdit("Runs cannot be merged and split in one edit. Use two edits.")
        if self.split is not None and self.move_tags:
            raise CannotEdit("Tags cannot be moved out of runs that are split. Use two edits.")

    @property
    def has_tag_rules(self) -> bool:
        """Whether the content of event files may change."""
        return bool(
            self.delete_tags
            or self.keep_tags is not None
            or self.rename_tags
            or self.move_tags
            or self.strip
            or self.steps
            or self.cut_steps
            or self.every > 1
            or self.shift_steps
            or self.shift_time
        )

    @property
    def has_run_rules(self) -> bool:
        """Whether runs may be deleted, renamed, merged or split."""
        return bool(self.delete_runs or self.rename_runs or self.merge_runs or self.split)


def parse_span(text: str) -> Span:
    """Return the steps of `100:200`, `100:`, `:200` or `100`. Raises CannotEdit for other text."""
    match = re.fullmatch(r"(-?\d*)(:?)(-?\d*)", text.strip())
    if not match or not (match[1] or match[3]) or "-" in (match[1], match[3]):
        raise CannotEdit(
            f"'{escape(text)}' is not a range of steps. Write 100:200, 100:, :200 or 100."
        )
    first = int(match[1]) if match[1] else None
    if not match[2]:
        return _check_span((first, None if first is None else first + 1))
    return _check_span((first, int(match[3]) if match[3] else None))


def _list_spans(spans: Spans) -> list[Span]:
    if isinstance(spans, str) or (
        isinstance(spans, tuple) and len(spans) == 2 and not isinstance(spans[0], str | tuple)
    ):
        spans = [spans]
    if not isinstance(spans, Iterable):
        return [_check_span(spans)]
    return [parse_span(span) if isinstance(span, str) else _check_span(span) for span in spans]


def inclusive(spans: Spans) -> list[tuple[int, int]]:
    """Return the lowest and highest step of each span."""
    return [
        (
            LOWEST if first is None else min(max(first, LOWEST), HIGHEST),
            HIGHEST if end is None else min(max(end - 1, LOWEST), HIGHEST),
        )
        for first, end in _list_spans(spans)
    ]


def _is_whole(number: object) -> bool:
    """Return whether this is a Python or NumPy integer; a fraction would be silently truncated."""
    return isinstance(number, Integral) and not isinstance(number, bool)


def _check_span(span: Span) -> Span:
    try:
        first, end = span
        is_whole = all(step is None or _is_whole(step) for step in (first, end))
    except (TypeError, ValueError):
        is_whole = False
    if not is_whole:
        raise CannotEdit(f"{span!r} is not a range of steps. Pass (first, end) or '100:200'.")
    if first is not None and end is not None and first >= end:
        raise CannotEdit(f"{first}:{end} is empty: the end must be greater than the first step.")
    return first, end
