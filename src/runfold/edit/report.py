"""What an edit did, or would do: counts for each run."""

from __future__ import annotations

from dataclasses import dataclass, field

from runfold.text import escape, human_bytes, human_count, human_list


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
