"""Lines of an instance's log, with their level and time.

TensorBoard, its data loader and Runfold each use their own line prefix. A line
without a known prefix continues the line before it.
"""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LEVELS = ("debug", "info", "warning", "error", "critical")

_LEVEL_NAMES = {"I": "info", "W": "warning", "E": "error", "F": "critical", "WARN": "warning"}
_OURS = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) runfold: ")
_TENSORBOARD = re.compile(r"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d)\.\d+ ")
_LOADER = re.compile(r"\[(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)Z (\w+) ")


class Line(NamedTuple):
    """A line without its line break, its level, and when it was printed (seconds since 1970)."""

    text: str
    level: str
    time: float


class Marker:
    """Adds level and time to each line of a log, in order.

    Lines before the first known prefix get the time at which the log began.
    """

    def __init__(self, began: float = 0.0) -> None:
        self._last = "info", began

    def mark(self, lines: Iterable[str]) -> Iterator[Line]:
        """Yield lines with level and time. The lines must follow those from the last call."""
        for text in lines:
            self._last = _read(text) or self._last
            yield Line(text, *self._last)


def is_chosen(
    line: Line, level: str = LEVELS[0], after: float = 0.0, before: float = math.inf
) -> bool:
    """Whether a line has at least this level and was printed in this interval."""
    return LEVELS.index(line.level) >= LEVELS.index(level) and after <= line.time < before


def _read(line: str) -> tuple[str, float] | None:
    """Return a line's level and time, or None if it has no known prefix."""
    try:
        if match := _OURS.match(line):
            return "info", time.mktime(time.strptime(match[1], "%Y-%m-%d %H:%M:%S"))
        if match := _TENSORBOARD.match(line):
            return _LEVEL_NAMES[match[1]], _find_year(f"{match[2]}-{match[3]} {match[4]}")
        if match := _LOADER.match(line):
            from calendar import timegm

            moment = timegm(time.strptime(f"{match[1]} {match[2]}", "%Y-%m-%d %H:%M:%S"))
            word = _LEVEL_NAMES.get(match[3], match[3].lower())
            return (word if word in LEVELS else "debug"), float(moment)
    except (ValueError, OverflowError):  # not a prefix after all
        pass
    return None


def _find_year(text: str) -> float:
    """Return a time in this year or, if that is in the future, last year: logs omit the year."""
    now = time.time()
    year = time.localtime(now).tm_year
    moment = time.mktime(time.strptime(f"{year}-{text}", "%Y-%m-%d %H:%M:%S"))
    if moment > now + 86400:
        moment = time.mktime(time.strptime(f"{year - 1}-{text}", "%Y-%m-%d %H:%M:%S"))
    return moment
