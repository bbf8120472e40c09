"""The runs that a split makes of one run, and where each of them goes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from runfold._humanize import escape
from runfold.errors import CannotEdit


class Parts:
    """The runs that one run becomes; with one part it stays what it is."""

    def __init__(self, target: str, place: str, count: int) -> None:
        self.target = target
        self.place = place
        self.count = count
        self.number = 1
        self.used: list[str] = []

    @property
    def current(self) -> str:
        """The folder of the run that is being written."""
        name = name_part(self.target, self.number, self.count)
        if name not in self.used:
            self.used.append(name)
        return name_part(self.place, self.number, self.count)

    def advance(self, count: int = 1) -> None:
        """Go on with the next part."""
        self.number += count

    def check(self, taken: Iterable[str]) -> None:
        """Refuse parts whose names other runs have. Raises CannotEdit."""
        others = {*taken} - {self.target}
        for number in range(1, self.count + 1):
            name = name_part(self.target, number, self.count)
            if name in others:
                raise CannotEdit(
                    f"There is a run '{escape(name)}' already, where a part of"
                    f" '{escape(self.target)}' should go. Rename it first."
                )


def name_part(top: str, number: int, count: int) -> str:
    """The name of one of the parts of a run; that of the run itself where it has one part."""
    if count == 1:
        return top
    return os.path.normpath(os.path.join(top, f"part-{number}"))


def find_part(starts: Sequence[float], wall_time: float) -> int:
    """The number of the last part that began by a time, counted from 1; 1 if none did."""
    return max((n for n, start in enumerate(starts, 1) if start <= wall_time), default=1)
