"""One piece of work in a process of its own: what it cost, and what it gave.

`python -m benchmarks.measure` is that process. What it imports is not measured.
"""

import json
import os
import pickle
import pkgutil
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from benchmarks.memory import peak_of
from benchmarks.readings import Reading, Series

ROOT = Path(__file__).resolve().parent.parent
# pip compiles the peers as it installs them; Runfold, installed in place, is compiled when
# it is first imported, and must be allowed to keep that.
COMPILED = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
# NumPy's BLAS threads spin for a while after the import, and would be counted.
ENVIRONMENT = {**COMPILED, "OPENBLAS_NUM_THREADS": "1"}


class Undone(Exception):
    """A peer that is not installed or cannot do the work; the message says why."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work took: seconds and bytes. Helper processes are counted in.

    `growth` is the peak less the memory that was in use before. `parts` are the
    seconds of parts of the work that it took itself, by heading.
    """

    cpu: float
    wall: float
    peak: int
    growth: int
    parts: dict[str, float] = field(default_factory=dict)


def measure(
    task: Callable[..., Callable[[], Reading]], arguments: Sequence[Any], keep: Path | None = None
) -> Cost:
    """What the call costs that a task prepares; `keep` is a file for what it gave.

    The task's arguments travel as JSON. Raises Undone when it fails.
    """
    name = f"{task.__module__}:{task.__qualname__}"
    return _ask("benchmarks.measure", name, json.dumps(arguments), str(keep or ""))


def launch(*command: str) -> Cost:
    """What a whole command costs, its start-up included. Raises Undone when it fails."""
    return _ask("benchmarks.launch", *command)


def load(kept: Path) -> Series:
    """What a piece of work kept."""
    with kept.open("rb") as file:
        return cast(Series, pickle.load(file))


def _ask(module: str, *arguments: str) -> Cost:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=ENVIRONMENT,
    )
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise Undone(lines[-1])
    return Cost(**json.loads(done.stdout.splitlines()[-1]))


def main(task: str, arguments: str, keep: str) -> None:
    """Do the work once, print the cost, and keep what it gave if asked to."""
    work = pkgutil.resolve_name(task)(*json.loads(arguments))
    before, peak_before = _seconds(), peak_of()
    reading = work()
    after, peak = _seconds(), peak_of() + reading.helper_peak
    cost = Cost(
        cpu=after[0] - before[0],
        wall=after[1] - before[1],
        peak=peak,
        growth=max(0, peak - peak_before),
        parts=reading.parts or {},
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
    main(*sys.argv[1:])
