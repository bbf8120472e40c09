"""Metrics logged through an adapter, through the framework's own logger, and without either.

The adapter is Lightning's. The other adapters log metrics with the same code.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import tag_names
from benchmarks.measure import ROOT, Cost, Undone, measure
from benchmarks.readings import Reading
from benchmarks.writers import compare_all, draw_values, log_and_close

# The environment of `make test-frameworks`.
PYTHON = ROOT / ".venv-frameworks" / "bin" / "python"
WITHOUT = "rf.track"
OTHER_LOGGER = "TensorBoardLogger, Runfold's writer"
ORIGINAL = "TensorBoardLogger"
STEPS = 20_000
METRICS = 4

Log = Callable[[Mapping[str, float], int], object]


def make_contest(python: Path = PYTHON, steps: int = STEPS) -> Contest:
    """Return the contest, which needs a Python with Lightning. Raises Undone without it."""
    if not python.exists():
        raise Undone("because `make test-frameworks` has not installed Lightning yet")
    return Contest(
        f"adapters: {METRICS} metrics at each of {steps:,} steps in Lightning, then close",
        ("logger", "steps"),
        [_contender(name, python, steps) for name in LOGGERS],
        compare_all,
    )


def prepare(name: str, steps: int, folder: str) -> Callable[[], Reading]:
    """Return the call that logs all metrics and closes the logger."""
    log, logger = LOGGERS[name](folder)
    values = iter(draw_values(steps * METRICS))
    tags = tag_names(METRICS)
    rows = [dict(zip(tags, row, strict=True)) for row in zip(*[values] * METRICS, strict=True)]

    def log_all() -> None:
        for step, row in enumerate(rows):
            log(row, step)

    return partial(log_and_close, logger, log_all, folder)


def _open_adapter(folder: str) -> tuple[Log, Any]:
    from runfold.integrations.lightning import RunfoldLogger

    logger = RunfoldLogger(folder, name="", version="", system=False, code=False)
    logger.experiment.flush()
    return logger.log_metrics, _Closing(partial(logger.finalize, "success"))


def _open_original(folder: str) -> tuple[Log, Any]:
    from lightning.pytorch.loggers import TensorBoardLogger  # type: ignore[import-not-found]

    logger = TensorBoardLogger(folder, name="", version="")
    logger.experiment.flush()
    return logger.log_metrics, _Closing(partial(logger.finalize, "success"))


def _open_other(folder: str) -> tuple[Log, Any]:
    import torch.utils.tensorboard

    import runfold

    torch.utils.tensorboard.SummaryWriter = runfold.SummaryWriter
    return _open_original(folder)


def _open_without(folder: str) -> tuple[Log, Any]:
    import runfold as rf

    run = rf.track(folder, system=False, code=False).__enter__()

    def log(metrics: Mapping[str, float], step: int) -> None:
        add_scalar = run.add_scalar
        for tag, value in metrics.items():
            add_scalar(tag, value, step)

    return log, run


class _Closing:
    """An object whose `close` finalizes a logger."""

    def __init__(self, close: Callable[[], object]) -> None:
        self.close = close


LOGGERS: Mapping[str, Callable[[str], tuple[Log, Any]]] = {
    RUNFOLD: _open_adapter,
    WITHOUT: _open_without,
    OTHER_LOGGER: _open_other,
    ORIGINAL: _open_original,
}


def _contender(name: str, python: Path, steps: int) -> Contender:
    def once(keep: Path | None) -> Cost:
        with tempfile.TemporaryDirectory() as folder:
            return measure(prepare, [name, steps, folder], keep, python)

    return Contender(name, once, steps)
