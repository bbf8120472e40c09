"""The index of a logdir: the ids of its experiments and trials, with labels and notes.

Ids are given in the order of first sight and never again, even after their experiment
is gone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# The longest name, label or note.
MOST_CHARACTERS = 1 << 16
# Programs that read JSON keep whole numbers below this exactly.
_MOST_IDS = 1 << 53


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

    Whoever may write to the logdir can forge the file, so ids and texts have limits.
    Raises ValueError, TypeError, LookupError or AttributeError for any other JSON.
    """
    return Index(
        {check_text(name): _parse_entry(entry) for name, entry in said["experiments"].items()},
        {check_text(name): _check_id(number) for name, number in said["trials"].items()},
    )


def check_text(text: Any) -> str:
    """Return a name, label or note. Raises ValueError where it is not one, or too long."""
    if not isinstance(text, str):
        raise ValueError(f"expected a text, got {type(text).__name__}")
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"expected at most {MOST_CHARACTERS:,} characters, got {len(text):,}")
    return text


def _parse_entry(said: Any) -> Entry:
    labels = [check_text(label) for label in said["labels"]]
    return Entry(_check_id(said["id"]), labels, check_text(said["note"]), bool(said["is_archived"]))


def _check_id(number: Any) -> int:
    if type(number) is not int or not 1 <= number < _MOST_IDS:
        raise ValueError("expected an id from 1 to 2^53 - 1")
    return number
