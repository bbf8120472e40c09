"""Logs before and after an edit, with events read by TensorBoard's own reader."""

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
    """Return the event files of one run."""
    return sorted(path for path in run.iterdir() if "tfevents" in path.name)


def events(run: Path) -> list[Event]:
    """Return all events of a run, read by TensorBoard's reader."""
    return [event for path in event_files(run) for event in LegacyEventFileLoader(str(path)).Load()]


def changed(before: list[Event], change: Change) -> list[Event]:
    """Return the events with each value changed by a function, which returns None to drop it.

    Tests compare Runfold's edits of bytes with these edits of protobuf messages.
    """
    edited = []
    for event in before:
        if event.WhichOneof("what") != "summary":
            edited.append(event)
            continue
        kept = [new for new in (change(value, event) for value in event.summary.value) if new]
        if kept:
            copy = Event()
            copy.CopyFrom(event)
            del copy.summary.value[:]
            copy.summary.value.extend(kept)
            edited.append(copy)
    return edited


def tags(run: Path) -> list[str]:
    """Return the tags of a run in order of first appearance."""
    names = [value.tag for event in events(run) for value in event.summary.value]
    return list(dict.fromkeys(names))


def steps(run: Path, tag: str) -> list[int]:
    """Return the steps of a tag in file order."""
    return [
        event.step for event in events(run) for value in event.summary.value if value.tag == tag
    ]


def log_steps(run: Path, *tags: str, first: int = 0, end: int = 4, start: float = START) -> None:
    """Log scalars with these tags; their values encode when the run began."""
    buffer = EventBuffer()
    buffer.file_version(start)
    for step in range(first, end):
        for tag in tags:
            buffer.scalar(tag, start - START, step, start + step)
    run.mkdir(parents=True, exist_ok=True)
    (run / NAME).write_bytes(buffer.getvalue())


def restart(run: Path, tag: str, step: int, end: int, start: float = START + 50) -> None:
    """Resume a run at a step, with a restart marker before it."""
    buffer = EventBuffer()
    buffer.session_start(step, start)
    for number in range(step, end):
        buffer.scalar(tag, start - START, number, start + number)
    with (run / NAME).open("ab") as file:
        file.write(buffer.getvalue())


def shown(logdir: Path, run: str, tag: str) -> list[list[int]]:
    """Return the steps of a tag as shown by Runfold and by TensorBoard's readers."""
    all_steps = [rf.open(logdir)[run][tag].steps.tolist()]
    for reader in READERS:
        with provider(reader, logdir) as source:
            all_steps.append([step for step, _, _ in read_scalars(source, run, tag)])
    accumulator = EventAccumulator(str(logdir / run), {"scalars": 0, "tensors": 0}).Reload()
    name = "Scalars" if tag in accumulator.Tags()["scalars"] else "Tensors"
    return [*all_steps, [event.step for event in getattr(accumulator, name)(tag)]]
