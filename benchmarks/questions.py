"""What people ask of a log, and who answers: a row a run, events, frames, SQL, one tag.

A function imports its package, so that imports are not part of what is measured,
and returns the call that is. Every answer comes as series, to be compared.
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
    """A question in words, which log it is asked of, and who answers it in which way.

    The first to answer is Runfold; all others but `EVENT_FILES` are slow, and are
    asked of the log's sample.
    """

    title: str
    log: str
    answers: dict[str, Callable[[], Read]]


def make_contest(name: str, logs: Iterable[Log], root: Path, fresh: bool = False) -> Contest:
    """All who answer a question."""
    question = QUESTIONS[name]
    log = next(one for one in logs if one.name == question.log)

    def contender(who: str) -> Contender:
        part = log if who in (RUNFOLD, EVENT_FILES) else log.sampled()
        paths = [generate(one, root, fresh) for one in (part, SMALL)]
        if name == "pack" and who == RUNFOLD:
            paths = [_pack(path, fresh) for path in paths]
        once = partial(measure, prepare, [name, who, *map(str, paths)])
        return Contender(who, once, part.runs, log.runs / part.runs)

    def compare(one: Contender, ours: Series, theirs: Series) -> str | None:
        return find_disagreement(ours, theirs, differ=_differ)

    contenders = [contender(who) for who in question.answers]
    return Contest(f"{question.title}: {log}", ("who", "runs"), contenders, compare)


def prepare(name: str, who: str, path: str, small: str) -> Callable[[], Reading]:
    """The call that answers a question, in a process that has answered it of a small log.

    So all is imported that is imported only when it is needed.
    """
    read = QUESTIONS[name].answers[who]()
    read(Path(small))
    return lambda: read(Path(path))


def measure_sizes(logs: Iterable[Log], root: Path) -> tuple[int, int, int]:
    """How many bytes the event files, the pack and the long DataFrame of a log have."""
    import runfold as rf

    log = next(one for one in logs if one.name == QUESTIONS["pack"].log)
    folder = generate(log, root)
    event_files = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    frame = rf.open(folder, progress=False).scalars()
    return event_files, _pack(folder).stat().st_size, int(frame.memory_usage(deep=True).sum())


def _pack(folder: Path, fresh: bool = False) -> Path:
    import runfold as rf

    path = folder.with_suffix(SUFFIX)
    if fresh or not path.exists():
        rf.open(folder, progress=False).pack(path, overwrite=True)
    path.read_bytes()  # into the page cache, as the event files are
    return path


def tabulate_with_runfold() -> Read:
    """`runs.table()`: the last value of every tag, beside all else that it tells of a run."""
    import runfold as rf

    def read(logdir: Path) -> Reading:
        table = rf.open(logdir, progress=False).table()
        return Reading({}, complete=lambda: _last_values(table.set_index("run")))

    return read


def tabulate_with_event_accumulator() -> Read:
    """The loop that people write: an accumulator a run, and the last of each tag's events."""
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
    """The EventAccumulator of a package for each run, and every scalar of it as an event."""
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
        return Reading({}, complete=lambda: {key: _columns(found) for key, found in events.items()})

    return read


def summarise_with(package: str, pivot: bool) -> Read:
    """The scalars of a package's SummaryReader."""
    reader = import_module(package).SummaryReader

    def read(logdir: Path) -> Reading:
        scalars = reader(str(logdir), pivot=pivot, extra_columns={"dir_name"}).scalars
        return Reading({}, complete=partial(_unfold if pivot else _split, scalars))

    return read


def query_with_runfold() -> Read:
    """An aggregate in SQL over all points of a log that nobody has read yet."""
    import runfold as rf

    def read(logdir: Path) -> Reading:
        answer = rf.open(logdir, progress=False).sql(QUERY)
        return Reading({}, complete=lambda: _answers(answer))

    return read


def query_with_tbparse() -> Read:
    """The same question to the DataFrame of tbparse."""
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
        found = {(name, TAG): run[TAG] for name, run in rf.open(path, progress=False).items()}
        return Reading({key: (one.steps, one.wall_times, one.values) for key, one in found.items()})

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


def _differ(one: Any, other: Any) -> Any:
    # A mean depends on the order in which it was summed.
    return ~np.isclose(one, other, rtol=1e-12, atol=0)


_TENSORBOARD = "tensorboard.backend.event_processing"
_OURS = "runfold.compat.tbparse"

QUESTIONS = {
    "table": Question(
        "one row a run",
        "C",
        {RUNFOLD: tabulate_with_runfold, ACCUMULATOR: tabulate_with_event_accumulator},
    ),
    "events": Question(
        "every event by an EventAccumulator",
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
            RUNFOLD: partial(summarise_with, _OURS, False),
            TBPARSE: partial(summarise_with, TBPARSE, False),
        },
    ),
    "pivot": Question(
        "SummaryReader(..., pivot=True).scalars",
        "B",
        {
            RUNFOLD: partial(summarise_with, _OURS, True),
            TBPARSE: partial(summarise_with, TBPARSE, True),
        },
    ),
    "sql": Question(
        "an aggregate in SQL, beside pandas on tbparse",
        "B",
        {RUNFOLD: query_with_runfold, TBPARSE: query_with_tbparse},
    ),
    "pack": Question(
        "one tag of all runs, from a pack and from event files",
        "B",
        {RUNFOLD: read_one_tag, EVENT_FILES: read_one_tag},
    ),
}
