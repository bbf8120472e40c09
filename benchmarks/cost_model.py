"""A linear model of what logs of any size cost: `python -m benchmarks.cost_model`.

Each phase of the work costs some time per run and some per point. Both constants are solved from
two small logs: many short runs, and a few long ones. The model then predicts larger logs, and the
program measures these too. docs/scale.md explains the result.
"""

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

import runfold as rf
from benchmarks.logs import tag_names
from benchmarks.measure import ENVIRONMENT, ROOT
from benchmarks.report import align
from benchmarks.scale import walk, write_runs

TAGS = 5
TAG = tag_names(TAGS)[0]
# The two logs that give the constants: runs and steps.
SHORT = 2_000, 20
LONG = 10, 40_000
# The logs to predict: runs, each with the steps of the short log.
PREDICTED = (1_000, 10_000, 100_000)
_TURNS = 3

Phases = dict[str, float]


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a log: runs, and points of all tags together."""

    runs: int
    points: int

    @classmethod
    def of(cls, runs: int, steps: int) -> "Size":
        """Return the size of a log with this many runs, each with `steps` steps of every tag."""
        return cls(runs, runs * steps * TAGS)


@dataclass(frozen=True, slots=True)
class Model:
    """The cost of one phase: CPU seconds (or bytes) per run and per point."""

    per_run: float
    per_point: float

    def predict(self, size: Size) -> float:
        """Return the predicted cost of a log."""
        return self.per_run * size.runs + self.per_point * size.points


def solve(short: Phases, long: Phases) -> dict[str, Model]:
    """Return the model of each phase from the costs of the short runs and of the long ones."""
    few, many = Size.of(*SHORT), Size.of(*LONG)
    models = {}
    for phase, cost in short.items():
        determinant = few.runs * many.points - many.runs * few.points
        per_run = (cost * many.points - long[phase] * few.points) / determinant
        per_point = (few.runs * long[phase] - many.runs * cost) / determinant
        models[phase] = Model(max(0.0, per_run), max(0.0, per_point))
    return models


def measure_phases(folder: Path) -> Phases:
    """Return the CPU seconds and bytes of each phase, measured in a separate process."""
    found = [_measure_once(folder) for _ in range(_TURNS)]
    return {phase: statistics.median(phases[phase] for phases in found) for phase in found[0]}


def _measure_once(folder: Path) -> Phases:
    command = [sys.executable, "-m", "benchmarks.cost_model", "--measure", str(folder)]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT
    )
    phases: Phases = json.loads(done.stdout)
    return phases


def _run_phases(folder: Path) -> Phases:
    own = psutil.Process()
    # Import what the phases need, with a log of one run.
    first = next(path for path in sorted(folder.rglob("*tfevents*"))).parent
    small = rf.open(first, progress=False)
    small.table()
    small.reduce(tags=TAG)
    walk(folder)
    gc.collect()
    before = own.memory_info().rss
    phases: Phases = {}

    def timed(phase: str, work: Callable[[], object]) -> object:
        start = time.process_time()
        result = work()
        phases[phase] = time.process_time() - start
        return result

    timed("walk", lambda: walk(folder))
    runs = timed("open", lambda: rf.open(folder, progress=False))
    assert isinstance(runs, rf.Runs)
    phases["memory, opened"] = own.memory_info().rss - before
    timed("read", runs.load)
    phases["memory, read"] = own.memory_info().rss - before
    timed("table", runs.table)
    timed("fold one tag", lambda: runs.reduce("mean", by="parent", tags=TAG))
    runs.refresh()  # the first refresh records the state of the folders
    timed("refresh", runs.refresh)
    return phases


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the constants, and the predictions next to the measurements."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cost_model", description=__doc__)
    parser.add_argument("--logs", default=ROOT / "bench-logs", type=Path, metavar="DIR")
    parser.add_argument("--runs", default=",".join(map(str, PREDICTED)), metavar="N,N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        print(json.dumps(_run_phases(options.measure)), flush=True)
        os._exit(0)  # destroying the objects of all runs takes seconds
    models = solve(
        *(measure_phases(_log(options.logs, runs, steps)) for runs, steps in (SHORT, LONG))
    )
    print(_constants(models))
    found = {}
    for runs in map(int, options.runs.split(",")):
        measured = measure_phases(_log(options.logs, runs, SHORT[1]))
        found[runs] = measured
        print(f"\n{_comparison(models, runs, measured)}", flush=True)
    if options.json:
        constants = {phase: asdict(model) for phase, model in models.items()}
        options.json.write_text(json.dumps({"constants": constants, "measured": found}, indent=1))


def _log(root: Path, runs: int, steps: int) -> Path:
    return write_runs(root / f"scale-{runs}x{TAGS}x{steps}", runs, steps)


def _constants(models: dict[str, Model]) -> str:
    rows: list[Sequence[str]] = [("phase", "per run", "per point")]
    for phase, model in models.items():
        unit, factor, small = ("B", 1.0, 1.0) if _is_memory(phase) else ("us", 1e6, 1e9)
        fine = "B" if unit == "B" else "ns"
        rows.append(
            (phase, f"{model.per_run * factor:.1f} {unit}", f"{model.per_point * small:.1f} {fine}")
        )
    return align(rows)


def _comparison(models: dict[str, Model], runs: int, measured: Phases) -> str:
    size = Size.of(runs, SHORT[1])
    rows: list[Sequence[str]] = [(f"{runs:,} runs", "predicted", "measured", "measured/predicted")]
    for phase, cost in measured.items():
        predicted = models[phase].predict(size)
        unit, factor = ("MB", 1e-6) if _is_memory(phase) else ("s", 1.0)
        ratio = f"{cost / predicted:.2f}" if predicted else "-"
        cells = f"{predicted * factor:.3g} {unit}", f"{cost * factor:.3g} {unit}"
        rows.append((phase, *cells, ratio))
    return align(rows)


def _is_memory(phase: str) -> bool:
    return phase.startswith("memory")


if __name__ == "__main__":
    main()
