"""Metrics logged through the adapters, the frameworks' own loggers, and the writer by hand."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

from benchmarks.adapter_loggers import (
    FRAMEWORKS,
    Framework,
    Logger,
    open_by_hand,
    open_log,
    replaced_writers,
)
from benchmarks.contest import Contender, Contest
from benchmarks.logs import tag_names
from benchmarks.measure import ROOT, Cost, Undone, measure
from benchmarks.readings import Reading, Series, find_disagreement
from benchmarks.writers import draw_values

# The environment of `make test-frameworks`.
PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
WITHOUT = "rf.track"
# The loggers, which are also parts of the work: CPU time of the logging thread per step.
ADAPTER = "adapter us"
ADD_SCALAR = "add_scalar us"
LOG = "log us"
ORIGINAL = "its logger us"
OTHER_LOGGER = "its logger, our writer us"
STEPS = 10_000
# The loggers take turns after this many steps, because the machine's speed changes.
STEPS_A_TURN = 500
METRICS = 4


def make_contest(python: Path = PYTHON, steps: int = STEPS) -> Contest:
    """Return the contest, which needs a Python with frameworks. Raises Undone without it."""
    if not python.exists():
        raise Undone("because `make test-frameworks` has not installed the frameworks yet")
    installed = find_installed(python, [framework.module for framework in FRAMEWORKS.values()])
    contenders = [_contender(WITHOUT, python, steps)]
    for name, framework in FRAMEWORKS.items():
        contender = _contender(name, python, steps)
        if framework.module not in installed:
            contender.trouble = "not measured, because it is not installed"
        contenders.append(contender)
    title = f"adapters: {METRICS} metrics at each of {steps:,} steps, time per step"
    return Contest(title, ("framework", "steps"), contenders, _compare, reference=WITHOUT)


def prepare(name: str, steps: int, folder: str) -> Callable[[], Reading]:
    """Return the call that logs all metrics with each logger of a framework in turn."""
    # CLU and Keras import TensorFlow, which prints to stderr.
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    loggers = {}
    for kind, open_logger in _openers(name):
        with suppress(ImportError) if kind in (ORIGINAL, OTHER_LOGGER) else nullcontext():
            loggers[kind] = open_logger(f"{folder}/{kind}")
    values = iter(draw_values(steps * METRICS))
    tags = tag_names(METRICS)
    rows = [dict(zip(tags, row, strict=True)) for row in zip(*[values] * METRICS, strict=True)]
    return partial(_log_in_turn, loggers, rows, partial(_read_all, name, loggers, folder))


def _openers(name: str) -> list[tuple[str, Callable[[str], Logger]]]:
    openers: list[tuple[str, Callable[[str], Logger]]]
    openers = [(ADD_SCALAR, open_by_hand), (LOG, open_log)]
    if framework := FRAMEWORKS.get(name):
        openers.insert(0, (ADAPTER, framework.open_adapter))
        openers.append((ORIGINAL, framework.open_original))
        if framework.has_other:
            openers.append((OTHER_LOGGER, partial(_open_other, framework)))
    return openers


def _open_other(framework: Framework, folder: str) -> Logger:
    with replaced_writers():
        return framework.open_original(folder)


def _log_in_turn(
    loggers: Mapping[str, Logger],
    rows: list[dict[str, float]],
    read_all: Callable[[], Series],
) -> Reading:
    seconds = dict.fromkeys(loggers, 0.0)
    for first in range(0, len(rows), STEPS_A_TURN):
        turn = list(enumerate(rows[first : first + STEPS_A_TURN], first))
        for kind, logger in loggers.items():
            log = logger.log
            start = time.thread_time()
            for step, row in turn:
                log(row, step)
            seconds[kind] += time.thread_time() - start
            logger.flush()  # so that no thread writes while another logger is measured
    for logger in loggers.values():
        logger.close()
    parts = {kind: total / len(rows) * 1e6 for kind, total in seconds.items()}
    return Reading({}, parts=parts, complete=read_all)


def _read_all(name: str, loggers: Mapping[str, Logger], folder: str) -> Series:
    """Return what each logger wrote, by logger and metric, with the first step as step 0."""
    import runfold as rf

    series: Series = {}
    for kind in loggers:
        of_framework = FRAMEWORKS.get(name) if kind not in (ADD_SCALAR, LOG) else None
        prefix, first = "", 0
        if of_framework is not None:
            prefix, first = of_framework.prefix, of_framework.first_step
        runs = rf.open(f"{folder}/{kind}", progress=False)
        for metric in tag_names(METRICS):
            (found,) = (run[prefix + metric] for run in runs.values() if prefix + metric in run)
            series[kind, metric] = (found.steps - first, None, found.values)
    return series


def _compare(contender: Contender, ours: Series, theirs: Series) -> str | None:
    """Return the first difference between what a framework's loggers and `add_scalar` wrote."""
    expected = {metric: columns for (kind, metric), columns in ours.items() if kind == ADD_SCALAR}
    for kind in dict.fromkeys(kind for kind, _ in theirs):
        written = {(kind, metric): theirs[kind, metric] for metric in expected}
        wanted = {(kind, metric): columns for metric, columns in expected.items()}
        if {len(columns[0]) for columns in written.values()} != {contender.size}:
            return f"{kind}: a tag does not have the {contender.size:,} logged values"
        if difference := find_disagreement(wanted, written):
            return difference
    return None


def find_installed(python: Path, modules: Sequence[str]) -> set[str]:
    """Return those modules that a Python can import."""
    program = (
        "import importlib.util, sys\n"
        "print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name)))"
    )
    command = [python, "-c", program, *modules]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def _contender(name: str, python: Path, steps: int) -> Contender:
    def once(keep: Path | None) -> Cost:
        with tempfile.TemporaryDirectory() as folder:
            return measure(prepare, [name, steps, folder], keep, python)

    return Contender(name, once, steps, must_succeed=True)
