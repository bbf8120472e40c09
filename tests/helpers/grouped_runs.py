"""Groups of runs for tests of comparisons: one folder per group, one run per seed."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from helpers.logs import scalars, write
from runfold._logdir.loader import Logdir
from runfold._logdir.run_log import RunLog


def write_groups(logdir: Path, tags: Mapping[str, Mapping[str, Iterable[float]]]) -> list[RunLog]:
    """Write runs that log one value per tag at step 0; `tags` maps tags to values by group."""
    runs: dict[str, list[tuple[str, float]]] = {}
    for tag, groups in tags.items():
        for group, values in groups.items():
            for seed, value in enumerate(values):
                runs.setdefault(f"{group}/seed-{seed}", []).append((tag, value))
    for run, points in runs.items():
        write(logdir / run, *(scalars(tag, (0, value)) for tag, value in points))
    return list(Logdir(logdir).logs.values())
