"""The runs that a split creates, and their folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from runfold._humanize import escape
from runfold.errors import CannotEdit


class Parts:
    """The runs that one run becomes; a run with a single part is unchanged."""

    def __init__(self, target: str, folder: str, count: int) -> None:
        self.target = target
        self.folder = folder
        self.count = count
        self.number = 1
        self.used: list[str] = []

    @property
    def current(self) -> str:
        """The folder of the current part."""
        name = name_part(self.target, self.number, self.count)
        if name not in self.used:
            self.used.append(name)
        return name_part(self.folder, self.number, self.count)

    def advance(self, count: int = 1) -> None:
        """Move on to the next part."""
        self.number += count

    def check(self, taken: Iterable[str]) -> None:
        """Raise CannotEdit if another run has the name of a part."""
        others = {*taken} - {self.target}
        for number in range(1, self.count + 1):
            name = name_part(self.target, number, self.count)
            if name in others:
                raise CannotEdit(
                    f"A run '{escape(name)}' already exists where a part of"
                    f" '{escape(self.target)}' should go. Rename it first."
                )


def name_part(top: str, number: int, count: int) -> str:
    """Return the name of a part of a run, or the run's own name if it has only one part."""
    if count == 1:
        return top
    return os.path.normpath(os.path.join(top, f"part-{number}"))


def find_part(starts: Sequence[float], wall_time: float) -> int:
    """Return the number of the last part that began at or before a time, counted from 1."""
    return max((n for n, start in enumerate(starts, 1) if start <= wall_time), default=1)
