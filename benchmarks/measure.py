"""Measure one piece of work in a separate process: its cost and its result.

`python -m benchmarks.measure` is that process. Imports are not measured.
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
# pip compiles the peers during installation; Runfold, installed in place, is compiled
# on first import and must be allowed to cache the result.
COMPILED = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
# NumPy's BLAS threads spin for a while after the import, and that time would be counted.
ENVIRONMENT = {**COMPILED, "OPENBLAS_NUM_THREADS": "1"}


class Undone(Exception):
    """A peer is not installed or cannot do the work; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a piece of work in seconds and bytes, including helper processes.

    `growth` is the peak minus the memory in use before. `parts` are times that the
    work measured itself, in seconds by heading.
    """

    cpu: float
    wall: float
    peak: int
    growth: int
    parts: dict[str, float] = field(default_factory=dict)


def measure(
    task: Callable[..., Callable[[], Reading]],
    arguments: Sequence[Any],
    keep: Path | None = None,
    python: str | os.PathLike[str] = sys.executable,
) -> Cost:
    """Return the cost of the call that a task prepares; `keep` is a file for its result.

    The task's arguments are passed as JSON. Raises Undone if it fails.
    """
    name = f"{task.__module__}:{task.__qualname__}"
    return _run("benchmarks.measure", name, json.dumps(arguments), str(keep or ""), python=python)


def launch(*command: str) -> Cost:
    """Return the cost of a whole command, including its start-up. Raises Undone if it fails."""
    return _run("benchmarks.launch", *command)


def load(kept: Path) -> Series:
    """Return the stored result of a piece of work."""
    with kept.open("rb") as file:
        return cast(Series, pickle.load(file))


def _run(module: str, *arguments: str, python: str | os.PathLike[str] = sys.executable) -> Cost:
    done = subprocess.run(
        [python, "-m", module, *arguments],
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
    """Do the work once, print the cost, and store the result if requested."""
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
    # Exit without cleaning up, because destroying millions of objects would take seconds.
    os._exit(0)


def _seconds() -> tuple[float, float]:
    """Return CPU seconds so far, including finished children, and the elapsed time."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = time.process_time() + children.ru_utime + children.ru_stime
    return cpu, time.perf_counter()


if __name__ == "__main__":
    main(*sys.argv[1:])
