"""Contests between web servers: time until all data is served, one tag of all runs, and memory."""

import pickle
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import psutil

from benchmarks import readers
from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import Log, generate
from benchmarks.measure import Cost
from benchmarks.memory import peak_of
from benchmarks.questions import QUERY, TAG
from benchmarks.readings import Series, find_disagreement
from benchmarks.sites import Site, serve_with_runfold, serve_with_tensorboard

TENSORBOARD = "tensorboard"
EVERY_POINT = "tensorboard, every point"
# A part of the work, as elapsed time: the median over several requests to a warm server.
ONE_TAG = "one tag s"
_REQUESTS = 5
# More points than any series has. For 0, which should mean all, the server sends none.
_ALL = 1_000_000
# The interval of memory measurements during a query, in seconds.
_PERIOD = 0.005


@dataclass(frozen=True, slots=True)
class Host:
    """A server: whether "served" includes fetching all data, and whether it samples."""

    serve: Callable[[Path], AbstractContextManager[Site]]
    fetches_all: bool
    is_sampler: bool
    note: str


HOSTS = {
    RUNFOLD: Host(
        serve_with_runfold,
        fetches_all=True,
        is_sampler=False,
        note="served: every point of every tag received over HTTP; steps and values",
    ),
    TENSORBOARD: Host(
        serve_with_tensorboard,
        fetches_all=False,
        is_sampler=True,
        note="served: all data read and listed, nothing fetched; 1,000 points per series,"
        " with wall times",
    ),
    EVERY_POINT: Host(
        partial(serve_with_tensorboard, options=(f"--samples_per_plugin=scalars={_ALL}",)),
        fetches_all=True,
        is_sampler=False,
        note=f"--samples_per_plugin=scalars={_ALL}; served: every point received over HTTP",
    ),
}


def make_contest(log: Log, root: Path, fresh: bool = False) -> Contest:
    """Return the contest: the time until all data is served, then one tag of all runs.

    Elapsed and CPU time are until all data is served; the memory is the peak in
    both parts. The received data is compared with the event files.
    """
    folder = generate(log, root, fresh)
    contenders = [
        Contender(name, partial(_serve, host, log, folder), log.runs, note=host.note)
        for name, host in HOSTS.items()
    ]
    title = f"serve {log}; from the start of the command until all data is served"
    return Contest(title, ("server", "runs"), contenders, _comparer(log, folder))


def make_query_contest(log: Log, root: Path, fresh: bool = False) -> Contest:
    """Return the contest for an SQL query to a server that has sent every point, and its memory."""
    folder = generate(log, root, fresh)
    contender = Contender(RUNFOLD, partial(_query, log, folder), log.runs)
    title = f"query {log}; an SQL aggregate on the server; memory of all its processes"
    return Contest(title, ("server", "runs"), [contender], _comparer(log, folder))


def _serve(host: Host, log: Log, folder: Path, keep: Path | None) -> Cost:
    start = time.perf_counter()
    with host.serve(folder) as site:
        tags = site.list_tags(log.runs, log.tags)
        fetched = tags if host.fetches_all else []
        for tag in fetched:
            # discarded, because keeping it would be measured here rather than in the server
            site.fetch(tag)
        wall, cpu = time.perf_counter() - start, _cpu_of(site.pid)
        one_tag = statistics.median(_seconds(site, TAG) for _ in range(_REQUESTS))
        peak = sum(peak_of(process.pid) for process in _tree(site.pid))
        if keep:
            _keep(site, {tag: site.fetch(tag) for tag in {*fetched, TAG}}, keep)
    return Cost(cpu, wall, peak, peak, {ONE_TAG: one_tag})


def _query(log: Log, folder: Path, keep: Path | None) -> Cost:
    with serve_with_runfold(folder) as site:
        answers = {tag: site.fetch(tag) for tag in site.list_tags(log.runs, log.tags)}
        before = _cpu_of(site.pid), _memory_of(site.pid)
        start = time.perf_counter()
        with _watched(site.pid) as seen:
            site.post("/api/sql", query=QUERY)
        wall, cpu = time.perf_counter() - start, _cpu_of(site.pid) - before[0]
    if keep:
        _keep(site, answers, keep)
    return Cost(cpu, wall, max(seen), max(seen) - before[1])


def _keep(site: Site, answers: dict[str, bytes], path: Path) -> None:
    series: Series = {}
    for tag, answer in answers.items():
        series |= site.parse(tag, answer)
    path.write_bytes(pickle.dumps(series, protocol=5))


def _comparer(log: Log, folder: Path) -> Callable[[Contender, Series, Series], str | None]:
    @cache
    def read() -> Series:
        return readers.read_with_runfold()(folder).series

    def compare(contender: Contender, ours: Series, theirs: Series) -> str | None:
        tags = {tag for _, tag in theirs}
        stored = {key: columns for key, columns in read().items() if key[1] in tags}
        is_sampler = HOSTS[contender.name].is_sampler
        if len({run for run, _ in theirs}) != log.runs:
            return "a run was not served"
        if any(steps[-1] != log.steps - 1 for steps, _, _ in theirs.values()):
            return "a series was not served completely"
        return find_disagreement(stored, theirs, is_sampler)

    return compare


def _seconds(site: Site, tag: str) -> float:
    start = time.perf_counter()
    site.fetch(tag)
    return time.perf_counter() - start


def _tree(pid: int) -> list[psutil.Process]:
    server = psutil.Process(pid)
    return [server, *server.children(recursive=True)]


def _cpu_of(pid: int) -> float:
    """Return the CPU seconds of a server's processes, and of their finished children."""
    return sum(sum(process.cpu_times()[:4]) for process in _tree(pid))


def _memory_of(pid: int) -> int:
    """Return the current memory of a server's processes; shared memory is counted once."""
    total = 0
    for process in _tree(pid):
        with suppress(psutil.Error):  # the process has exited
            used = process.memory_full_info()
            total += getattr(used, "pss", used.rss)
    return total


@contextmanager
def _watched(pid: int) -> Iterator[list[int]]:
    """Record the memory of a server's processes repeatedly until the end of the block."""
    seen = [_memory_of(pid)]
    done = threading.Event()

    def sample() -> None:
        while not done.wait(_PERIOD):
            seen.append(_memory_of(pid))

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield seen
    finally:
        done.set()
        thread.join()
