"""Work on a real Ray cluster: the results have the same bits as in one process."""

import importlib
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from helpers.clusters import add_node, quiet_cluster
from helpers.logs import hparams, scalars, write
from helpers.odd_folds import OPTIONS, fold
from helpers.odd_runs import bits, write_odd_runs
from helpers.stores import credentials, open_system, refusal
from ray.cluster_utils import Cluster

import runfold as rf
from runfold._cli import main
from runfold._engines import ray_engine
from runfold._logdir import loader
from runfold._logdir.run_engine import find_engine
from runfold._logdir.run_log import RunLog
from runfold._reduce import fold_pieces
from runfold.errors import CannotStore, ClusterFailed, FileChanged, NotEnoughMemory, RunfoldError

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.xdist_group("ray")]

# The nodes cannot import this module, so its functions travel by their code.
ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])

POLICIES = ["session", "step", "keep"]


@pytest.fixture(scope="module")
def cluster(s3_server: Any) -> Iterator[Cluster]:
    # The head has no cores, so that all work is done on the other nodes.
    with quiet_cluster(nodes=2, cpus=0, environment=credentials(s3_server)) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Divide the work into many parts, although the logs are small."""
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray_engine, "_SMALLEST_UNIT", 1)
    monkeypatch.setattr(ray_engine, "_TASKS_PER_CORE", 2)
    monkeypatch.setattr(loader, "_ENGINE_ROOM", 50_000)
    monkeypatch.setattr(fold_pieces, "_SMALLEST", 2_000)


def open_both(path: Path, cluster: Cluster, **options: Any) -> tuple[rf.Runs, rf.Runs]:
    return rf.open(path, **options), open_on(cluster, path, **options)


def open_on(cluster: Cluster, path: Path | str, **options: Any) -> rf.Runs:
    return rf.open(path, engine="ray", address=cluster.address, **options)


@pytest.mark.parametrize("restarts", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_tables_are_equal(cluster: Cluster, tmp_path: Path, seed: int, restarts: Any) -> None:
    write_odd_runs(tmp_path, seed, runs=7)
    plain, remote = open_both(tmp_path, cluster, restarts=restarts)
    every = dict.fromkeys(("last", "first", "best", "min", "max", "mean", "auc"), True)
    with warnings.catch_warnings(action="ignore"):
        expected, found = (
            bits(runs.table(**every, better="lower", at=[3, 20])) for runs in (plain, remote)
        )
    assert found == expected
    assert remote.tags == plain.tags
    assert remote.hidden == plain.hidden
    assert bits(remote.problems()) == bits(plain.problems())
    assert bits(remote.scalars()) == bits(plain.scalars())
    assert bits(remote.scalars("l*", wide=True)) == bits(plain.scalars("l*", wide=True))
    assert bits(remote.hparams()) == bits(plain.hparams())
    for condition in ("last['loss'] > 0", "has('late')", "at['acc', 3] < 0", "points > 9"):
        assert list(remote.where(condition)) == list(plain.where(condition))
    query = "select * from scalars order by all"
    assert bits(remote.sql(query)) == bits(plain.sql(query))
    assert not remote.refresh()


@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
def test_folds_are_equal(cluster: Cluster, tmp_path: Path, options: dict[str, Any]) -> None:
    for seed in range(2):
        write_odd_runs(tmp_path / str(seed), seed, runs=6)
        plain, remote = open_both(tmp_path / str(seed), cluster)
        assert fold(remote, options) == fold(plain, options)


@pytest.mark.parametrize("at", ["last", "best", "auc", 5])
def test_comparisons_are_equal(cluster: Cluster, tmp_path: Path, at: Any) -> None:
    write_odd_runs(tmp_path, 1, runs=7)
    texts = []
    for runs in open_both(tmp_path, cluster):
        found = runs.compare(
            ["loss", "acc"], by="lr", at=at, better="lower", duplicates="last", resamples=100
        )
        texts.append(repr((found.scores, found.groups, found.pairs, found.sentence)))
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    "command",
    [
        ["table", "--csv"],
        ["compare", "--tag", "loss", "--by", "lr", "--better", "lower", "--duplicates", "last"],
        ["reduce", "--align", "union", "--lax-tags", "--duplicates", "last"],
        ["export"],
        ["sql", "select * from scalars"],
        ["pack"],
    ],
    ids=lambda command: str(command[0]),
)
def test_commands_have_the_same_output(
    cluster: Cluster, tmp_path: Path, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = command
    write_odd_runs(tmp_path / "logs", 3)
    found: list[list[str]] = []
    for engine in ([], ["--engine", "ray", "--address", cluster.address]):
        out = tmp_path / f"{len(found)}.{'parquet' if name == 'pack' else 'csv'}"
        output = ["-o", str(out)] if name not in ("table", "compare") else []
        assert main([name, *options, "--logdir", str(tmp_path / "logs"), *output, *engine]) == 0
        printed = capsys.readouterr()
        content = out.read_bytes() if output else b""
        found.append(
            [text.replace(str(out), "") for text in (printed.out, printed.err)] + [str(content)]
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("options", [{}, {"partition": True}], ids=["one", "many"])
def test_packs_are_equal(cluster: Cluster, tmp_path: Path, options: dict[str, Any]) -> None:
    write_odd_runs(tmp_path / "logs", 1, runs=7)
    packs: list[dict[str, bytes]] = []
    for runs in open_both(tmp_path / "logs", cluster):
        out = tmp_path / f"{len(packs)}.parquet"
        runs.pack(out, **options)
        files = [path for path in out.rglob("*") if path.is_file()] if out.is_dir() else [out]
        packs.append({str(path.relative_to(out)): path.read_bytes() for path in files})
    assert packs[0] == packs[1]


def write_many(folder: Path, runs: int = 2000, points: int = 20) -> None:
    tags = ["train/loss", "train/acc", "val/loss", "val/acc", "lr"]
    for number in range(runs):
        values = np.random.default_rng(number).normal(size=(len(tags), points)).tolist()
        write(
            folder / f"lr-{number % 10}" / f"seed-{number}",
            *(scalars(tag, *enumerate(own)) for tag, own in zip(tags, values, strict=True)),
        )


class Pause:
    """An operation that waits until a file exists, and reports the nodes that it runs on."""

    __name__ = "spread"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.goes_on = folder / "go-on"

    def __call__(self, values: Any) -> Any:
        import ray

        node = ray.get_runtime_context().get_node_id()
        (self.folder / f"{node}-{os.getpid()}-{time.monotonic_ns()}").touch()
        while not self.goes_on.exists():
            time.sleep(0.01)
        return np.ptp(values, axis=0)

    def nodes(self) -> list[str]:
        """Return the node of each call so far."""
        return [path.name.split("-")[0] for path in self.folder.iterdir() if path != self.goes_on]


def wait_until(condition: Callable[[], Any], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.02)


def living_nodes() -> set[str]:
    return {node["NodeID"] for node in ray.nodes() if node["Alive"]}


@pytest.mark.parametrize("place", ["disk", "store"])
def test_a_node_that_dies_changes_nothing(
    cluster: Cluster, tmp_path: Path, s3: Any, place: str
) -> None:
    logdir = tmp_path / "logs"
    write_many(logdir)
    url = f"{s3.url}/logs"
    if place == "store":
        open_system().put(f"{logdir}/", f"{s3.bucket}/logs/", recursive=True)
    victim = add_node(cluster, credentials(s3))
    (tmp_path / "calls").mkdir()
    pause = Pause(tmp_path / "calls")

    def end_node() -> None:
        try:
            wait_until(lambda: victim.node_id in pause.nodes())
            cluster.remove_node(victim, allow_graceful=False)
        finally:
            pause.goes_on.touch()

    plain = rf.open(logdir)
    remote = open_on(cluster, logdir if place == "disk" else url).load()
    operations = ["mean", "median", "ci95", pause]
    ending = threading.Thread(target=end_node)
    ending.start()
    found = fold(remote, {"ops": operations, "by": "parent", "resamples": 50})
    ending.join()
    assert victim.node_id in pause.nodes()
    # The cluster can take a moment to notice.
    wait_until(lambda: victim.node_id not in living_nodes())
    assert found == fold(plain, {"ops": operations, "by": "parent", "resamples": 50})
    # What the node had read and folded was done again.
    assert bits(remote.table()) == bits(plain.table())


def idle_cores() -> float:
    return ray.available_resources().get("CPU", 0.0)


def test_ctrl_c_ends_the_work(cluster: Cluster, tmp_path: Path) -> None:
    write_odd_runs(tmp_path / "logs", 1, runs=7)
    (tmp_path / "calls").mkdir()
    pause = Pause(tmp_path / "calls")
    runs = open_on(cluster, tmp_path / "logs")
    cores = ray.cluster_resources()["CPU"]

    def interrupt() -> None:
        wait_until(pause.nodes)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        fold(runs, {"ops": [pause]})
    thread.join()
    wait_until(lambda: idle_cores() == cores)
    assert not pause.goes_on.exists()
    assert len(runs.table()) == 8


def fail_on(name: str, logs: Sequence[RunLog]) -> list[str]:
    for log in logs:
        if log.name == name:
            raise ZeroDivisionError("by nothing")
    return [log.name for log in logs]


def test_an_unexpected_error_names_the_run(cluster: Cluster, tmp_path: Path) -> None:
    write_odd_runs(tmp_path, 1, runs=7)
    runs = open_on(cluster, tmp_path)
    logs = runs._logs(None)
    engine = find_engine(logs)
    assert engine is not None
    names = [name for _, part in engine.map(logs, partial(fail_on, "")) for name in part]
    assert names == list(runs)
    with pytest.raises(
        ClusterFailed,
        match=r"^Run 'run-5' failed on node [0-9.]+ of the Ray cluster: ZeroDivisionError: by no",
    ) as error:
        list(engine.map(logs, partial(fail_on, "run-5")))
    assert error.value.__cause__ is None


def end_process(_: Any) -> None:
    os._exit(1)


def test_work_that_ends_its_process_again_and_again_is_an_error(
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(ray_engine, "_RETRIES", 1)
    write_odd_runs(tmp_path, 1, runs=1)
    runs = open_on(cluster, tmp_path)
    with pytest.raises(ClusterFailed, match=r"lost the node or process .* in 2 attempts"):
        runs.reduce([end_process], lax_tags=True, align="union", duplicates="last")
    assert len(runs.table()) == 2
    # Output is for the results of commands.
    assert capfd.readouterr().out == ""


def test_a_function_that_nodes_cannot_import_is_an_error(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def spread(values): return values.max(axis=0)")
    monkeypatch.syspath_prepend(tmp_path)
    write_odd_runs(tmp_path / "logs", 1, runs=1)
    runs = open_on(cluster, tmp_path / "logs")
    operation = importlib.import_module("only_here").spread
    with pytest.raises(
        ClusterFailed, match=r"cannot import what the work needs\. .* No module named 'only_here'"
    ):
        runs.reduce([operation], lax_tags=True, align="union", duplicates="last")


def test_an_error_of_a_function_is_the_same(cluster: Cluster, tmp_path: Path) -> None:
    write_odd_runs(tmp_path, 1)
    options = {"ops": [lambda column: column.shape[7]]}
    plain, remote = open_both(tmp_path, cluster)
    assert fold(remote, options) == fold(plain, options) == (IndexError, "tuple index out of range")


def test_a_file_that_is_replaced_is_an_error_until_the_next_refresh(
    cluster: Cluster, tmp_path: Path
) -> None:
    for name in "abc":
        write(tmp_path / name, scalars("loss", *((step, 1.0) for step in range(50))))
    runs = open_on(cluster, tmp_path).load()
    write(tmp_path / "new", scalars("loss", (0, 3.0))).rename(tmp_path / "b/events.out.tfevents.1")
    (tmp_path / "new").rmdir()
    for use in (runs.table, runs.scalars, runs.reduce):
        with pytest.raises(FileChanged, match=r"b/events.out.tfevents.1: .*runs\.refresh"):
            use()
    assert runs.refresh().reread == [str(tmp_path / "b/events.out.tfevents.1")]
    assert bits(runs.scalars()) == bits(rf.open(tmp_path).scalars())
    assert bits(runs.table()) == bits(rf.open(tmp_path).table())


def test_new_data_is_read_by_a_refresh(cluster: Cluster, tmp_path: Path) -> None:
    path = write(tmp_path / "a", scalars("loss", (0, 0.5)))
    runs = open_on(cluster, tmp_path).load()
    path.write_bytes(path.read_bytes() + write(tmp_path, scalars("loss", (1, 0.25))).read_bytes())
    (tmp_path / path.name).unlink()
    write(tmp_path / "b", scalars("loss", (0, 1.0)))
    assert runs.refresh().runs == ["b"]
    assert bits(runs.table()) == bits(rf.open(tmp_path).table())
    assert bits(runs.scalars()) == bits(rf.open(tmp_path).scalars())


def test_a_path_that_a_node_cannot_see_is_an_error(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "logs" / "a", scalars("loss", (0, 0.5)))
    # This path means the working directory of the process that uses it.
    monkeypatch.chdir(tmp_path)
    path = Path("/proc/self/cwd/logs")
    runs = open_on(cluster, path)
    with pytest.raises(
        ClusterFailed,
        match=r"Node [0-9.]+ of the Ray cluster cannot read /proc/self/cwd/logs/a/events.* of run"
        r" 'a', which this machine can read\. Every node must see the logdir at the same path",
    ):
        runs.load()
    # Runs that were read here can get lost later.
    for log in runs._logdir.logs.values():
        log.load()
    with pytest.raises(ClusterFailed, match=r"cannot read /proc/self/cwd/logs/a/events"):
        runs.table()


def test_a_run_that_has_gone_is_a_problem(cluster: Cluster, tmp_path: Path) -> None:
    for name in "ab":
        path = write(tmp_path / name, scalars("loss", (0, 0.5)))
    plain, remote = open_both(tmp_path, cluster)
    path.unlink()
    assert bits(remote.problems()) == bits(plain.problems())
    assert len(remote.problems()) == 1


def test_logs_in_a_store_are_read_by_the_nodes(cluster: Cluster, tmp_path: Path, s3: Any) -> None:
    write_odd_runs(tmp_path / "logs", 1, runs=7)
    open_system().put(f"{tmp_path}/logs/", f"{s3.bucket}/logs/", recursive=True)
    plain, remote = rf.open(f"{s3.url}/logs"), open_on(cluster, f"{s3.url}/logs")
    assert bits(remote.table()) == bits(plain.table())
    assert bits(remote.scalars()) == bits(plain.scalars())
    assert fold(remote, OPTIONS[0]) == fold(plain, OPTIONS[0])
    assert not remote.refresh()
    assert not [path for path in (tmp_path / "cache").rglob("*tfevents*") if path.is_file()]


def test_a_store_that_nodes_cannot_reach_is_an_error(
    cluster: Cluster, tmp_path: Path, s3: Any
) -> None:
    write(tmp_path / "logs" / "a", scalars("loss", (0, 0.5)))
    open_system().put(f"{tmp_path}/logs/", f"{s3.bucket}/logs/", recursive=True)
    runs = open_on(cluster, f"{s3.url}/logs")
    s3.answer = refusal(503, "SlowDown", "Please reduce your request rate.")
    with pytest.raises(CannotStore, match=r"could not read run 'a'\. Check the network"):
        runs.load()
    s3.answer = None
    assert len(runs.table()) == 1


def test_pickled_runs_keep_their_engine(cluster: Cluster, tmp_path: Path) -> None:
    write(tmp_path / "a", scalars("loss", (0, 0.5)))
    for options in ({}, {"limit_memory": "1MB"}):
        runs = pickle.loads(pickle.dumps(open_on(cluster, tmp_path, **options)))
        assert runs._logdir.cache.engine.address == cluster.address
        assert runs._logdir.cache.has_limit == bool(options)
        run = pickle.loads(pickle.dumps(runs["a"]))
        assert run._cache.engine.name == "ray"
        assert run["loss"].values.tolist() == [0.5]


def test_a_memory_limit_applies_to_batches_here(cluster: Cluster, tmp_path: Path) -> None:
    write_odd_runs(tmp_path, 2)
    limited = open_on(cluster, tmp_path, limit_memory=30_000)
    assert bits(limited.table()) == bits(rf.open(tmp_path).table())
    query = "select * from scalars order by all"
    assert bits(limited.sql(query)) == bits(rf.open(tmp_path).sql(query))
    with pytest.raises(NotEnoughMemory, match="Set limit_memory"):
        open_on(cluster, tmp_path, limit_memory=200).scalars()


def test_invalid_engines_are_errors(cluster: Cluster, tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a", hparams(lr=1), scalars("loss", (0, 0.5)))
    options: dict[str, Any] = {"engine": "spark"}
    with pytest.raises(ValueError, match="engine must be one of 'ray'"):
        rf.open(tmp_path, **options)
    with pytest.raises(ValueError, match="address requires an engine"):
        rf.open(tmp_path, address=cluster.address)
    rf.open(tmp_path / "logs").pack(tmp_path / "runs.parquet")
    with pytest.raises(RunfoldError, match=r"engine='ray' \(--engine\) applies to event files"):
        open_on(cluster, tmp_path / "runs.parquet")
    assert main(["table", str(tmp_path), "--address", cluster.address]) == 2
