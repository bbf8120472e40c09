"""What an edit did, or would do: counts for each run."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from runfold._humanize import escape, human_bytes, human_count, human_list


@dataclass(frozen=True, slots=True)
class TagMove:
    """How much went into another run."""

    run: str
    tags: int
    values: int

    def __str__(self) -> str:
        values, tags = human_count(self.values, "value"), human_count(self.tags, "tag")
        return f"{values} of {tags} moved into {escape(self.run)}"


@dataclass(frozen=True, slots=True)
class RunReport:
    """What became of one run; without any in `becomes` it is gone.

    Counts are of its event files: before, and after. What moved into other runs is
    part of them.
    """

    name: str
    becomes: tuple[str, ...]
    events: tuple[int, int]
    values: tuple[int, int]
    renamed: int
    bytes: tuple[int, int]
    moved: tuple[TagMove, ...] = ()
    shifted: int = 0  # values with another step or wall time

    @property
    def has_changed(self) -> bool:
        """Whether anything of the run is not as it was."""
        return (
            self.becomes != (self.name,)
            or self.renamed + self.shifted > 0
            or bool(self.moved)
            or any(before != after for before, after in (self.events, self.values, self.bytes))
        )

    def is_below(self, other: RunReport) -> bool:
        """Whether nothing of the run is outside the folders that another run has now."""
        folders = tuple(posixpath.join(one, "") for one in other.becomes)
        is_everywhere = posixpath.curdir in other.becomes
        return is_everywhere or all(one.startswith(folders) for one in self.becomes)

    def with_part(self, part: RunReport) -> RunReport:
        """The report of the run and of a folder that is part of it."""
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
        gone = self.values[0] - self.values[1]
        facts = [f"{human_count(gone, 'value')} of {human_count(self.values[0])} removed"] * bool(
            gone
        )
        facts += [f"{human_count(self.renamed, 'value')} changed"] * bool(self.renamed)
        facts += [f"{human_count(self.shifted, 'value')} shifted"] * bool(self.shifted)
        facts += map(str, self.moved)
        facts += [f"{human_bytes(self.bytes[0])} -> {human_bytes(self.bytes[1])}"]
        return f"{escape(self.name)}{moved}: {', '.join(facts)}"


@dataclass(slots=True)
class Report:
    """What an edit did: to each run, where the result is, and where the source is kept.

    `notes` are things to know, such as records that were broken and left out.
    """

    runs: list[RunReport] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    target: str | None = None
    backup: str | None = None

    @property
    def changed(self) -> list[RunReport]:
        """The runs of which anything is not as it was."""
        return [run for run in self.runs if run.has_changed]


def join_parts(runs: Sequence[RunReport], owners: Mapping[str, str]) -> list[RunReport]:
    """The reports of runs, each with its parts; a part that left its run has its own report."""
    joined = {run.name: run for run in runs}
    for part, owner in owners.items():
        if joined[part].is_below(joined[owner]):
            joined[owner] = joined[owner].with_part(joined.pop(part))
    return list(joined.values())


def _add(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], one[1] + other[1]
