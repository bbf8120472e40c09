"""The report of an edit: counts per run."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from runfold._humanize import escape, human_bytes, human_count, human_list


@dataclass(frozen=True, slots=True)
class TagMove:
    """The number of tags and values that moved to another run."""

    run: str
    tags: int
    values: int

    def __str__(self) -> str:
        values, tags = human_count(self.values, "value"), human_count(self.tags, "tag")
        return f"{values} of {tags} moved to {escape(self.run)}"


@dataclass(frozen=True, slots=True)
class RunReport:
    """The result for one run; if `becomes` is empty, the run was deleted.

    The counts are for its event files before and after the edit, including values moved
    to other runs.
    """

    name: str
    becomes: tuple[str, ...]
    events: tuple[int, int]
    values: tuple[int, int]
    renamed: int
    bytes: tuple[int, int]
    moved: tuple[TagMove, ...] = ()
    shifted: int = 0  # values with a changed step or wall time

    @property
    def has_changed(self) -> bool:
        """Whether anything in the run changed."""
        return (
            self.becomes != (self.name,)
            or self.renamed + self.shifted > 0
            or bool(self.moved)
            or any(before != after for before, after in (self.events, self.values, self.bytes))
        )

    def is_below(self, other: RunReport) -> bool:
        """Return whether all new folders of this run are within those of another run."""
        folders = tuple(posixpath.join(folder, "") for folder in other.becomes)
        is_everywhere = posixpath.curdir in other.becomes
        return is_everywhere or all(folder.startswith(folders) for folder in self.becomes)

    def with_part(self, part: RunReport) -> RunReport:
        """Return this report combined with the report of one of the run's parts."""
        return replace(
            self,
            events=_add(self.events, part.events),
            values=_add(self.values, part.values),
            renamed=self.renamed + part.renamed,
            bytes=_add(self.bytes, part.bytes),
            moved=(*self.moved, *part.moved),
            shifted=self.shifted + part.shifted,
        )

    def __str__(self) -> str:
        if not self.becomes:
            return f"{escape(self.name)}: deleted, {human_count(self.values[0], 'value')}"
        moved = "" if self.becomes == (self.name,) else f" -> {human_list(self.becomes)}"
        removed = self.values[0] - self.values[1]
        facts = [
            f"{human_count(removed)} of {human_count(self.values[0], 'value')} removed"
        ] * bool(removed)
        facts += [f"{human_count(self.renamed, 'value')} changed"] * bool(self.renamed)
        facts += [f"{human_count(self.shifted, 'value')} shifted"] * bool(self.shifted)
        facts += map(str, self.moved)
        facts += [f"{human_bytes(self.bytes[0])} -> {human_bytes(self.bytes[1])}"]
        return f"{escape(self.name)}{moved}: {', '.join(facts)}"


@dataclass(slots=True)
class Report:
    """The result of an edit: a report per run, and the paths of the result and the backup.

    `notes` are further remarks, such as broken records that were skipped.
    """

    runs: list[RunReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    target: str | None = None
    backup: str | None = None

    @property
    def changed(self) -> list[RunReport]:
        """The runs that changed."""
        return [run for run in self.runs if run.has_changed]


def join_parts(runs: Sequence[RunReport], owners: Mapping[str, str]) -> list[RunReport]:
    """Merge the reports of parts into those of their runs, except for parts that left their run."""
    joined = {run.name: run for run in runs}
    for part, owner in owners.items():
        if joined[part].is_below(joined[owner]):
            joined[owner] = joined[owner].with_part(joined.pop(part))
    return list(joined.values())


def _add(first: tuple[int, int], second: tuple[int, int]) -> tuple[int, int]:
    return first[0] + second[0], first[1] + second[1]
