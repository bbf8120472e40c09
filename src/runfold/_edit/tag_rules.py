"""The rules for the content of event files, applied to the tags of each run."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from runfold._conventions import MARK_TAG, is_system_tag
from runfold._core.decider import FORMS, KindFlag, TagFlag
from runfold._core.rewriter import Boundary, Rewriter
from runfold._core.scanner import EventFlag
from runfold._edit.edit_rules import HIGHEST, LOWEST, Rules, inclusive
from runfold._edit.record_stream import copy_records
from runfold._edit.renaming import rename
from runfold._edit.survey import Survey, is_reserved, picture_of
from runfold._edit.tag_references import REFERRING, rename_references
from runfold._events.kinds import KINDS, TENSOR
from runfold._humanize import escape
from runfold._select import Names, select
from runfold.errors import CannotEdit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


_BOUNDARIES = {
    None: 0,
    "headers": Boundary.AT_VERSION,
    "files": Boundary.AT_VERSION,
    "sessions": Boundary.AT_VERSION | Boundary.AT_RESTART,
}


@dataclass(frozen=True, slots=True)
class TagChanges:
    """The changes to the tags of all runs, by name; `in_scope` is None for all tags."""

    in_scope: frozenset[str] | None = None
    dropped: frozenset[str] = frozenset()
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Remainder:
    """The remainder of a tag: its old and new name, lowest and highest step, and kinds."""

    tag: str
    name: str
    first: int
    last: int
    kinds: frozenset[str]


def resolve_tags(surveys: Sequence[Survey], rules: Rules) -> TagChanges:
    """Return the changes that the rules make to the tags of these runs.

    The tags of hparams, layouts and a run's story only match if named in full,
    because `--keep-tags 'train/*'` must not remove a run's hparams. Boxes follow
    their image. Raises UnknownTag, which suggests close matches, if a rule matches no tag,
    and CannotEdit for an empty new name.
    """
    tags = list(dict.fromkeys(name for survey in surveys for name in survey.names))
    scope = None if rules.tags is None else frozenset(_match(tags, rules.tags))
    ordinary = [tag for tag in tags if not is_reserved(tag) and (scope is None or tag in scope)]
    dropped = set(_match(tags, rules.delete_tags))
    if rules.keep_tags is not None:
        dropped |= {*ordinary} - {*_match(tags, rules.keep_tags)}
    if scope is not None:
        dropped &= scope
    new_names = rename(ordinary, rules.rename_tags)
    renamed = {old: new for old, new in new_names.items() if old != new}
    for old, new in renamed.items():
        if not new:
            raise CannotEdit(f"Tag '{escape(old)}' would have an empty name. Nothing was changed.")
    dropped |= {tag for tag in tags if picture_of(tag) != tag and picture_of(tag) in dropped}
    for tag in tags:
        picture = picture_of(tag)
        if picture != tag and picture in renamed:
            renamed[tag] = tag[: -len(picture)] + renamed[picture]
    return TagChanges(scope, frozenset(dropped), renamed)


def _match(tags: Sequence[str], patterns: Names) -> list[str]:
    """Return the matching tags; reserved tags match only if named in full."""
    if not patterns:
        return []
    pattern_list = [patterns] if isinstance(patterns, str) else list(patterns)
    named = {pattern for pattern in pattern_list if pattern in tags}
    ordinary = [tag for tag in tags if tag in named or not is_reserved(tag)]
    return select(ordinary, pattern_list, "tag", "in these runs")


class RunRewrite:
    """The rules applied to one run.

    `only` limits the tags that are kept; by default, all are. `is_apart` drops
    events without values, for tags that move to another run.
    """

    def __init__(
        self,
        survey: Survey,
        rules: Rules,
        changes: TagChanges,
        only: frozenset[str] | None = None,
        is_apart: bool = False,
    ) -> None:
        self.survey = survey
        self.rules = rules
        # Values from this step on are dropped, because a later part of a merged run repeats them.
        self.limit = HIGHEST
        # The limit after each restart marker, for values that move without the markers.
        self.limits: NDArray[np.int64] | None = None
        # Whether restart markers move with the values (only if `is_apart`).
        self.has_markers = False
        # The number of values dropped because of `limits`; known after counting.
        self.hidden = 0
        self._only = only
        self._is_apart = is_apart
        self._changes = changes
        self._flags = np.array([self._flag(tag) for tag in survey.names], np.uint8)
        self._names = [
            _encode(changes.renamed[tag]) if tag in changes.renamed else None
            for tag in survey.names
        ]
        self._kinds = np.array(
            [[self._kind(kind) for kind in row] for row in survey.kinds], np.uint8
        )
        self._lasts: NDArray[np.int64] | None = None

    def prepare(self, needs_counts: bool = False) -> NDArray[np.int64]:
        """Count the remaining values if needed, and reject changes that damage the log.

        Returns the rows of `Rewriter.count`, or the survey's counts if no new ones are
        needed. Raises CannotEdit.
        """
        needs_counts |= self.rules.every > 1 or self.rules.shift_steps != 0 or any(self._names)
        if self.is_idle or not needs_counts:
            return self.survey.counts
        counts = self.count()
        if self.rules.every > 1:
            self._lasts = counts[:, 1] - 1
            counts = self.count()
        self._check_steps(counts)
        self._check_names(counts)
        return counts

    @property
    def is_idle(self) -> bool:
        """Whether the run's event files are unchanged."""
        rules = self.rules
        if self.limit < HIGHEST or self._is_apart:
            return False
        if (self._flags & (TagFlag.DROP | TagFlag.ASK)).any() or any(self._names):
            return False
        moves = rules.shift_time or rules.shift_steps or rules.strip
        if not (moves or rules.steps or rules.cut_steps or rules.every > 1):
            return True
        # If the rules are not limited to some tags, events without a value are also shifted
        # and removed.
        return rules.tags is not None and not (self._flags & TagFlag.IN_SCOPE).any()

    def rewriter(self, boundaries: int = 0) -> Rewriter:
        """Return a rewriter for one pass over the run's files."""
        rules = self.rules
        events = 0 if rules.tags is not None else EventFlag.ALL_TAGS
        if rules.tags is None and "graph" in rules.strip:
            events |= EventFlag.STRIP_GRAPH
        if rules.tags is None and "run_metadata" in rules.strip:
            events |= EventFlag.STRIP_RUN_METADATA
        if self._is_apart:
            events |= EventFlag.ONLY_VALUES
        if self.has_markers:
            events |= EventFlag.RESTARTS
        return Rewriter(
            self.survey.tags,
            flags=self._flags,
            names=self._names,
            kinds=self._kinds,
            events=events,
            keeps=inclusive(rules.steps),
            cuts=inclusive(rules.cut_steps),
            limit=self.limit,
            limits=self.limits,
            every=rules.every,
            lasts=self._lasts,
            shift_steps=rules.shift_steps,
            shift_time=rules.shift_time,
            boundaries=boundaries,
            replace=lambda message: rename_references(message, self._changes.renamed),
        )

    @property
    def boundaries(self) -> int:
        """The boundaries where a split divides the run's files."""
        return int(_BOUNDARIES[self.rules.split])

    def first_step(self, counts: NDArray[np.int64]) -> int | None:
        """Return the step at which the run continues: the lowest step of its remaining scalars.

        Other values count only if there are no scalars, and tags with a single
        value only if there are no others: a restarted job often logs its configuration
        (as text) or the size of its model at step 0 again. System metrics do not count,
        because their steps are seconds.
        """
        rows = self._left(counts)
        scalars = [row for row in rows if row[5] < HIGHEST]
        series = [row for row in scalars if row[2] > 1]
        steps = [int(row[5]) for row in series or scalars] or [int(row[3]) for row in rows]
        return min(steps) + self.rules.shift_steps if steps else None

    def last_step(self, counts: NDArray[np.int64]) -> int:
        """Return the highest remaining step."""
        steps = [int(row[4]) for row in self._left(counts)]
        return max(steps, default=LOWEST) + self.rules.shift_steps

    def _left(self, counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Return the rows of the tags that keep values at training steps."""
        return [
            row
            for tag, row in zip(self.survey.names, counts, strict=True)
            if row[2] and not is_reserved(tag) and not is_system_tag(tag)
        ]

    def count(self) -> NDArray[np.int64]:
        """Count the remaining values as `Rewriter.count` does, without rejecting anything."""
        rewriter = self.rewriter()
        for path, size in self.survey.sizes.items():
            copy_records(path, rewriter, size=size)
        self.hidden = rewriter.values_hidden
        counts = rewriter.count()
        whole = np.zeros((len(self.survey.names), counts.shape[1]), np.int64)
        whole[: len(counts)] = counts[: len(whole)]
        return whole

    def _flag(self, tag: str) -> int:
        changes = self._changes
        flag = 0
        if changes.in_scope is None or tag in changes.in_scope:
            flag |= TagFlag.IN_SCOPE
        if tag in changes.dropped or (self._only is not None and tag not in self._only):
            flag |= TagFlag.DROP
        if tag == MARK_TAG:
            flag |= TagFlag.UNTHINNED
        elif is_reserved(tag):
            flag |= TagFlag.STEPLESS
        if tag in REFERRING and changes.renamed:
            flag |= TagFlag.ASK
        return flag

    def _kind(self, kind: str) -> int:
        flag = KindFlag.STRIP if kind in self.rules.strip else 0
        return flag | (KindFlag.HAS_NO_STEPS if KINDS[kind].is_stepless else 0)

    def _check_steps(self, counts: NDArray[np.int64]) -> None:
        shift = self.rules.shift_steps
        for tag, row in zip(self.survey.names, counts, strict=True):
            if not row[2]:
                continue
            low, high = int(row[3]) + shift, int(row[4]) + shift
            if low < LOWEST or high > HIGHEST:
                raise CannotEdit(
                    f"Run '{escape(self.survey.run.name)}': steps of tag '{escape(tag)}' shifted by"
                    f" {shift} would not fit in 64 bits. Nothing was changed."
                )

    def _check_names(self, counts: NDArray[np.int64]) -> None:
        """Reject two tags with one name, unless one continues where the other ended."""
        spans: dict[str, list[Remainder]] = {}
        for remainder in self.list_remainders(counts):
            spans.setdefault(remainder.name, []).append(remainder)
        for new, parts in spans.items():
            parts.sort(key=lambda remainder: (remainder.first, remainder.last))
            for first, second in pairwise(parts):
                is_same = bool(first.kinds & second.kinds)
                if second.first <= first.last or not is_same:
                    reason = "share steps" if is_same else "are of different kinds"
                    raise CannotEdit(
                        f"Run '{escape(self.survey.run.name)}': tags '{escape(first.tag)}' and"
                        f" '{escape(second.tag)}' would both be named '{escape(new)}',"
                        f" and they {reason}. Nothing was changed. Delete one of them, or"
                        " choose another name."
                    )

    def list_remainders(self, counts: NDArray[np.int64]) -> Iterator[Remainder]:
        """Yield the remainder of each tag that keeps values."""
        for number, (tag, row) in enumerate(zip(self.survey.names, counts, strict=True)):
            if row[2]:
                reach = self._flags[number] & (TagFlag.IN_SCOPE | TagFlag.STEPLESS)
                shift = self.rules.shift_steps if reach == TagFlag.IN_SCOPE else 0
                new = self._changes.renamed.get(tag, tag)
                kinds = self._kinds_of(number, int(row[6]))
                yield Remainder(tag, new, int(row[3]) + shift, int(row[4]) + shift, kinds)

    def _kinds_of(self, tag: int, forms: int) -> frozenset[str]:
        """Return the kinds of a tag for comparison; a scalar can be stored in two forms."""
        plugin = self.survey.tags.plugin(tag)
        kinds = {self.survey.kinds[form][plugin] for form in range(FORMS) if forms >> form & 1}
        if TENSOR in kinds:  # for a plugin that Runfold does not support
            named = f"{TENSOR} {self.survey.tags.plugins()[plugin]}".rstrip()
            kinds = kinds - {TENSOR} | {named}
        return frozenset(kinds)


def _encode(name: str) -> bytes:
    return name.encode("utf-8", "backslashreplace")
