"""The rules for what is inside of event files, worked out for the tags of each run."""

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

# Of a run's story these alone stand at steps of the training: each where it happened.

_BOUNDARIES = {
    None: 0,
    "headers": Boundary.AT_VERSION,
    "files": Boundary.AT_VERSION,
    "sessions": Boundary.AT_VERSION | Boundary.AT_RESTART,
}


@dataclass(frozen=True, slots=True)
class TagChanges:
    """What becomes of the tags of all runs, by their names; None is all of them."""

    in_scope: frozenset[str] | None = None
    dropped: frozenset[str] = frozenset()
    renamed: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Left:
    """What is left of a tag: its name before and after, its lowest and highest step, its kinds."""

    tag: str
    name: str
    first: int
    last: int
    kinds: frozenset[str]


def resolve_tags(surveys: Sequence[Survey], rules: Rules) -> TagChanges:
    """Find the tags that the rules name. Raises UnknownTag with the near ones.

    The tags of hparams, layouts and a run's story are meant only where they are
    named in full: `--keep-tags 'train/*'` must not cost a run its hparams. Boxes
    go with their picture.
    """
    tags = list(dict.fromkeys(name for survey in surveys for name in survey.names))
    scope = None if rules.tags is None else frozenset(_match(tags, rules.tags))
    ordinary = [tag for tag in tags if not is_reserved(tag) and (scope is None or tag in scope)]
    dropped = set(_match(tags, rules.delete_tags))
    if rules.keep_tags is not None:
        dropped |= {*ordinary} - {*_match(tags, rules.keep_tags)}
    if scope is not None:
        dropped &= scope
    found = rename(ordinary, rules.rename_tags)
    renamed = {old: new for old, new in found.items() if old != new}
    for old, new in renamed.items():
        if not new:
            raise CannotEdit(f"Tag '{escape(old)}' would have no name left. Nothing was changed.")
    dropped |= {tag for tag in tags if picture_of(tag) != tag and picture_of(tag) in dropped}
    for tag in tags:
        picture = picture_of(tag)
        if picture != tag and picture in renamed:
            renamed[tag] = tag[: -len(picture)] + renamed[picture]
    return TagChanges(scope, frozenset(dropped), renamed)


def _match(tags: Sequence[str], wanted: Names) -> list[str]:
    """The tags that are wanted; reserved ones only where they are named in full."""
    if not wanted:
        return []
    wishes = [wanted] if isinstance(wanted, str) else list(wanted)
    named = {wish for wish in wishes if wish in tags}
    ordinary = [tag for tag in tags if tag in named or not is_reserved(tag)]
    return select(ordinary, wishes, "tag", "in these runs")


class RunRewrite:
    """The rules as they are for one run.

    `only` are the tags that are left, and all are without it. `is_apart` leaves out
    what is no value, for tags that go into another run.
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
        # Values from this step on go: a later part of a merged run has them again.
        self.limit = HIGHEST
        # The same behind each restart marker, for values that leave the markers behind.
        self.limits: NDArray[np.int64] | None = None
        # Whether restart markers go along with values that are apart.
        self.has_markers = False
        # How many values went by `limits`; known when they are counted.
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
        """Count what will be left, where it matters, and refuse what would spoil it.

        Gives the rows of `Rewriter.count`; without a need of counts those of before.
        Raises CannotEdit.
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
        """Whether the run's event files stay as they are."""
        rules = self.rules
        if self.limit < HIGHEST or self._is_apart:
            return False
        if (self._flags & (TagFlag.DROP | TagFlag.ASK)).any() or any(self._names):
            return False
        moves = rules.shift_time or rules.shift_steps or rules.strip
        if not (moves or rules.steps or rules.cut_steps or rules.every > 1):
            return True
        # Without a choice of tags, events without a value move and go as well.
        return rules.tags is not None and not (self._flags & TagFlag.IN_SCOPE).any()

    def rewriter(self, boundaries: int = 0) -> Rewriter:
        """A rewriter for one pass over the run's files."""
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
        """Where a split parts the run's files."""
        return int(_BOUNDARIES[self.rules.split])

    def first_step(self, counts: NDArray[np.int64]) -> int | None:
        """The step at which the run goes on: the lowest of its scalars that will be left.

        Not of the rest, unless there are no scalars, nor of single ones, unless there
        are no others: a restarted job may well log its configuration at step 0 again,
        as text, or the size of its model. Steps of system metrics are seconds.
        """
        left = self._left(counts)
        scalars = [row for row in left if row[5] < HIGHEST]
        series = [row for row in scalars if row[2] > 1]
        steps = [int(row[5]) for row in series or scalars] or [int(row[3]) for row in left]
        return min(steps) + self.rules.shift_steps if steps else None

    def last_step(self, counts: NDArray[np.int64]) -> int:
        """The highest step that will be left."""
        steps = [int(row[4]) for row in self._left(counts)]
        return max(steps, default=LOWEST) + self.rules.shift_steps

    def _left(self, counts: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The rows of tags that will have values at steps of the training."""
        return [
            row
            for tag, row in zip(self.survey.names, counts, strict=True)
            if row[2] and not is_reserved(tag) and not is_system_tag(tag)
        ]

    def count(self) -> NDArray[np.int64]:
        """Count what will be left, as `Rewriter.count` does, and refuse nothing."""
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
                    f"Run '{escape(self.survey.run.name)}': steps of tag '{escape(tag)}' moved by"
                    f" {shift} do not fit in 64 bits. Nothing was changed."
                )

    def _check_names(self, counts: NDArray[np.int64]) -> None:
        """Refuse two tags under one name, unless the one goes on where the other ended."""
        spans: dict[str, list[Left]] = {}
        for left in self.list_left(counts):
            spans.setdefault(left.name, []).append(left)
        for new, parts in spans.items():
            parts.sort(key=lambda left: (left.first, left.last))
            for one, other in pairwise(parts):
                is_same = bool(one.kinds & other.kinds)
                if other.first <= one.last or not is_same:
                    reason = "share steps" if is_same else "hold two kinds of data"
                    raise CannotEdit(
                        f"Run '{escape(self.survey.run.name)}': tags '{escape(one.tag)}' and"
                        f" '{escape(other.tag)}' would both be '{escape(new)}', and they {reason}."
                        " Nothing was changed. Delete one of them, or choose another name."
                    )

    def list_left(self, counts: NDArray[np.int64]) -> Iterator[Left]:
        """Yield what will be left of each tag that has values then."""
        for number, (tag, row) in enumerate(zip(self.survey.names, counts, strict=True)):
            if row[2]:
                reach = self._flags[number] & (TagFlag.IN_SCOPE | TagFlag.STEPLESS)
                shift = self.rules.shift_steps if reach == TagFlag.IN_SCOPE else 0
                new = self._changes.renamed.get(tag, tag)
                kinds = self._kinds_of(number, int(row[6]))
                yield Left(tag, new, int(row[3]) + shift, int(row[4]) + shift, kinds)

    def _kinds_of(self, tag: int, forms: int) -> frozenset[str]:
        """What tells whether two tags hold the same: a scalar may be stored in two forms."""
        plugin = self.survey.tags.plugin(tag)
        kinds = {self.survey.kinds[form][plugin] for form in range(FORMS) if forms >> form & 1}
        if TENSOR in kinds:  # of a plugin that Runfold knows nothing of
            named = f"{TENSOR} {self.survey.tags.plugins()[plugin]}".rstrip()
            kinds = kinds - {TENSOR} | {named}
        return frozenset(kinds)


def _encode(name: str) -> bytes:
    return name.encode("utf-8", "backslashreplace")
