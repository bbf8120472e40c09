"""Whole commands on one long run: their time and peak memory, from start to end."""

import csv
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import runfold as rf
from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import Log, generate, scalar_points, tag_names
from benchmarks.measure import Cost, launch
from benchmarks.readings import Series, find_disagreement

LONG = Log("L", runs=1, tags=1, steps=10_000_000)
TABLE, SHOW = f"{RUNFOLD} table", f"{RUNFOLD} show"
EVENTS, PARQUET = f"{RUNFOLD} reduce, event files", f"{RUNFOLD} reduce, Parquet"
RUN = "run-0000"
# The files and folders that the commands write.
TABLE_FILE, SHOWN, FOLDERS, FOLD_FILE = "table.csv", "shown.txt", "events", "fold.parquet"


def make_contest(root: Path, fresh: bool = False, log: Log = LONG) -> Contest:
    """Return the contest of the commands, whose output is compared with what was logged."""
    path = str(generate(log, root, fresh))
    (tag,) = tag_names(log.tags)
    outputs = {
        TABLE: (["table", path, "-o"], TABLE_FILE),
        SHOW: (["show", path, tag], SHOWN),
        EVENTS: (["reduce", path, "-o"], f"{FOLDERS}/"),
        PARQUET: (["reduce", path, "-o"], FOLD_FILE),
    }
    contenders = [
        Contender(name, partial(_call, arguments, output), log.steps)
        for name, (arguments, output) in outputs.items()
    ]

    def compare(contender: Contender, _: Series, theirs: Series) -> str | None:
        steps, wall_times, values = scalar_points(log, 0)
        # Event files store float32.
        logged = {(RUN, tag): (steps, wall_times, values[:, 0].astype(np.float32).astype(float))}
        is_shown = contender.name == SHOW
        differ: Callable[..., NDArray[np.bool_]] = _differ_as_shown if is_shown else np.not_equal
        is_sample = contender.name in (TABLE, SHOW)
        return find_disagreement(logged, theirs, is_sample=is_sample, differ=differ)

    title = f"whole commands on {log}, start-up included"
    return Contest(title, ("command", "steps"), contenders, compare, reference=TABLE, load=read)


def _call(arguments: list[str], output: str, keep: Path | None) -> Cost:
    command = shutil.which("runfold", path=str(Path(sys.executable).parent)) or "runfold"
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        # A trailing slash makes `reduce` write one folder per statistic.
        out = f"{folder}/{output}"
        if arguments[-1] == "-o":
            return launch(command, *arguments, out)
        return launch("/bin/sh", "-c", 'exec "$@" > "$0"', out, command, *arguments)


def read(folder: Path) -> Series:
    """Return what a command wrote: all points of a fold, or the points that were printed."""
    if (folder / FOLDERS).exists():
        mean = rf.open(folder / FOLDERS, progress=False)["mean"]
        return {
            (RUN, tag): (mean[tag].steps, mean[tag].wall_times, mean[tag].values) for tag in mean
        }
    if (folder / FOLD_FILE).exists():
        import pyarrow.parquet as pq

        table = pq.read_table(folder / FOLD_FILE)
        (tag,) = table["tag"].unique().to_pylist()
        names = ("step", "wall_time", "mean")
        steps, wall_times, values = (table[name].to_numpy() for name in names)
        return {(RUN, tag): (steps, wall_times, values)}
    if (folder / TABLE_FILE).exists():
        with (folder / TABLE_FILE).open(newline="") as file:
            (row,) = csv.DictReader(file)
        *_, tag = row
        return {(RUN, tag): (np.array([int(row["steps"])]), None, np.array([float(row[tag])]))}
    head, *lines = (folder / SHOWN).read_text().splitlines()
    rows = [line.split() for line in lines[lines.index("") :]]
    points = [row for row in rows if len(row) == 4 and row[0].isdecimal()]
    steps, values = (
        np.array([int(row[0]) for row in points]),
        np.array([float(row[1]) for row in points]),
    )
    return {(RUN, head.partition(" in run ")[0]): (steps, None, values)}


def _differ_as_shown(logged: NDArray[Any], shown: NDArray[Any]) -> NDArray[np.bool_]:
    return np.array([float(f"{number:.6g}") for number in logged]) != shown
