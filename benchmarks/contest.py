"""The same work, done by Runfold and its peers in turn, and the comparison of their results."""

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.measure import Cost, Undone, load
from benchmarks.readings import Series

RUNFOLD = "runfold"
# Every contender is measured twice, and then again while its total stays below this.
SECONDS_EACH = 20.0
AT_LEAST = 2


class Disagreement(Exception):
    """Two contenders returned different values for the same input."""


@dataclass(slots=True, eq=False)
class Contender:
    """A contender and its costs so far, scaled to the full amount of work.

    `once` does the work in a separate process, and stores the result at a path if
    one is given. A slow contender does part of the work, with `size` runs or steps.
    An error of Runfold, or of a contender that must succeed, is raised.
    """

    name: str
    once: Callable[[Path | None], Cost]
    size: int
    scale: float = 1.0
    note: str = ""
    costs: list[Cost] = field(default_factory=list)
    trouble: str = ""
    must_succeed: bool = False

    @property
    def cpu(self) -> float:
        """The median CPU time in seconds."""
        return statistics.median(cost.cpu for cost in self.costs) * self.scale

    @property
    def cpu_range(self) -> tuple[float, float]:
        """The minimum and maximum CPU time in seconds."""
        seconds = [cost.cpu * self.scale for cost in self.costs]
        return min(seconds), max(seconds)

    @property
    def wall(self) -> float:
        """The median elapsed time in seconds."""
        return statistics.median(cost.wall for cost in self.costs) * self.scale

    @property
    def peak(self) -> int:
        """The highest peak memory, for the part that was done."""
        return max(cost.peak for cost in self.costs)

    @property
    def growth(self) -> int:
        """The highest memory growth, for the part that was done."""
        return max(cost.growth for cost in self.costs)

    def part(self, heading: str) -> float:
        """Return the median time of a part of the work in seconds."""
        return statistics.median(cost.parts[heading] for cost in self.costs) * self.scale

    def measure(self, keep: Path | None) -> None:
        """Repeat the work unless it has failed before. An error of Runfold is raised."""
        if self.trouble:
            return
        try:
            self.costs.append(self.once(keep))
        except Undone as error:
            if self.must_succeed or self.name.startswith(RUNFOLD):
                raise
            self.trouble = str(error)

    def has_time(self) -> bool:
        """Return whether another repetition stays within the time limit."""
        spent = sum(cost.wall for cost in self.costs)
        return spent * (1 + 1 / max(1, len(self.costs))) <= SECONDS_EACH


@dataclass(frozen=True, slots=True)
class Contest:
    """One part of the benchmark: a description of the work, its contenders, and the comparison.

    `headings` name the contenders and their sizes. `compare` returns the first
    difference between a contender's series and those of the reference.
    """

    title: str
    headings: tuple[str, str]
    contenders: list[Contender]
    compare: Callable[[Contender, Series, Series], str | None]
    reference: str = RUNFOLD
    load: Callable[[Path], Series] = load

    def run(self, repeat: int) -> dict[str, Contender]:
        """Measure all contenders in turn, `repeat` times, and return them by name.

        Raises Disagreement if their results differ.
        """
        with tempfile.TemporaryDirectory() as kept:
            for turn in range(repeat):
                for number, contender in enumerate(self.contenders):
                    if turn < AT_LEAST or contender.has_time():
                        contender.measure(Path(kept, str(number)) if turn == 0 else None)
                if turn == 0:
                    self._compare_all(Path(kept))
        return {contender.name: contender for contender in self.contenders}

    def _compare_all(self, kept: Path) -> None:
        paths = {
            contender.name: kept / str(number)
            for number, contender in enumerate(self.contenders)
            if contender.costs
        }
        ours = self.load(paths[self.reference])
        for contender in self.contenders:
            if contender.name in paths:
                difference = self.compare(contender, ours, self.load(paths[contender.name]))
                if difference is not None:
                    names = f"{self.reference} and {contender.name}"
                    raise Disagreement(f"{self.title}\n{names} disagree. {difference}")
