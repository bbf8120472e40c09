"""The index of a logdir: the ids of its experiments and trials, with labels and notes.

Ids are given in the order of first sight and never again, even after their experiment
is gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(slots=True)
class Entry:
    """What the index has of one experiment."""

    id: int
    labels: list[str] = field(default_factory=list)
    note: str = ""
    is_archived: bool = False


@dataclass(slots=True)
class Index:
    """Entries of experiments and ids of trials, by name."""

    experiments: dict[str, Entry] = field(default_factory=dict)
    trials: dict[str, int] = field(default_factory=dict)

    def take_in(self, experiments: Iterable[str], trials: Iterable[str]) -> bool:
        """Give ids to those that have none, in this order; whether there were any."""
        last = max((entry.id for entry in self.experiments.values()), default=0)
        new = [name for name in dict.fromkeys(experiments) if name not in self.experiments]
        self.experiments |= {name: Entry(last + n) for n, name in enumerate(new, 1)}
        last = max(self.trials.values(), default=0)
        others = [name for name in trials if name not in self.trials]
        self.trials |= {name: last + n for n, name in enumerate(others, 1)}
        return bool(new or others)

    def follow(self, shared: Index) -> None:
        """Take what the index of others has and this one lacks, if its ids are free here."""
        taken = {entry.id for entry in self.experiments.values()}
        for name, entry in shared.experiments.items():
            if entry.id not in taken:
                self.experiments.setdefault(name, entry)
        numbers = set(self.trials.values())
        for name, number in shared.trials.items():
            if number not in numbers:
                self.trials.setdefault(name, number)


def parse_index(said: Any) -> Index:
    """Return the index that a file of JSON describes.

    Raises ValueError, TypeError, LookupError, AttributeError or OverflowError for
    any other JSON.
    """
    return Index(
        {name: _parse_entry(entry) for name, entry in said["experiments"].items()},
        {str(name): int(number) for name, number in said["trials"].items()},
    )


def _parse_entry(said: Any) -> Entry:
    labels = [str(label) for label in said["labels"]]
    return Entry(int(said["id"]), labels, str(said["note"]), bool(said["is_archived"]))
