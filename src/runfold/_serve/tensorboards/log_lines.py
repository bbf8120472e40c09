"""Lines of an instance's log as they tell when they were printed, and how grave they are.

TensorBoard, its data loader and Runfold each begin a line in a way of their own.
One that begins in none of them goes on with what the line before began.
"""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEVELS = ("debug", "info", "warning", "error", "critical")

_WORDS = {"I": "info", "W": "warning", "E": "error", "F": "critical", "WARN": "warning"}
_OURS = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) runfold: ")
_TENSORBOARD = re.compile(r"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d)\.\d+ ")
_LOADER = re.compile(r"\[(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)Z (\w+) ")


class Line(NamedTuple):
    """A line without its end, how grave it is, and when it was printed (seconds since 1970)."""

    text: str
    level: str
    time: float


class Marker:
    """Tells of each line of a log, in order, how grave it is and when it was printed.

    Lines before the first that tells its own moment are of the one at which the log began.
    """

    def __init__(self, began: float = 0.0) -> None:
        self._last = "info", began

    def mark(self, lines: Iterable[str]) -> Iterator[Line]:
        """Yield lines that follow those of the last call."""
        for text in lines:
            self._last = _read(text) or self._last
            yield Line(text, *self._last)


def is_chosen(
    line: Line, level: str = LEVELS[0], after: float = 0.0, before: float = math.inf
) -> bool:
    """Whether a line is at least so grave, and was printed between two moments."""
    return LEVELS.index(line.level) >= LEVELS.index(level) and after <= line.time < before


def _read(line: str) -> tuple[str, float] | None:
    """How grave a line is, and when it was printed; None where it tells neither."""
    try:
        if match := _OURS.match(line):
            return "info", time.mktime(time.strptime(match[1], "%Y-%m-%d %H:%M:%S"))
        if match := _TENSORBOARD.match(line):
            return _WORDS[match[1]], _find_year(f"{match[2]}-{match[3]} {match[4]}")
        if match := _LOADER.match(line):
            from calendar import timegm

            moment = timegm(time.strptime(f"{match[1]} {match[2]}", "%Y-%m-%d %H:%M:%S"))
            word = _WORDS.get(match[3], match[3].lower())
            return (word if word in LEVELS else "debug"), float(moment)
    except (ValueError, OverflowError):  # it only looks like one
        pass
    return None


def _find_year(text: str) -> float:
    """The last such moment, of this year or the one before: TensorBoard does not tell."""
    now = time.time()
    year = time.localtime(now).tm_year
    moment = time.mktime(time.strptime(f"{year}-{text}", "%Y-%m-%d %H:%M:%S"))
    if moment > now + 86400:
        moment = time.mktime(time.strptime(f"{year - 1}-{text}", "%Y-%m-%d %H:%M:%S"))
    return moment
