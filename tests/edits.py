"""Logs before and after an edit, as TensorBoard's own reader gives their events."""

from collections.abc import Callable
from pathlib import Path

from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import Summary

Change = Callable[[Summary.Value, Event], Summary.Value | None]


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
