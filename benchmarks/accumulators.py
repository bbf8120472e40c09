"""The loop that many scripts have: every run's EventAccumulator, and every scalar of it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import Log, generate
from benchmarks.measure import measure
from benchmarks.peers import ACCUMULATOR
from benchmarks.readings import Columns, Reading, Series, find_disagreement


def make_contest(log: Log, root: Path, fresh: bool = False) -> Contest:
    """The accumulator of Runfold and that of TensorBoard, which reads the log's sample."""

    def contender(name: str, part: Log) -> Contender:
        once = partial(measure, prepare, [name, str(generate(part, root, fresh))])
        return Contender(name, once, part.runs, log.runs / part.runs, "makes every event")

    def compare(one: Contender, ours: Series, theirs: Series) -> str | None:
        return find_disagreement(ours, theirs)

    contenders = [contender(RUNFOLD, log), contender(ACCUMULATOR, log.sampled())]
    return Contest(f"events of {log}", ("accumulator of", "runs"), contenders, compare)


def prepare(name: str, logdir: str) -> Callable[[], Reading]:
    """The call by which every scalar of a log becomes an event, with all imported."""
    from tensorboard.backend.event_processing import event_accumulator as original

    from runfold.compat.tensorboard import event_accumulator as ours

    module = ours if name == RUNFOLD else original

    def read() -> Reading:
        events: dict[tuple[str, str], list[Any]] = {}
        for run in sorted(Path(logdir).iterdir()):
            accumulator = module.EventAccumulator(
                str(run), module.STORE_EVERYTHING_SIZE_GUIDANCE
            ).Reload()
            for tag in accumulator.Tags()["scalars"]:
                events[run.name, tag] = accumulator.Scalars(tag)
        return Reading({}, complete=lambda: {key: _columns(found) for key, found in events.items()})

    return read


def _columns(events: list[Any]) -> Columns:
    return (
        np.array([event.step for event in events]),
        np.array([event.wall_time for event in events]),
        np.array([event.value for event in events]),
    )
