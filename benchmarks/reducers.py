"""`runfold reduce` and `tb-reducer`: whole commands that fold the same runs into event files."""

import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import runfold as rf
from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import Log, generate
from benchmarks.measure import Cost, Undone, launch
from benchmarks.readings import Series, find_disagreement

TB_REDUCER = "tb-reducer"
STATISTICS = "mean,std,min,max"
# tb-reducer writes these in place of std.
EDGES = ("mean-std", "mean+std")


def make_contest(log: Log, root: Path, fresh: bool = False) -> Contest:
    """Return the contest between both commands on a log's runs, from start to end."""
    runs = sorted(str(run) for run in generate(log, root, fresh).iterdir())
    ours = Contender(RUNFOLD, _caller("runfold", "reduce", *runs), log.runs)
    theirs = Contender(TB_REDUCER, _caller("tb-reducer", *runs), log.runs)
    title = f"reduce {log}; {STATISTICS} to event files, start-up included"
    return Contest(title, ("command", "runs"), [ours, theirs], compare, load=read_folders)


def _caller(name: str, *arguments: str) -> Callable[[Path | None], Cost]:
    command = shutil.which(name, path=str(Path(sys.executable).parent))

    def once(keep: Path | None) -> Cost:
        if command is None:
            raise Undone("not installed")
        with tempfile.TemporaryDirectory() as folder:
            out = keep or Path(folder, "out")
            # With a trailing slash, there is one folder per statistic below it.
            return launch(command, *arguments, "-o", f"{out}/", "-r", STATISTICS)

    return once


def read_folders(out: Path) -> Series:
    """Return the series by statistic and tag, without wall times: tb-reducer changes them."""
    runs = rf.open(out, progress=False)
    return {
        (name, tag): (run[tag].steps, None, run[tag].values)
        for name, run in runs.items()
        for tag in run
    }


def compare(contender: Contender, ours: Series, theirs: Series) -> str | None:
    """Return the first difference of more than the last bit; both commands write float32.

    The last bit can differ, because the runs are not summed in the same order.
    """
    if contender.name == RUNFOLD:
        return None
    written = {key: columns for key, columns in theirs.items() if key[0] not in EDGES}
    if {name for name, _ in written} != {"mean", "min", "max"}:
        return "a statistic is missing"
    return find_disagreement(ours, written, differ=_differ) or _find_wrong_std(ours, theirs)


def _find_wrong_std(ours: Series, theirs: Series) -> str | None:
    """Return the first tag whose std is not half the distance between tb-reducer's band edges."""
    for tag in (tag for name, tag in theirs if name == "mean"):
        std = _values(ours, "std", tag)
        lower, upper = (_values(theirs, edge, tag) for edge in EDGES)
        # The edges are rounded, not the std, so a small std has fewer digits.
        if not (np.abs((upper - lower) / 2 - std) <= _last_bit(lower, upper)).all():
            return f"std: values of tag {tag!r} differ"
    return None


def _values(series: Series, name: str, tag: str) -> NDArray[np.float64]:
    return np.asarray(series[name, tag][2])


def _differ(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.abs(first - second) > _last_bit(first, second))


def _last_bit(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float32]:
    """Return the value of the last bit of the larger of two values, as a float32."""
    return np.asarray(np.spacing(np.maximum(np.abs(first), np.abs(second)).astype(np.float32)))
