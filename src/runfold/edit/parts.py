"""The runs that a split makes of one run, and where each of them goes."""

from __future__ import annotations

import os
from collections.abc import Iterable

from runfold.errors import CannotEdit
from runfold.text import escape


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
        name = self._name(self.target, self.number)
        if name not in self.used:
            self.used.append(name)
        return self._name(self.place, self.number)

    def advance(self, count: int = 1) -> None:
        """Go on with the next part."""
        self.number += count

    def check(self, taken: Iterable[str]) -> None:
        """Refuse parts whose names other runs have. Raises CannotEdit."""
        others = {*taken} - {self.target}
        for number in range(1, self.count + 1):
            name = self._name(self.target, number)
            if name in others:
                raise CannotEdit(
                    f"There is a run '{escape(name)}' already, where a part of"
                    f" '{escape(self.target)}' should go. Rename it first."
                )

    def _name(self, top: str, number: int) -> str:
        if self.count == 1:
            return top
        return os.path.normpath(os.path.join(top, f"part-{number}"))
