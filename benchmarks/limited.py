"""A fold and an export of a log whose points are larger than the memory limit, and without it."""

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


def make_contest(root: Path, fresh: bool = False, log: Log = LOG, limit: int = LIMIT) -> Contest:
    """Return the contest; with a limit, the numbers must be the same as without one."""
    path = str(generate(log, root, fresh))
    commands = {
        FOLD: ["reduce", path],
        LIMITED_FOLD: ["reduce", path, "--memory", str(limit)],
        EXPORT: ["export", path],
        LIMITED_EXPORT: ["export", path, "--memory", str(limit)],
    }
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
