"""Very many short runs: the costs of opening, reading, querying and refreshing them.

Everything happens in one process, next to a bare walk of the same folders, because the speed of
a shared machine changes from one process to the next.
"""

import gc
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar
from unittest import mock

import numpy as np
import psutil

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import START, tag_names
from benchmarks.measure import measure
from benchmarks.memory import peak_of
from benchmarks.readings import Reading, Series, find_disagreement
from runfold._core.encoder import EventBuffer
from runfold._logdir.loader import Logdir
from runfold._runs import Runs, open_runs
from runfold._tables.frames.frame import Table

T = TypeVar("T")

RUNS = 20_000
LARGE_RUNS = 100_000
TAGS = 5
STEPS = 20
_RUNS_PER_GROUP = 100
# A walk and a refresh are measured this many times, in turn; the median counts.
_TURNS = 5

# Parts of the work: CPU seconds, and bytes of memory per run.
WALK = "walk s"
OPEN = "open s"
LOAD = "load s"
FIRST_TABLE = "first table s"  # with opening and reading
WHERE = "where s"
FOLD = "fold s"
REFRESH = "refresh s"
# The first table with an index: while the index is written, completed, and used.
INDEX_WRITTEN = "index written s"
INDEX_COMPLETED = "index completed s"
INDEX_TABLE = "index table s"
INDEX_WHERE = "index where s"
OPEN_BYTES = "open B/run"
LOAD_BYTES = "load B/run"
PEAK_BYTES = "peak B"  # of the whole process, after the first table


def make_contest(root: Path, fresh: bool = False, runs: int = RUNS) -> Contest:
    """Return the contest; its only contender checks all values."""
    folder = write_runs(root / f"scale-{runs}x{TAGS}x{STEPS}", runs, STEPS, fresh)
    contender = Contender(RUNFOLD, partial(measure, prepare, [str(folder)]), runs)
    return Contest(
        f"scale: {runs:,} runs, {TAGS} tags x {STEPS} steps, opened, read, queried and refreshed",
        ("who", "runs"),
        [contender],
        lambda _, ours, theirs: find_disagreement(ours, theirs),
    )


def prepare(folder: str) -> Callable[[], Reading]:
    """Return the call that measures all runs, after doing so for one group."""
    _measure(min(Path(folder).iterdir()))
    return lambda: _measure(Path(folder))


def _measure(folder: Path) -> Reading:
    count = sum(1 for _ in folder.rglob("*tfevents*"))
    own = psutil.Process()
    walk(folder)  # into the cache
    gc.collect()
    before = own.memory_info().rss
    parts = {WALK: 0.0}
    parts[OPEN], logdir = _timed(lambda: Logdir(folder, progress=False))
    gc.collect()
    parts[OPEN_BYTES] = (own.memory_info().rss - before) / count
    parts[LOAD], _ = _timed(logdir.load)
    gc.collect()
    parts[LOAD_BYTES] = (own.memory_info().rss - before) / count
    runs = Runs(logdir)
    seconds, table = _timed(runs.table)
    parts[FIRST_TABLE] = parts[OPEN] + parts[LOAD] + seconds
    parts[PEAK_BYTES] = peak_of()
    parts[WHERE], parts[FOLD] = _query(runs, table)
    parts |= _measure_index(folder, table)
    logdir.refresh()  # the first refresh records the state of the folders
    walks, refreshes = [], []
    for _ in range(_TURNS):
        walks.append(_timed(lambda: walk(folder))[0])
        seconds, changes = _timed(logdir.refresh)
        if changes:
            raise AssertionError(f"nothing has changed, but a refresh found {changes}")
        refreshes.append(seconds)
    parts[WALK], parts[REFRESH] = float(np.median(walks)), float(np.median(refreshes))
    _check_growth(logdir, folder)
    series: Series = {
        (name, tag): (points.steps, points.wall_times, points.values)
        for name, log in logdir.logs.items()
        for tag, points in log.scalars.items()
    }
    difference = find_disagreement(_expected(list(logdir.logs)), series)
    if difference or len(series) != count * TAGS:
        raise AssertionError(difference or f"{len(series)} series of {count} runs")
    return Reading(series, parts=parts)


def _measure_index(folder: Path, expected: Table) -> dict[str, float]:
    """Return the CPU seconds of the first table that writes the index, and of those after it."""
    parts = {}
    with tempfile.TemporaryDirectory() as cache, mock.patch.dict(os.environ, XDG_CACHE_HOME=cache):
        # The first table writes what was read, and the second one the state of the folders.
        for part in (INDEX_WRITTEN, INDEX_COMPLETED, INDEX_TABLE):
            parts[part], (runs, table) = _timed(partial(_open_indexed, folder))
            if not table.equals(expected):
                raise AssertionError("a table from the index differs")
        condition = f"steps > 3 and last['{tag_names(TAGS)[0]}'] == {(STEPS - 1) / 8}"
        parts[INDEX_WHERE], found = _timed(lambda: runs.where(condition))
        if len(found) != len(runs):
            raise AssertionError(f"{len(found)} of {len(runs)} runs match")
    return parts


def _open_indexed(folder: Path) -> tuple[Runs, Table]:
    runs = open_runs(folder, index=True, progress=False)
    return runs, runs.table()


def _query(runs: Runs, table: Table) -> tuple[float, float]:
    """Return the CPU seconds for selecting runs by a condition, and for folding each group."""
    tag = tag_names(TAGS)[0]
    last = (STEPS - 1) / 8
    if len(table) != len(runs) or set(table[tag]) != {last} or set(table["steps"]) != {STEPS - 1}:
        raise AssertionError("the table does not have the last point of each run")
    condition = f"steps > 3 and last['{tag}'] == {last}"
    selecting, folding = [], []
    for _ in range(_TURNS):
        seconds, found = _timed(lambda: runs.where(condition))
        if len(found) != len(runs):
            raise AssertionError(f"{len(found)} of {len(runs)} runs match")
        selecting.append(seconds)
        seconds, reduced = _timed(lambda: runs.reduce(by="parent", tags=tag))
        if {own.curves[tag]["mean"][-1] for own in reduced.groups.values()} != {last}:
            raise AssertionError("a fold has a wrong mean")
        folding.append(seconds)
    return float(np.median(selecting)), float(np.median(folding))


def _check_growth(logdir: Logdir, folder: Path) -> None:
    """Raise AssertionError unless a refresh finds a point that is appended to one run."""
    file = max(folder.rglob("*tfevents*"))
    size = file.stat().st_size
    try:
        with file.open("ab") as stream:
            stream.write(_encode(STEPS, STEPS + 1))
        if logdir.refresh().points != TAGS:
            raise AssertionError("a refresh did not find the new points")
    finally:
        os.truncate(file, size)
    if len(logdir.refresh().reread) != 1:
        raise AssertionError("a refresh did not find the truncated file")


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def walk(folder: Path) -> int:
    """List all folders with nothing but `os.scandir`; return the number of event files."""
    count = 0
    pending = [str(folder)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif "tfevents" in entry.name:
                    count += 1
    return count


def write_runs(folder: Path, runs: int, steps: int, fresh: bool = False) -> Path:
    """Write runs with one file each, unless the folder exists; return the folder."""
    if folder.exists() and not fresh:
        for file in folder.glob("*/*/*"):
            file.read_bytes()  # into the page cache
        return folder
    partial_folder = folder.with_name(f".{folder.name}")
    for old in (partial_folder, folder):
        shutil.rmtree(old, ignore_errors=True)
    data = _encode(0, steps)
    for run in range(runs):
        group, number = divmod(run, _RUNS_PER_GROUP)
        path = partial_folder / f"group-{group:04d}" / f"run-{number:02d}"
        path.mkdir(parents=True)
        (path / f"events.out.tfevents.{int(START)}.host.{run}.0").write_bytes(data)
    partial_folder.rename(folder)
    return folder


def _encode(first: int, end: int) -> bytes:
    buffer = EventBuffer()
    if first == 0:
        buffer.file_version(START)
    steps = np.arange(first, end, dtype=np.int64)
    values = np.add.outer(steps / 8, np.arange(float(TAGS)))
    buffer.table(tag_names(TAGS), steps, START + steps, values)
    return bytes(buffer.getvalue())


def _expected(runs: list[str]) -> Series:
    steps = np.arange(STEPS, dtype=np.int64)
    series = {tag: (steps, START + steps, steps / 8 + tag) for tag in range(TAGS)}
    names = tag_names(TAGS)
    return {(run, names[tag]): columns for run in runs for tag, columns in series.items()}
