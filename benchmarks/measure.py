"""One reading in a process of its own: what it cost, and what was read.

`python -m benchmarks.measure` is that process. What it imports is not measured.
"""

import json
import os
import pickle
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import cast

from benchmarks.logs import Log
from benchmarks.memory import peak_of
from benchmarks.peers import Reader, find_reader
from benchmarks.readings import Series

ROOT = Path(__file__).resolve().parent.parent


class Unread(Exception):
    """A reader that is not installed or cannot read a log; the message says why."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one reading took: seconds and bytes. Helper processes are counted in.

    `growth` is the peak less the memory that was in use before.
    """

    cpu: float
    wall: float
    peak: int
    growth: int


class Costs:
    """The costs of a reader's readings of one log, scaled to the whole log."""

    def __init__(self, reader: Reader, log: Log) -> None:
        self.reader = reader
        self.log = log
        self.part = log.sampled() if reader.is_slow else log
        self.scale = log.runs / self.part.runs
        self.costs: list[Cost] = []
        self.trouble = ""

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
        """The highest peak memory, of the part that was read."""
        return max(cost.peak for cost in self.costs)

    @property
    def growth(self) -> int:
        """The highest growth of the memory, of the part that was read."""
        return max(cost.growth for cost in self.costs)


def measure(reader: Reader, log: Log, logdir: Path, keep: Path | None = None) -> Cost:
    """The cost of reading a log once; `keep` is a file for what was read.

    Raises Unread when the reader cannot read it.
    """
    request = json.dumps([reader.name, asdict(log), str(logdir), keep and str(keep)])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure", request],
        capture_output=True,
        text=True,
        cwd=ROOT,
        # NumPy's BLAS threads spin for a while after the import, and would be counted.
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Unread(lines[-1])
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def load(kept: Path) -> Series:
    """What a reading kept."""
    with kept.open("rb") as file:
        return cast(Series, pickle.load(file))


def main(request: str) -> None:
    """Read a log once, print the cost, and keep what was read if asked to."""
    name, parameters, logdir, keep = json.loads(request)
    read = find_reader(Log(**parameters), name).prepare()
    before, peak_before = _seconds(), peak_of()
    reading = read(Path(logdir))
    after, peak = _seconds(), peak_of() + reading.helper_peak
    cost = Cost(
        cpu=after[0] - before[0], wall=after[1] - before[1], peak=peak, growth=peak - peak_before
    )
    if keep:
        series = reading.complete() if reading.complete else reading.series
        with open(keep, "wb") as file:
            pickle.dump(series, file, protocol=5)
    print(json.dumps(asdict(cost)), flush=True)
    # Nothing is left to do, and taking down millions of objects takes seconds.
    os._exit(0)


def _seconds() -> tuple[float, float]:
    """CPU seconds so far, with those of children that have ended, and the clock."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = time.process_time() + children.ru_utime + children.ru_stime
    return cpu, time.perf_counter()


if __name__ == "__main__":
    main(sys.argv[1])
