"""A fold and an export of a log whose points are larger than the memory limit, and without it.

In the part "windows", not even one tag fits. RUNFOLD_WINDOW_RUNS and RUNFOLD_WINDOW_LIMIT (bytes)
set its size: 2000 and 1000000000 fold 20 GB with a limit of 1 GB.
"""

import os
import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import Log, generate
from benchmarks.measure import Cost, launch
from benchmarks.readings import Series, find_disagreement

# The points alone take 384 MB.
LOG = Log("limit", runs=16, tags=10, steps=100_000)
LIMIT = 200_000_000
# What Python and its libraries take in a command that folds or exports.
BASE = 150_000_000
FOLD, EXPORT = f"{RUNFOLD} reduce", f"{RUNFOLD} export"
LIMITED_FOLD, LIMITED_EXPORT = f"{FOLD} --memory", f"{EXPORT} --memory"
_FILE = "out.parquet"

# A tag of all runs takes 77 MB, and twice as much while it is folded.
WINDOWS = Log("windows", runs=int(os.environ.get("RUNFOLD_WINDOW_RUNS", 64)), tags=4, steps=50_000)
WINDOW_LIMIT = int(os.environ.get("RUNFOLD_WINDOW_LIMIT", 80_000_000))


def make_contest(root: Path, fresh: bool = False, log: Log = LOG, limit: int = LIMIT) -> Contest:
    """Return the contest; with a limit, the numbers must be the same as without one."""
    return _make_contest(root, fresh, log, limit, (FOLD, EXPORT))


def make_window_contest(
    root: Path, fresh: bool = False, log: Log = WINDOWS, limit: int = WINDOW_LIMIT
) -> Contest:
    """Return the contest of a fold in windows; the numbers must be the same as without a limit."""
    return _make_contest(root, fresh, log, limit, (FOLD,))


def _make_contest(root: Path, fresh: bool, log: Log, limit: int, names: tuple[str, ...]) -> Contest:
    path = str(generate(log, root, fresh))
    commands = {}
    for name in names:
        command = [name.removeprefix(f"{RUNFOLD} "), path]
        commands[name] = command
        commands[f"{name} --memory"] = [*command, "--memory", str(limit)]
    contenders = [
        Contender(name, partial(_call, arguments), log.steps)
        for name, arguments in commands.items()
    ]
    kept: dict[str, Series] = {}

    def compare(contender: Contender, _: Series, theirs: Series) -> str | None:
        # The commands without a limit run first.
        kind = contender.name.removesuffix(" --memory")
        return find_disagreement(kept.setdefault(kind, theirs), theirs)

    title = f"whole commands on {log}, limit {limit / 1e6:.0f} MB"
    return Contest(title, ("command", "steps"), contenders, compare, reference=FOLD, load=read)


def _call(arguments: list[str], keep: Path | None) -> Cost:
    command = shutil.which("runfold", path=str(Path(sys.executable).parent)) or "runfold"
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        return launch(command, *arguments, "-o", f"{folder}/{_FILE}")


def read(folder: Path) -> Series:
    """Return the numbers that a command wrote."""
    import pyarrow.parquet as pq

    frame = pq.read_table(folder / _FILE).to_pandas()
    numbers = "mean" if "mean" in frame else "value"
    keys = ["tag"] if numbers == "mean" else ["run", "tag"]
    return {
        (str(key[0]), str(key[-1])): tuple(
            group[name].to_numpy() for name in ("step", "wall_time", numbers)
        )
        for key, group in frame.groupby(keys, sort=False, observed=True)
    }
