"""A fold on a Ray cluster of one node, and of two nodes, with one core each.

The nodes are on this machine. If other programs keep its cores busy, elapsed time says little.
Therefore the CPU time of the driver and of the busiest node counts: with a core for each, no fold
can be faster, and one that keeps all nodes busy is hardly slower.
"""

import os
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import psutil

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import Log, generate
from benchmarks.measure import Undone, measure
from benchmarks.readings import Reading, Series, find_disagreement

LOG = Log("cluster", runs=100, tags=10, steps=2_000)
HERE = f"{RUNFOLD} without a cluster"
ONE, TWO = f"{RUNFOLD} on one node", f"{RUNFOLD} on two nodes"
# CPU seconds of the driver and of the busiest node.
BUSY = "driver + node s"
_STORE = 512 << 20
_OPERATIONS = ["mean", "median", "iqm", "ci95"]


def make_contest(root: Path, fresh: bool = False, log: Log = LOG) -> Contest:
    """Return the contest; the number of nodes must not change a bit of the result."""
    path = str(generate(log, root, fresh))
    contenders = [
        Contender(name, partial(measure, prepare, [path, nodes]), log.runs)
        for name, nodes in ((ONE, 1), (TWO, 2), (HERE, 0))
    ]
    return Contest(
        f"cluster: a fold of {log} with a bootstrap interval, on nodes with one core",
        ("where", "runs"),
        contenders,
        lambda _, ours, theirs: find_disagreement(ours, theirs),
        reference=ONE,
    )


def prepare(folder: str, nodes: int) -> Callable[[], Reading]:
    """Return the call that folds a log on a cluster, whose nodes have imported everything."""
    warnings.simplefilter("ignore")
    if not nodes:
        _fold(folder, None)
        return lambda: _timed(lambda: _fold(folder, None), [])
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        from ray.cluster_utils import Cluster
    except ImportError as error:
        raise Undone(str(error)) from error
    # The head does no work. The cluster ends with this process.
    head = {"num_cpus": 0, "object_store_memory": _STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    own = psutil.Process()
    raylets = []
    for _ in range(nodes):
        before = _find_raylets(own)
        cluster.add_node(num_cpus=1, object_store_memory=_STORE)
        raylets.append(next(iter(_find_raylets(own) - before)))
    _fold(folder, cluster.address)
    return lambda: _timed(lambda: _fold(folder, cluster.address), raylets)


def _find_raylets(own: psutil.Process) -> set[psutil.Process]:
    return {child for child in own.children() if child.name() == "raylet"}


def _timed(fold: Callable[[], Series], raylets: Sequence[psutil.Process]) -> Reading:
    before = [_cpu(raylet) for raylet in raylets]
    start = time.process_time()
    series = fold()
    driver = time.process_time() - start
    nodes = [_cpu(raylet) - own for raylet, own in zip(raylets, before, strict=True)]
    return Reading(series, parts={BUSY: driver + max(nodes, default=0.0)})


def _cpu(raylet: psutil.Process) -> float:
    """Return the CPU time of a node's processes that work on tasks, in seconds."""
    times = [
        process.cpu_times()
        for process in raylet.children(recursive=True)
        if "Agent" not in process.name()
    ]
    return sum(each.user + each.system for each in times)


def _fold(folder: str, address: str | None) -> Series:
    import runfold as rf

    engine: Literal["ray"] | None = None if address is None else "ray"
    runs = rf.open(folder, engine=engine, address=address, progress=False)
    reduced = runs.reduce(_OPERATIONS)
    return {
        (group.name, f"{tag} {name}"): (curve.x, curve.wall_times, values)
        for group in reduced.groups.values()
        for tag, curve in group.curves.items()
        for name, values in curve.statistics.items()
    }
