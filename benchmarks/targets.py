"""Runfold's performance targets, and the measured results."""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from benchmarks.adapter_loggers import FRAMEWORKS
from benchmarks.adapter_training import ADAPTER as TRAINED_ADAPTER
from benchmarks.adapter_training import IN_LOGGER, NOTHING, PROGRAMS, STEP
from benchmarks.adapters import ADAPTER, ADD_SCALAR, ORIGINAL, OTHER_LOGGER
from benchmarks.browser import Waits
from benchmarks.cluster import BUSY, ONE, TWO
from benchmarks.contest import RUNFOLD, Contender
from benchmarks.instances import LARGE, REQUEST
from benchmarks.limited import BASE, LIMIT, LIMITED_EXPORT, LIMITED_FOLD, WINDOW_LIMIT
from benchmarks.long_run import EVENTS, PARQUET, SHOW, TABLE
from benchmarks.peers import ACCUMULATOR, SERVER
from benchmarks.questions import EVENT_FILES, TBPARSE
from benchmarks.reducers import TB_REDUCER
from benchmarks.scale import (
    FIRST_TABLE,
    FOLD,
    INDEX_COMPLETED,
    INDEX_TABLE,
    INDEX_WHERE,
    INDEX_WRITTEN,
    LARGE_RUNS,
    LOAD,
    LOAD_BYTES,
    OPEN,
    OPEN_BYTES,
    PEAK_BYTES,
    REFRESH,
    RUNS,
    WALK,
    WHERE,
)
from benchmarks.serving import EVERY_POINT, ONE_TAG, TENSORBOARD
from benchmarks.settings import HPARAMS, WITHOUT
from benchmarks.stores import BARE, COPY, IN_PLACE, READ
from benchmarks.stores import REFRESH as STORE_REFRESH
from benchmarks.writers import CALLER, CLOSE, TENSORBOARDX, TORCH

# The CPU time must be lower than the peer's by at least this factor.
RATIOS = (
    ("A", ACCUMULATOR, 300),
    ("A", SERVER, 20),
    ("B", ACCUMULATOR, 300),
    ("B", SERVER, 20),
    ("C", ACCUMULATOR, 60),
    ("C", SERVER, 6),
    ("D", ACCUMULATOR, 200),
    ("D", SERVER, 15),
    ("E", ACCUMULATOR, 300),
    ("table", ACCUMULATOR, 50),
    ("events", ACCUMULATOR, 20),
    ("scalars", TBPARSE, 100),
    ("pivot", TBPARSE, 200),
    ("pack", EVENT_FILES, 5),
    ("reduce", TB_REDUCER, 60),
)
# The CPU time of the logging thread, and the time until the writer is closed, must be lower than
# the peers' by at least this factor.
WRITE_RATIO = 100
LOG_SECONDS = 2e-6
# The limit for the time in an adapter, relative to the framework's own logger on the same writer.
ADAPTER_RATIO = 1.05
# The limit for the time in an adapter, relative to a small training step without a logger.
SHARE_OF_STEP = 0.05
# 16 MiB can wait in each of two buffers, which double as they grow.
GROWTH = 70_000_000
# Runfold must be faster than TensorBoard by at least this factor.
SERVE_RATIO = 3
ONE_TAG_RATIO = 10
SERVER_BYTES = 250_000_000
# Limits for an instance's start-up time relative to plain TensorBoard, and for the
# proxy's effect on a request and on a stream.
START_RATIO = 1.3
ADDED_SECONDS = 0.005
SHARE_OF_THROUGHPUT = 0.7
PEAK_OF_B = 200_000_000
# The limit for commands that read one run of 10 million points.
PEAK_OF_LONG = 1_000_000_000
SHARE_OF_PEAK = 1 / 4
VALUES_A_SECOND = 50e6
BOOTSTRAP_SECONDS = 1.0
SQL_SECONDS = 0.5
SHARE_OF_EVENT_FILES = 1 / 5
# The limit for the time of a table with settings from files, relative to one without settings.
SETTINGS_RATIO = 1.1
FRAME_BYTES = 120_000_000
# Limits for many runs, relative to a walk of their folders; for the CPU time of a run in its first
# table; and for the memory of a run that has not been read, and of the process of the large log.
SCALE_RATIOS = {
    REFRESH: 1.3,
    FIRST_TABLE: 5.0,
    WHERE: 0.2,
    FOLD: 1.5,
    INDEX_TABLE: 1.3,
    INDEX_WHERE: 0.2,
}
RUN_SECONDS = 45e-6
LISTED_RUN_BYTES = 2000
PEAK_OF_SCALE = 600_000_000
# The limit for the cost of ten times as many runs.
SCALE_GROWTH = 11
# A log in a store must be opened and read in place faster than by a copy by at least this factor.
STORE_RATIO = 5
# Milliseconds until charts are drawn, until they follow the pointer, and per frame.
OPEN_WAIT, HAND_WAIT, FRAME_WAIT = 1500, 50, 100
# The CPU time of the driver and of the busiest of two nodes must be lower than with one node by at
# least this factor. It is reached only if the fold is expensive, as in this log.
NODES_RATIO = 1.7
IMPORT_SECONDS = 0.1
IMPORT_WRITER_SECONDS = 0.2
LS_SECONDS = 0.3
WRITER = "from runfold import SummaryWriter"
# The parts for many runs; the second one is measured only on request.
SCALE, LARGE_SCALE = "scale", "scale-large"
_NAMES = {
    OPEN: "open",
    LOAD: "load",
    FIRST_TABLE: "first table",
    WHERE: "where",
    FOLD: "fold of groups of 100 runs",
    REFRESH: "refresh of idle runs",
    INDEX_WRITTEN: "first table, which writes the index",
    INDEX_COMPLETED: "second table, which completes it",
    INDEX_TABLE: "table from the index",
    INDEX_WHERE: "where from the index",
}


@dataclass(frozen=True, slots=True)
class Target:
    """A target: what is measured, the bound as text, and the result.

    Without a bound it is only reported, and `is_met` is None.
    """

    subject: str
    bound: str
    measured: str
    is_met: bool | None


Results: TypeAlias = Mapping[str, Mapping[str, Contender]]


def contest_targets(results: Results) -> list[Target]:
    """Return the targets for ratios of CPU time, peak memory and speed, if they were measured."""
    parts = (
        *(_ratios, _peaks, _speeds, _writing, _adapting),
        *(_serving, _proxying, _scaling, _storing, _clustering),
    )
    return [target for part in parts for target in part(results)]


def _ratios(results: Results) -> Iterator[Target]:
    for part, peer, factor in RATIOS:
        if (ours := _find(results, part)) and (theirs := _find(results, part, peer)):
            ratio = theirs.cpu / ours.cpu
            subject = f"{part}: CPU time of {peer}"
            yield Target(subject, f">= {factor}x", f"{ratio:.0f}x", ratio >= factor)


def _peaks(results: Results) -> Iterator[Target]:
    if ours := _find(results, "B"):
        peak = ours.peak
        yield Target("B: peak memory", "< 200 MB", f"{peak / 1e6:.0f} MB", peak < PEAK_OF_B)
    if (ours := _find(results, "reduce")) and (theirs := _find(results, "reduce", TB_REDUCER)):
        measured = f"{ours.peak / 1e6:.0f} of {theirs.peak / 1e6:.0f} MB"
        is_met = ours.peak < SHARE_OF_PEAK * theirs.peak
        yield Target("reduce: peak memory", f"< 1/4 of {TB_REDUCER}", measured, is_met)
    for command in (TABLE, SHOW, EVENTS, PARQUET):
        if ours := _find(results, "long", command):
            measured, is_met = f"{ours.peak / 1e6:.0f} MB", ours.peak < PEAK_OF_LONG
            yield Target(f"long: peak memory of {command}", "< 1 GB", measured, is_met)
    for part, command, limit in (
        ("limit", LIMITED_FOLD, LIMIT),
        ("limit", LIMITED_EXPORT, LIMIT),
        ("windows", LIMITED_FOLD, WINDOW_LIMIT),
    ):
        if ours := _find(results, part, command):
            measured, is_met = f"{ours.peak / 1e6:.0f} MB", ours.peak < limit + BASE
            most = f"< {limit / 1e6:.0f} + {BASE / 1e6:.0f} MB"
            yield Target(f"{part}: peak memory of {command}", most, measured, is_met)


def _speeds(results: Results) -> Iterator[Target]:
    if ours := _find(results, "fold"):
        speed = ours.size / ours.cpu
        measured = f"{speed / 1e6:.0f} M values/s"
        yield Target("fold: mean and std", ">= 50 M values/s", measured, speed >= VALUES_A_SECOND)
    if ours := _find(results, "bootstrap"):
        is_met = ours.cpu < BOOTSTRAP_SECONDS
        yield Target("bootstrap: CPU time", "< 1 s", f"{ours.cpu:.2f} s", is_met)
    if ours := _find(results, "settings"):
        subject = "settings: CPU time with a file in each run, relative to none"
        if theirs := _find(results, "settings", WITHOUT):
            ratio = ours.cpu / theirs.cpu
            bound = f"<= {SETTINGS_RATIO}x"
            yield Target(subject, bound, f"{ratio:.2f}x", ratio <= SETTINGS_RATIO)
        if theirs := _find(results, "settings", HPARAMS):
            ratio = ours.cpu / theirs.cpu
            yield Target("settings: relative to logged hparams", "", f"{ratio:.2f}x", None)
    if ours := _find(results, "sql"):
        measured, is_met = f"{ours.wall:.2f} s", ours.wall < SQL_SECONDS
        yield Target("sql: elapsed time, without start-up", "< 0.5 s", measured, is_met)


def _writing(results: Results) -> Iterator[Target]:
    ours = _find(results, "write")
    for peer in (TORCH, TENSORBOARDX):
        if ours and (theirs := _find(results, "write", peer)):
            bound = f">= {WRITE_RATIO}x"
            cheaper, sooner = theirs.part(CALLER) / ours.part(CALLER), theirs.wall / ours.wall
            is_met = cheaper >= WRITE_RATIO
            yield Target(f"write: calling thread of {peer}", bound, f"{cheaper:.0f}x", is_met)
            is_met = sooner >= WRITE_RATIO
            yield Target(f"write: time until {peer} is closed", bound, f"{sooner:.0f}x", is_met)
            # Calls to the peers wait until at most ten values are queued, so this says little.
            close_ratio = f"{theirs.part(CLOSE) / ours.part(CLOSE):.1f}x"
            yield Target(f"write: close() of {peer} alone", "", close_ratio, None)
    if ours := _find(results, "log"):
        seconds = ours.part(CALLER) / ours.size
        measured = f"{seconds * 1e6:.2f} us"
        yield Target("log: ten values in a call", "<= 2 us", measured, seconds <= LOG_SECONDS)
    if ours := _find(results, "memory"):
        measured, is_met = f"{ours.growth / 1e6:.1f} MB", ours.growth < GROWTH
        yield Target("memory: growth with 100 times the values", "< 70 MB", measured, is_met)


def _adapting(results: Results) -> Iterator[Target]:
    for name in FRAMEWORKS:
        if not (contender := _find(results, "adapters", name)):
            continue
        adapter = contender.part(ADAPTER)
        for peer in (OTHER_LOGGER, ADD_SCALAR, ORIGINAL):
            if peer not in contender.costs[0].parts:
                continue
            ratio = adapter / contender.part(peer)
            subject = f"adapters: {name}, relative to {peer.removesuffix(' us')}"
            has_bound = peer == OTHER_LOGGER
            bound = f"<= {ADAPTER_RATIO}x" if has_bound else ""
            is_met = ratio <= ADAPTER_RATIO if has_bound else None
            yield Target(subject, bound, f"{ratio:.3g}x", is_met)
    for name in PROGRAMS:
        if contender := _find(results, "training", name):
            in_adapter = contender.part(IN_LOGGER.format(TRAINED_ADAPTER))
            share = in_adapter / contender.part(STEP.format(NOTHING))
            subject = f"training: {name}, time in the adapter as a share of a step"
            bound = f"<= {SHARE_OF_STEP:.0%}"
            yield Target(subject, bound, f"{share:.2%}", share <= SHARE_OF_STEP)


def _serving(results: Results) -> Iterator[Target]:
    ours = _find(results, "serve")
    if ours and (theirs := _find(results, "serve", TENSORBOARD)):
        sooner, one_tag = theirs.wall / ours.wall, theirs.part(ONE_TAG) / ours.part(ONE_TAG)
        subject = f"serve: time until {TENSORBOARD} has read all data, and ours has sent it"
        yield Target(subject, f">= {SERVE_RATIO}x", f"{sooner:.1f}x", sooner >= SERVE_RATIO)
        subject = f"serve: one tag, every point; {TENSORBOARD} 1,000 per run"
        is_met = one_tag >= ONE_TAG_RATIO
        yield Target(subject, f">= {ONE_TAG_RATIO}x", f"{one_tag:.0f}x", is_met)
    if ours and (theirs := _find(results, "serve", EVERY_POINT)):
        sooner, one_tag = theirs.wall / ours.wall, theirs.part(ONE_TAG) / ours.part(ONE_TAG)
        yield Target("serve: time until both have sent every point", "", f"{sooner:.0f}x", None)
        yield Target("serve: one tag, every point of both", "", f"{one_tag:.0f}x", None)
    for part, moment in (("serve", "after both"), ("query", "during an SQL query")):
        if contender := _find(results, part):
            measured, is_met = f"{contender.peak / 1e6:.0f} MB", contender.peak < SERVER_BYTES
            yield Target(f"{part}: server memory {moment}", "< 250 MB", measured, is_met)


def _proxying(results: Results) -> Iterator[Target]:
    ours, theirs = _find(results, "tensorboard"), _find(results, "tensorboard", TENSORBOARD)
    if ours and theirs:
        ratio = ours.wall / theirs.wall
        subject = f"tensorboard: time until the first page, relative to plain {TENSORBOARD}"
        yield Target(subject, f"<= {START_RATIO}x", f"{ratio:.2f}x", ratio <= START_RATIO)
        added = ours.part(REQUEST) - theirs.part(REQUEST)
        measured = f"{added * 1e3:.1f} ms"
        yield Target(
            "tensorboard: time added to a request", "< 5 ms", measured, added < ADDED_SECONDS
        )
        share = theirs.part(LARGE) / ours.part(LARGE)
        is_met = share >= SHARE_OF_THROUGHPUT
        yield Target("tensorboard: throughput of 50 MB", ">= 70 %", f"{share:.0%}", is_met)


def _scaling(results: Results) -> Iterator[Target]:
    sizes = [
        (name, ours) for name in (SCALE, LARGE_SCALE) if (ours := _find(results, name)) is not None
    ]
    for name, ours in sizes:
        walk = ours.part(WALK)
        for part, most in SCALE_RATIOS.items():
            ratio = ours.part(part) / walk
            subject = f"{name}: {_NAMES[part]}, relative to a walk"
            yield Target(subject, f"<= {most}x", f"{ratio:.2f}x", ratio <= most)
        for part in (OPEN, LOAD, INDEX_WRITTEN, INDEX_COMPLETED):
            ratio = ours.part(part) / walk
            yield Target(f"{name}: {_NAMES[part]}, relative to a walk", "", f"{ratio:.2f}x", None)
        seconds = ours.part(FIRST_TABLE) / ours.size
        measured, is_met = f"{seconds * 1e6:.1f} us", seconds <= RUN_SECONDS
        yield Target(f"{name}: first table, per run", "<= 45 us", measured, is_met)
        listed = ours.part(OPEN_BYTES)
        measured, is_met = f"{listed / 1e3:.1f} kB", listed <= LISTED_RUN_BYTES
        yield Target(f"{name}: memory of a listed run", "<= 2 kB", measured, is_met)
        measured = f"{ours.part(LOAD_BYTES) / 1e3:.1f} kB"
        yield Target(f"{name}: memory of a run that has been read", "", measured, None)
        peak = ours.part(PEAK_BYTES)
        measured, is_met = f"{peak / 1e6:.0f} MB", peak < PEAK_OF_SCALE
        yield Target(f"{name}: peak memory after the first table", "< 600 MB", measured, is_met)
    if len(sizes) == 2:
        (_, few), (_, many) = sizes
        # Over ten times as many runs; the two logs differ by less.
        power = math.log(10) / math.log(LARGE_RUNS / RUNS)
        for part in (OPEN, LOAD, *SCALE_RATIOS):
            growth = (many.part(part) / few.part(part)) ** power
            subject = f"{LARGE_SCALE}: growth of {_NAMES[part]} per ten times the runs"
            yield Target(subject, f"<= {SCALE_GROWTH}x", f"{growth:.1f}x", growth <= SCALE_GROWTH)


def _storing(results: Results) -> Iterator[Target]:
    ours, theirs = _find(results, "store", IN_PLACE), _find(results, "store", COPY)
    if not (ours and theirs):
        return
    ratio = theirs.part(READ) / ours.part(READ)
    subject = "store: opened and read in place, relative to a copy"
    yield Target(subject, f">= {STORE_RATIO}x faster", f"{ratio:.1f}x", ratio >= STORE_RATIO)
    ratio = theirs.part(STORE_REFRESH) / ours.part(STORE_REFRESH)
    yield Target("store: refresh in place, relative to a copy", "", f"{ratio:.1f}x faster", None)
    ratio = ours.part(READ) / ours.part(BARE)
    yield Target("store: read in place, relative to bare requests", "", f"{ratio:.1f}x", None)


def _clustering(results: Results) -> Iterator[Target]:
    alone, both = _find(results, "cluster", ONE), _find(results, "cluster", TWO)
    if alone and both:
        ratio = alone.part(BUSY) / both.part(BUSY)
        subject = "cluster: CPU time of the driver and the busiest of two nodes, relative to one"
        yield Target(subject, f">= {NODES_RATIO}x", f"{ratio:.2f}x", ratio >= NODES_RATIO)
        elapsed = f"{alone.wall / both.wall:.2f}x"
        yield Target("cluster: elapsed time of the same", "", elapsed, None)


def size_targets(event_files: int, pack: int, frame: int) -> list[Target]:
    """Return the targets for the size of a pack and the memory of a long DataFrame."""
    share = f"1/{event_files / pack:.1f}"
    is_small = pack <= SHARE_OF_EVENT_FILES * event_files
    measured = f"{frame / 1e6:.0f} MB"
    return [
        Target("pack: size relative to the event files", "<= 1/5", share, is_small),
        Target("B: memory of the long DataFrame", "< 120 MB", measured, frame < FRAME_BYTES),
    ]


def page_targets(waits: Waits) -> list[Target]:
    """Return the targets for the page's waiting times; the bound applies to the median."""
    return [
        _wait("page: time until the charts are drawn", waits.opened, OPEN_WAIT),
        _wait("page: hover over 100 lines", waits.hovered, HAND_WAIT),
        _wait("page: zoom of 100 lines", waits.zoomed, HAND_WAIT),
        _wait("page: zoom with every point", waits.refined),
        _wait("page: longest frame in a scroll", waits.frames, FRAME_WAIT),
    ]


def _wait(subject: str, times: Sequence[float], bound: int | None = None) -> Target:
    median = statistics.median(times)
    measured = f"{median:.0f} ms, worst {max(times):.0f}"
    if bound is None:
        return Target(subject, "", measured, None)
    return Target(subject, f"< {bound} ms", measured, median < bound)


def _find(results: Results, part: str, name: str = RUNFOLD) -> Contender | None:
    """Return a contender of a part, if it was measured."""
    contender = results.get(part, {}).get(name)
    return contender if contender and contender.costs else None


def command_targets(
    import_seconds: Callable[[str], float],
    ls_seconds: Callable[[], float | None],
    imports_of_reduce: Callable[[], Mapping[str, list[str]]],
    imports_of: Callable[[str], list[str]],
) -> list[Target]:
    """Return the targets for import times, the command's start-up, and their imports."""
    package, reader = import_seconds("import runfold"), import_seconds("from runfold import open")
    writer = import_seconds(WRITER)
    targets = [
        Target("import runfold", "< 100 ms", _milliseconds(package), package < IMPORT_SECONDS),
        Target("from runfold import open", "", _milliseconds(reader), None),
        Target(WRITER, "< 200 ms", _milliseconds(writer), writer < IMPORT_WRITER_SECONDS),
        _no_imports(WRITER, imports_of(WRITER)),
    ]
    listing = ls_seconds()
    if listing is not None:
        measured, met = _milliseconds(listing), listing < LS_SECONDS
        targets.append(Target("runfold ls, 5 small runs", "< 300 ms", measured, met))
    for kind, heavy in imports_of_reduce().items():
        targets.append(_no_imports(f"reduce to {kind}", heavy))
    return targets


def _no_imports(subject: str, heavy: list[str]) -> Target:
    return Target(f"{subject}: heavy imports", "none", ", ".join(heavy) or "none", not heavy)


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.0f} ms"
