"""Logs before and after an edit, as TensorBoard's own reader gives their events."""

from collections.abc import Callable
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

import runfold as rf
from helpers.cli_runs import START
from helpers.tensorboard_readers import READERS, provider, read_scalars
from runfold._core.encoder import EventBuffer

Change = Callable[[Summary.Value, Event], Summary.Value | None]

NAME = "events.out.tfevents.1.host"


def event_files(run: Path) -> list[Path]:
    """The event files of one run."""
    return sorted(path for path in run.iterdir() if "tfevents" in path.name)


def events(run: Path) -> list[Event]:
    """All events of a run, by TensorBoard's reader."""
    return [event for path in event_files(run) for event in LegacyEventFileLoader(str(path)).Load()]


def changed(before: list[Event], change: Change) -> list[Event]:
    """The events with each value as a function makes it; None leaves it out.

    What protobuf itself does to the messages is the measure for the edit of bytes.
    """
    found = []
    for event in before:
        if event.WhichOneof("what") != "summary":
            found.append(event)
            continue
        kept = [new for new in (change(value, event) for value in event.summary.value) if new]
        if kept:
            copy = Event()
            copy.CopyFrom(event)
            del copy.summary.value[:]
            copy.summary.value.extend(kept)
            found.append(copy)
    return found


def tags(run: Path) -> list[str]:
    """The tags of a run in the order in which they first appear."""
    found = [value.tag for event in events(run) for value in event.summary.value]
    return list(dict.fromkeys(found))


def steps(run: Path, tag: str) -> list[int]:
    """The steps of a tag in the order of the files."""
    return [
        event.step for event in events(run) for value in event.summary.value if value.tag == tag
    ]


def log_steps(run: Path, *tags: str, first: int = 0, end: int = 4, start: float = START) -> None:
    """Scalars of some tags whose values tell when the run began."""
    found = EventBuffer()
    found.file_version(start)
    for step in range(first, end):
        for tag in tags:
            found.scalar(tag, start - START, step, start + step)
    run.mkdir(parents=True, exist_ok=True)
    (run / NAME).write_bytes(found.getvalue())


def restart(run: Path, tag: str, step: int, end: int, start: float = START + 50) -> None:
    """Let a run go on from a step, with a restart marker before it."""
    found = EventBuffer()
    found.session_start(step, start)
    for one in range(step, end):
        found.scalar(tag, start - START, one, start + one)
    with (run / NAME).open("ab") as file:
        file.write(found.getvalue())


def shown(logdir: Path, run: str, tag: str) -> list[list[int]]:
    """The steps that Runfold and TensorBoard's readers show of a tag."""
    found = [rf.open(logdir)[run][tag].steps.tolist()]
    for reader in READERS:
        with provider(reader, logdir) as source:
            found.append([step for step, _, _ in read_scalars(source, run, tag)])
    accumulator = EventAccumulator(str(logdir / run), {"scalars": 0, "tensors": 0}).Reload()
    name = "Scalars" if tag in accumulator.Tags()["scalars"] else "Tensors"
    return [*found, [event.step for event in getattr(accumulator, name)(tag)]]
