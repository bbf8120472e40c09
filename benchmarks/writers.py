"""Contests between writers: scalars one by one, ten at a time, and in large numbers."""

import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import tag_names
from benchmarks.measure import Cost, measure
from benchmarks.readings import Reading, Series, find_disagreement

TORCH = "torch"
TENSORBOARDX = "tensorboardX"
# Parts of the work: CPU time of the logging thread, and elapsed time of close().
CALLER, CLOSE = "caller s", "close s"

CALLS = 200_000
TAG = "train/loss"
VALUES_PER_CALL = 10
# There are this many times fewer steps than calls, because the peers need ten calls per step.
CALLS_A_STEP = 20
# The factor between the small and the large number of points for measuring memory.
TIMES = 10


def open_with_runfold(folder: str) -> Any:
    """Runfold's writer."""
    from runfold import SummaryWriter

    return SummaryWriter(folder)


def open_with_torch(folder: str) -> Any:
    """The writer from torch, which writes the file with TensorBoard's own writer."""
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(folder)


def open_with_tensorboardx(folder: str) -> Any:
    """The writer from tensorboardX."""
    from tensorboardX import SummaryWriter

    return SummaryWriter(folder)


WRITERS: Mapping[str, Callable[[str], Any]] = {
    RUNFOLD: open_with_runfold,
    TORCH: open_with_torch,
    TENSORBOARDX: open_with_tensorboardx,
}


def make_write_contest(calls: int = CALLS) -> Contest:
    """Return the contest with one value per call, from the first call to the end of close()."""
    contenders = [_contender(write_one_by_one, name, calls) for name in WRITERS]
    title = f"write: {calls:,} calls to add_scalar with a Python float, then close"
    return Contest(title, ("writer", "calls"), contenders, compare_all)


def make_log_contest(calls: int = CALLS) -> Contest:
    """Return the contest with ten values per step: one call for Runfold, ten for its peers."""
    steps = calls // CALLS_A_STEP
    contenders = [_contender(write_by_step, name, steps) for name in WRITERS]
    title = f"log: {VALUES_PER_CALL} values at each of {steps:,} steps, then close"
    return Contest(title, ("writer", "steps"), contenders, compare_all)


def make_memory_contest(calls: int = CALLS) -> Contest:
    """Return the contest for the growth of memory when a large number of values is logged."""
    many = calls * TIMES
    title = f"memory: add_scalar by one writer, from {calls // TIMES:,} to {many:,} values"
    return Contest(title, ("writer", "calls"), [_contender(write_many, RUNFOLD, many)], compare_all)


def write_one_by_one(name: str, calls: int, folder: str) -> Callable[[], Reading]:
    """Return the call that logs this many values of one tag and closes the writer."""
    writer = WRITERS[name](folder)
    values = draw_values(calls)

    def log_all() -> None:
        add = writer.add_scalar
        for step, value in enumerate(values):
            add(TAG, value, step)

    return partial(log_and_close, writer, log_all, folder)


def write_by_step(name: str, steps: int, folder: str) -> Callable[[], Reading]:
    """Return the call that logs ten values at each step and closes the writer."""
    writer = WRITERS[name](folder)
    tags, values = tag_names(VALUES_PER_CALL), draw_values(steps * VALUES_PER_CALL)
    rows = [
        dict(zip(tags, values[start : start + VALUES_PER_CALL], strict=True))
        for start in range(0, len(values), VALUES_PER_CALL)
    ]

    def log_all() -> None:
        if name == RUNFOLD:
            log = writer.log
            for step, row in enumerate(rows):
                log(row, step)
        else:
            add = writer.add_scalar
            for step, row in enumerate(rows):
                for tag, value in row.items():
                    add(tag, value, step)

    return partial(log_and_close, writer, log_all, folder)


def write_many(name: str, calls: int, folder: str) -> Callable[[], Reading]:
    """Return the call that logs values until there are this many, and closes the writer."""
    writer = WRITERS[name](folder)
    few = calls // TIMES**2
    for step in range(few):
        writer.add_scalar(TAG, 0.5, step)

    def log_all() -> None:
        for step in range(few, calls):
            writer.add_scalar(TAG, 0.5, step)

    return partial(log_and_close, writer, log_all, folder)


def log_and_close(writer: Any, log_all: Callable[[], None], folder: str) -> Reading:
    """Log all values and close the writer; measure both."""
    start = time.thread_time()
    log_all()
    caller, closing = time.thread_time() - start, time.perf_counter()
    writer.close()
    parts = {CALLER: caller, CLOSE: time.perf_counter() - closing}
    return Reading({}, parts=parts, complete=lambda: read_back(folder))


def read_back(folder: str) -> Series:
    """Return the values in a folder as Runfold reads them, without wall times, which differ."""
    import runfold as rf

    (run,) = rf.open(folder, progress=False).values()
    return {("", tag): (run[tag].steps, None, run[tag].values) for tag in run}


def draw_values(count: int) -> list[float]:
    """Return Python floats, always the same."""
    values: list[float] = np.random.default_rng(0).standard_normal(count).tolist()
    return values


def _contender(task: Callable[..., Callable[[], Reading]], name: str, size: int) -> Contender:
    def once(keep: Path | None) -> Cost:
        with tempfile.TemporaryDirectory() as folder:
            return measure(task, [name, size, folder], keep)

    return Contender(name, once, size)


def compare_all(contender: Contender, ours: Series, theirs: Series) -> str | None:
    """Return the first difference between two logs, or a tag that lacks values."""
    if {len(columns[0]) for columns in theirs.values()} != {contender.size}:
        return f"a tag does not have the {contender.size:,} logged values"
    return find_disagreement(ours, theirs)
