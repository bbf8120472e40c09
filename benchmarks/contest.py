"""The same work done by Runfold and its peers, in turns, with what they gave compared."""

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import Cost, Undone, load
from benchmarks.readings import Series

RUNFOLD = "runfold"
# Slow contenders are measured twice, and then again as long as it takes no longer than this.
SECONDS_EACH = 20.0
AT_LEAST = 2


class Disagreement(Exception):
    """Two contenders gave different values for the same input."""


@dataclass(slots=True, eq=False)
class Contender:
    """One who does the work, and what it cost so far, scaled to the whole work.

    `once` does it in a process of its own, and keeps what it gave under a path
    if there is one. A slow contender does a part, of `size` runs or steps.
    """

    name: str
    once: Callable[[Path | None], Cost]
    size: int
    scale: float = 1.0
    note: str = ""
    costs: list[Cost] = field(default_factory=list)
    trouble: str = ""

    @property
    def cpu(self) -> float:
        """The median of the CPU seconds."""
        return statistics.median(cost.cpu for cost in self.costs) * self.scale

    @property
    def cpu_range(self) -> tuple[float, float]:
        """The least and the most CPU seconds."""
        seconds = [cost.cpu * self.scale for cost in self.costs]
        return min(seconds), max(seconds)

    @property
    def wall(self) -> float:
        """The median of the seconds by the clock."""
        return statistics.median(cost.wall for cost in self.costs) * self.scale

    @property
    def peak(self) -> int:
        """The highest peak memory, of the part that was done."""
        return max(cost.peak for cost in self.costs)

    @property
    def growth(self) -> int:
        """The highest growth of the memory, of the part that was done."""
        return max(cost.growth for cost in self.costs)

    def part(self, heading: str) -> float:
        """The median of the seconds of a part of the work."""
        return statistics.median(cost.parts[heading] for cost in self.costs) * self.scale

    def measure(self, keep: Path | None) -> None:
        """Do the work once more, unless it failed before; Runfold may not fail."""
        if self.trouble:
            return
        try:
            self.costs.append(self.once(keep))
        except Undone as error:
            if self.name.startswith(RUNFOLD):
                raise
            self.trouble = str(error)

    def has_time(self) -> bool:
        """Whether doing it again stays within the time that each has."""
        spent = sum(cost.wall for cost in self.costs)
        return spent * (1 + 1 / max(1, len(self.costs))) <= SECONDS_EACH


@dataclass(frozen=True, slots=True)
class Contest:
    """One part of the benchmark: the work in words, who does it, and how to compare.

    `headings` name the contenders and their sizes. `compare` gives the first
    difference of a contender's series from those of the reference.
    """

    title: str
    headings: tuple[str, str]
    contenders: list[Contender]
    compare: Callable[[Contender, Series, Series], str | None]
    reference: str = RUNFOLD
    load: Callable[[Path], Series] = load

    def run(self, repeat: int) -> dict[str, Contender]:
        """Measure all contenders in turns, by name. Raises Disagreement."""
        with tempfile.TemporaryDirectory() as kept:
            for turn in range(repeat):
                for number, one in enumerate(self.contenders):
                    if turn < AT_LEAST or one.has_time():
                        one.measure(Path(kept, str(number)) if turn == 0 else None)
                if turn == 0:
                    self._compare_all(Path(kept))
        return {one.name: one for one in self.contenders}

    def _compare_all(self, kept: Path) -> None:
        given = {
            one.name: kept / str(number) for number, one in enumerate(self.contenders) if one.costs
        }
        ours = self.load(given[self.reference])
        for one in self.contenders:
            if one.name in given:
                difference = self.compare(one, ours, self.load(given[one.name]))
                if difference is not None:
                    who = f"{self.reference} and {one.name}"
                    raise Disagreement(f"{self.title}\n{who} disagree. {difference}")
