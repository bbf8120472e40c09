"""The readers to measure, by name, and the contest that reads a log."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import listers, readers
from benchmarks.contest import RUNFOLD, Contender, Contest
from benchmarks.logs import Log, generate
from benchmarks.measure import measure
from benchmarks.readings import Read, Reading, Series, find_disagreement

ACCUMULATOR = "EventAccumulator"
SERVER = "Rust data server"


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader: `prepare` imports what it needs and returns the call to measure.

    A slow reader reads the sample of a log. `is_sampler` means that a reader
    returns only some points of a series.
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
        note="keeps 10,000 points per series, no wall times, no TensorFlow 2 scalars",
    ),
    Reader(SERVER, readers.read_with_data_server, is_slow=False, note="checksums not verified"),
)
MEDIA = (
    Reader(
        RUNFOLD, listers.list_with_runfold, is_slow=False, note="list only, every value indexed"
    ),
    Reader("runfold decoded", listers.decode_with_runfold, is_slow=False, note="reads all values"),
    Reader(ACCUMULATOR, listers.list_with_event_accumulator, note="reads all values"),
    Reader(
        SERVER,
        listers.list_with_data_server,
        is_slow=False,
        is_sampler=True,
        note="list only; checksums not verified",
    ),
)


def readers_of(log: Log) -> tuple[Reader, ...]:
    """Return the readers for a log. The first is Runfold."""
    return MEDIA if log.form == "media" else SCALARS


def reference_of(log: Log) -> str:
    """Return the reader whose values all others are compared with."""
    return "runfold decoded" if log.form == "media" else RUNFOLD


def find_reader(log: Log, name: str) -> Reader:
    """Return the reader with this name for a log."""
    return next(reader for reader in readers_of(log) if reader.name == name)


def make_contest(log: Log, root: Path, fresh: bool = False) -> Contest:
    """Return the contest between all readers of a log; slow readers read its sample."""
    folders = {part: generate(part, root, fresh) for part in {log, log.sampled()}}

    def contender(reader: Reader) -> Contender:
        part = log.sampled() if reader.is_slow else log
        once = partial(measure, prepare, [reader.name, asdict(part), str(folders[part])])
        return Contender(reader.name, once, part.runs, log.runs / part.runs, reader.note)

    def compare(peer: Contender, ours: Series, theirs: Series) -> str | None:
        difference = find_disagreement(ours, theirs, find_reader(log, peer.name).is_sampler)
        runs = len({run for run, _ in theirs})
        if difference is None and runs != peer.size:
            return f"{runs} of {peer.size} runs were read"
        return difference

    contenders = [contender(reader) for reader in readers_of(log)]
    return Contest(str(log), ("reader", "runs"), contenders, compare, reference_of(log))


def prepare(name: str, log: dict[str, Any], logdir: str) -> Callable[[], Reading]:
    """Return the call with which a reader reads a log; all imports are done."""
    read = find_reader(Log(**log), name).prepare()
    return lambda: read(Path(logdir))
