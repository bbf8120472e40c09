"""The index of a logdir: the ids of its experiments and trials, with labels and notes.

Ids are assigned in order of discovery and never reused, even after an experiment is
deleted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

# Maximum length of a name, label or note.
MOST_CHARACTERS = 1 << 16
# JSON readers can represent every integer below this value exactly.
_MOST_IDS = 1 << 53


@dataclass(slots=True)
class Entry:
    """The index entry of one experiment."""

    id: int
    labels: list[str] = field(default_factory=list)
    note: str = ""
    is_archived: bool = False


@dataclass(slots=True)
class Index:
    """Entries of experiments and ids of trials, by name."""

    experiments: dict[str, Entry] = field(default_factory=dict)
    trials: dict[str, int] = field(default_factory=dict)

    def assign_ids(self, experiments: Iterable[str], trials: Iterable[str]) -> bool:
        """Assign ids to new names, in this order; return whether any name was new."""
        last = max((entry.id for entry in self.experiments.values()), default=0)
        new = [name for name in dict.fromkeys(experiments) if name not in self.experiments]
        self.experiments |= {name: Entry(last + n) for n, name in enumerate(new, 1)}
        last = max(self.trials.values(), default=0)
        others = [name for name in trials if name not in self.trials]
        self.trials |= {name: last + n for n, name in enumerate(others, 1)}
        return bool(new or others)

    def merge(self, shared: Index) -> None:
        """Copy entries that are missing here from the shared index, if their ids are free."""
        taken = {entry.id for entry in self.experiments.values()}
        for name, entry in shared.experiments.items():
            if entry.id not in taken:
                self.experiments.setdefault(name, entry)
        numbers = set(self.trials.values())
        for name, number in shared.trials.items():
            if number not in numbers:
                self.trials.setdefault(name, number)


def parse_index(content: Any) -> Index:
    """Return the index that a JSON file describes.

    Anyone with write access to the logdir can forge the file, so ids and strings have limits.
    Raises ValueError, TypeError, LookupError or AttributeError for invalid content.
    """
    return Index(
        {check_text(name): _parse_entry(entry) for name, entry in content["experiments"].items()},
        {check_text(name): _check_id(number) for name, number in content["trials"].items()},
    )


def check_text(text: Any) -> str:
    """Return a name, label or note. Raises ValueError if it is not text, or is too long."""
    if not isinstance(text, str):
        raise ValueError(f"expected text, got {type(text).__name__}")
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"expected at most {MOST_CHARACTERS:,} characters, got {len(text):,}")
    return text


def _parse_entry(entry: Any) -> Entry:
    labels = [check_text(label) for label in entry["labels"]]
    note, is_archived = check_text(entry["note"]), bool(entry["is_archived"])
    return Entry(_check_id(entry["id"]), labels, note, is_archived)


def _check_id(number: Any) -> int:
    if type(number) is not int or not 1 <= number < _MOST_IDS:
        raise ValueError("expected an id from 1 to 2^53 - 1")
    return number
