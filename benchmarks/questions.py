"""Queries on a log and the packages that answer them: one row per run, events, frames, SQL.

Each function imports its package, so that imports are not measured, and returns the
call to measure. Every result is converted to series for comparison.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import SMALL, Log, generate, tag_names
from benchmarks.measure import measure
from benchmarks.peers import ACCUMULATOR
from benchmarks.readings import Columns, Read, Reading, Series, find_disagreement

TBPARSE = "tbparse"
EVENT_FILES = "event files"
SUFFIX = ".parquet"
(TAG,) = tag_names(1)
QUERY = "select run, tag, max(step) as step, avg(value) as value from scalars group by run, tag"


@dataclass(frozen=True, slots=True)
class Question:
    """A query: its description, the log it uses, and the functions that answer it.

    Runfold comes first; all others except `EVENT_FILES` are slow and use the log's
    sample.
    """

    title: str
    log: str
    answers: dict[str, Callable[[], Read]]


def make_contest(name: str, logs: Iterable[Log], root: Path, fresh: bool = False) -> Contest:
    """Return the contest between all packages that answer a question."""
    question = QUESTIONS[name]
    log = next(log for log in logs if log.name == question.log)

    def contender(peer: str) -> Contender:
        part = log if peer in (RUNFOLD, EVENT_FILES) else log.sampled()
        paths = [generate(log, root, fresh) for log in (part, SMALL)]
        if name == "pack" and peer == RUNFOLD:
            paths = [_pack(path, fresh) for path in paths]
        once = partial(measure, prepare, [name, peer, *map(str, paths)])
        return Contender(peer, once, part.runs, log.runs / part.runs)

    def compare(contestant: Contender, ours: Series, theirs: Series) -> str | None:
        return find_disagreement(ours, theirs, differ=_differ)

    contenders = [contender(peer) for peer in question.answers]
    return Contest(f"{question.title}: {log}", ("who", "runs"), contenders, compare)


def prepare(name: str, peer: str, path: str, small: str) -> Callable[[], Reading]:
    """Return the call that answers a question, after answering it for a small log.

    This way, lazy imports are done before measuring.
    """
    read = QUESTIONS[name].answers[peer]()
    read(Path(small))
    return lambda: read(Path(path))


def measure_sizes(logs: Iterable[Log], root: Path) -> tuple[int, int, int]:
    """Return the sizes in bytes of a log's event files, its pack and its long DataFrame."""
    import runfold as rf

    log = next(log for log in logs if log.name == QUESTIONS["pack"].log)
    folder = generate(log, root)
    event_files = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    frame = rf.open(folder, progress=False).scalars()
    return event_files, _pack(folder).stat().st_size, int(frame.memory_usage(deep=True).sum())


def _pack(folder: Path, fresh: bool = False) -> Path:
    import runfold as rf

    path = folder.with_suffix(SUFFIX)
    if fresh or not path.exists():
        rf.open(folder, progress=False).pack(path, overwrite=True)
    path.read_bytes()  # into the page cache, like the event files
    return path


def tabulate_with_runfold() -> Read:
    """`runs.table()`: the last value of every tag, with all other columns."""
    import runfold as rf

    def read(logdir: Path) -> Reading:
        table = rf.open(logdir, progress=False).table()
        return Reading({}, complete=lambda: _last_values(table.set_index("run")))

    return read


def tabulate_with_event_accumulator() -> Read:
    """The usual loop: one accumulator per run, and the last event of each tag."""
    import pandas as pd
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def read(logdir: Path) -> Reading:
        rows = {}
        for run in sorted(logdir.iterdir()):
            accumulator = EventAccumulator(str(run), {"scalars": 0}).Reload()
            tags = accumulator.Tags()["scalars"]
            rows[run.name] = {tag: accumulator.Scalars(tag)[-1].value for tag in tags}
        table = pd.DataFrame.from_dict(rows, orient="index")
        return Reading({}, complete=lambda: _last_values(table))

    return read


def accumulate_with(package: str) -> Read:
    """The EventAccumulator of a package for each run, and every scalar as an event."""
    module = import_module(f"{package}.event_accumulator")
    # Runfold imports TensorBoard with the first event.
    import_module("tensorboard.backend.event_processing.event_accumulator")

    def read(logdir: Path) -> Reading:
        events: dict[tuple[str, str], list[Any]] = {}
        for run in sorted(logdir.iterdir()):
            accumulator = module.EventAccumulator(
                str(run), module.STORE_EVERYTHING_SIZE_GUIDANCE
            ).Reload()
            for tag in accumulator.Tags()["scalars"]:
                events[run.name, tag] = accumulator.Scalars(tag)
        return Reading(
            {}, complete=lambda: {key: _columns(points) for key, points in events.items()}
        )

    return read


def summarize_with(package: str, pivot: bool) -> Read:
    """The scalars of a package's SummaryReader."""
    reader = import_module(package).SummaryReader

    def read(logdir: Path) -> Reading:
        scalars = reader(str(logdir), pivot=pivot, extra_columns={"dir_name"}).scalars
        return Reading({}, complete=partial(_unfold if pivot else _split, scalars))

    return read


def query_with_runfold() -> Read:
    """An SQL aggregate over all points of a log that has not been read yet."""
    import runfold as rf

    def read(logdir: Path) -> Reading:
        answer = rf.open(logdir, progress=False).sql(QUERY)
        return Reading({}, complete=lambda: _answers(answer))

    return read


def query_with_tbparse() -> Read:
    """The same query on tbparse's DataFrame."""
    from tbparse import SummaryReader

    def read(logdir: Path) -> Reading:
        scalars = SummaryReader(str(logdir), extra_columns={"dir_name"}).scalars
        groups = scalars.groupby(["dir_name", "tag"])
        answer = groups.agg({"step": "max", "value": "mean"}).reset_index()
        return Reading({}, complete=lambda: _answers(answer))

    return read


def read_one_tag() -> Read:
    """One tag of every run."""
    import runfold as rf

    def read(path: Path) -> Reading:
        series = {(name, TAG): run[TAG] for name, run in rf.open(path, progress=False).items()}
        return Reading(
            {
                key: (points.steps, points.wall_times, points.values)
                for key, points in series.items()
            }
        )

    return read


def _last_values(table: Any) -> Series:
    names = [name for name in table if "/" in name]
    return {
        (str(run), tag): (np.zeros(1), None, np.array([value], np.float64))
        for tag in names
        for run, value in table[tag].items()
    }


def _columns(events: list[Any]) -> Columns:
    return (
        np.array([event.step for event in events]),
        np.array([event.wall_time for event in events]),
        np.array([event.value for event in events]),
    )


def _split(frame: Any) -> Series:
    return {
        key: (rows["step"].to_numpy(), None, rows["value"].to_numpy())
        for key, rows in frame.groupby(["dir_name", "tag"], sort=False, observed=True)
    }


def _unfold(frame: Any) -> Series:
    tags = [name for name in frame if name not in ("step", "dir_name")]
    return {
        (run, tag): (rows["step"].to_numpy(), None, rows[tag].to_numpy(np.float64))
        for run, rows in frame.groupby("dir_name", sort=False)
        for tag in tags
    }


def _answers(answer: Any) -> Series:
    return {
        (run, tag): (np.array([step]), None, np.array([value]))
        for run, tag, step, value in answer.itertuples(index=False)
    }


def _differ(first: Any, second: Any) -> Any:
    # A mean depends on the order of summation.
    return ~np.isclose(first, second, rtol=1e-12, atol=0)


_TENSORBOARD = "tensorboard.backend.event_processing"
_OURS = "runfold.compat.tbparse"

QUESTIONS = {
    "table": Question(
        "one row per run",
        "C",
        {RUNFOLD: tabulate_with_runfold, ACCUMULATOR: tabulate_with_event_accumulator},
    ),
    "events": Question(
        "every event with an EventAccumulator",
        "B",
        {
            RUNFOLD: partial(accumulate_with, "runfold.compat.tensorboard"),
            ACCUMULATOR: partial(accumulate_with, _TENSORBOARD),
        },
    ),
    "scalars": Question(
        "SummaryReader(...).scalars",
        "B",
        {
            RUNFOLD: partial(summarize_with, _OURS, False),
            TBPARSE: partial(summarize_with, TBPARSE, False),
        },
    ),
    "pivot": Question(
        "SummaryReader(..., pivot=True).scalars",
        "B",
        {
            RUNFOLD: partial(summarize_with, _OURS, True),
            TBPARSE: partial(summarize_with, TBPARSE, True),
        },
    ),
    "sql": Question(
        "an SQL aggregate, compared with pandas on tbparse",
        "B",
        {RUNFOLD: query_with_runfold, TBPARSE: query_with_tbparse},
    ),
    "pack": Question(
        "one tag of all runs, from a pack and from event files",
        "B",
        {RUNFOLD: read_one_tag, EVENT_FILES: read_one_tag},
    ),
}
