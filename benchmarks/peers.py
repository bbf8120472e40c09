"""The readers that are measured, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks import listers, readers
from benchmarks.logs import Log
from benchmarks.readings import Read

RUNFOLD = "runfold"
ACCUMULATOR = "EventAccumulator"
SERVER = "Rust data server"


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader: `prepare` imports what it needs and returns the call that is measured.

    A slow one reads the sample of a log. `is_sampler` tells that it keeps or
    gives only some points of a series.
    """

    name: str
    prepare: Callable[[], Read]
    is_slow: bool = True
    is_sampler: bool = False
    note: str = ""


SCALARS = (
    Reader(RUNFOLD, readers.read_with_runfold, is_slow=False),
    Reader(ACCUMULATOR, readers.read_with_event_accumulator),
    Reader("tbparse", readers.read_with_tbparse),
    Reader(
        "tensorboard-reducer",
        readers.read_with_tensorboard_reducer,
        is_sampler=True,
        note="keeps 10,000 points of a series, no wall times, no TensorFlow 2 scalars",
    ),
    Reader(SERVER, readers.read_with_data_server, is_slow=False, note="checksums not verified"),
)
MEDIA = (
    Reader(RUNFOLD, listers.list_with_runfold, is_slow=False, note="lists, every value indexed"),
    Reader("runfold decoded", listers.decode_with_runfold, is_slow=False, note="reads all values"),
    Reader(ACCUMULATOR, listers.list_with_event_accumulator, note="reads all values"),
    Reader(
        SERVER,
        listers.list_with_data_server,
        is_slow=False,
        is_sampler=True,
        note="lists; checksums not verified",
    ),
)


def readers_of(log: Log) -> tuple[Reader, ...]:
    """The readers of a log. The first is Runfold."""
    return MEDIA if log.form == "media" else SCALARS


def reference_of(log: Log) -> str:
    """The reader whose values all others are compared with."""
    return "runfold decoded" if log.form == "media" else RUNFOLD


def find_reader(log: Log, name: str) -> Reader:
    """The reader of a log with a name."""
    return next(reader for reader in readers_of(log) if reader.name == name)
