"""Event files with faults in them: records built byte by byte, and logs that hold them."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pandas as pd
import pytest

import runfold as rf
from runfold._core.checksum import masked_crc32c
from runfold._core.encoder import EventBuffer, frame
from runfold._events.event_file import IDLE_SECONDS

NAME = "events.out.tfevents.1700000000.host"
WALL_TIME = 1_700_000_000.5

# What the run beside the faulty one holds: no fault may reach it.
NEIGHBOUR = {"loss": [(0, 0.0), (1, 1.0), (2, 2.0)]}

Note = tuple[str, int | None]
Points = dict[str, list[tuple[int, float]]]


# Messages by hand, for what no writer would write.


def varint(number: int) -> bytes:
    """A protobuf varint; negative numbers take ten bytes, as int64 does."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number: int, content: int | float | bytes) -> bytes:
    """One protobuf field: an int as a varint, a float as a double, bytes with their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, float):
        return varint(number << 3 | 1) + struct.pack("<d", content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def simple(tag: bytes | str, value: float) -> bytes:
    """A Summary.Value with a simple value, under any bytes as its tag."""
    raw = tag.encode() if isinstance(tag, str) else tag
    return field(1, raw) + varint(2 << 3 | 5) + struct.pack("<f", value)


def event(*values: bytes, step: int = 0, wall_time: float = WALL_TIME, extra: bytes = b"") -> bytes:
    """A serialised Event with values in its summary, and any bytes behind it."""
    summary = b"".join(field(1, value) for value in values)
    return field(1, wall_time) + field(2, step) + field(5, summary) + extra


# Whole records, and records gone wrong.


def scalar(tag: str = "loss", step: int = 0, value: float | None = None) -> bytes:
    """A record with one scalar, whose value is its step unless told otherwise."""
    buffer = EventBuffer()
    buffer.scalar(tag, step if value is None else value, step, WALL_TIME)
    return buffer.getvalue()


def scalars(*steps: int) -> bytes:
    """Records of the tag `loss` at some steps."""
    return b"".join(scalar(step=step) for step in steps)


def record(*values: bytes, step: int = 0, wall_time: float = WALL_TIME) -> bytes:
    """A record with serialised Summary.Value messages."""
    return frame(event(*values, step=step, wall_time=wall_time))


def corrupt(data: bytes, at: int) -> bytes:
    """The same bytes with one bit of byte `at` turned over."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def header(length: int) -> bytes:
    """The header of a record that claims a length, with a sound checksum."""
    head = struct.pack("<Q", length)
    return head + struct.pack("<I", masked_crc32c(head))


def age(path: Path) -> None:
    """Make a file look as if nobody had written to it for longer than anyone waits."""
    old = time.time() - IDLE_SECONDS - 60
    os.utime(path, (old, old))


# Logs on disk.


def points(runs: rf.Runs, run: str) -> Points:
    """Every scalar of a run as (step, value), by tag."""
    return {
        tag: list(zip(series.steps.tolist(), series.values.tolist(), strict=True))
        for tag, series in ((tag, runs[run][tag]) for tag in runs[run])
    }


def loss(*steps: int) -> Points:
    """What `points` gives for the records of `scalars`."""
    return {"loss": [(step, float(step)) for step in steps]} if steps else {}


class FaultyLog:
    """A logdir whose run `bad` is made of the given bytes, beside a sound run `good`."""

    def __init__(self, folder: Path, pieces: Iterable[bytes]) -> None:
        self.folder = folder
        self.path = self.add_file(NAME, b"".join(pieces))
        (folder / "good").mkdir()
        (folder / "good" / NAME).write_bytes(scalars(0, 1, 2))
        self.runs = rf.open(folder)

    def add_file(self, name: str, content: bytes) -> Path:
        """Give the run `bad` another event file."""
        path = self.folder / "bad" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def append(self, *pieces: bytes) -> None:
        """Write more to the end of the file, and look again."""
        with self.path.open("ab") as file:
            file.write(b"".join(pieces))
        self.runs.refresh()

    def overwrite(self, at: int, content: bytes) -> None:
        """Write bytes in the middle of the file, and look again."""
        with self.path.open("r+b") as file:
            file.seek(at)
            file.write(content)
        self.runs.refresh()

    def age(self) -> None:
        """Let the file have been idle for long, and look again."""
        age(self.path)
        self.runs.refresh()

    def notes(self) -> list[Note]:
        """The code and offset of each problem, all of which must be about the run `bad`."""
        found = self.runs.problems()
        assert set(found["run"]) <= {"bad"}
        assert set(found["file"]) <= {str(self.path), str(self.path.parent)}
        return [
            (row.code, None if row.offset is pd.NA else int(row.offset))
            for row in found.itertuples()
        ]

    def check(self, expected: Points, notes: Iterable[Note] = ()) -> None:
        """Compare all that is read with what must be: values, notes, neighbour, strict mode."""
        assert list(self.runs) == ["bad", "good"]
        assert points(self.runs, "bad") == expected
        assert points(self.runs, "good") == NEIGHBOUR
        assert self.notes() == list(notes)
        self.check_strict()

    def check_strict(self) -> None:
        """In strict mode the first note is raised, and nothing where there is none."""
        found = self.runs.problems()
        strict = rf.open(self.folder, strict=True)
        if found.empty:
            strict.load()
            return
        with pytest.raises(rf.errors.BadLog) as raised:
            strict.load()
        first, problem = found.iloc[0], raised.value.problem
        assert (problem.run, problem.file) == ("bad", first["file"])
        assert (problem.code, problem.offset) == self.notes()[0]
        assert str(raised.value) == f"bad/{Path(problem.file).name}: {first['message']}"
        with pytest.raises(rf.errors.BadLog):
            list(rf.open(self.folder, strict=True)["bad"])


class GrowingFile(FaultyLog):
    """A faulty log whose last record is not all there yet."""

    def __init__(self, folder: Path, whole: bytes, torn: bytes, cut: int) -> None:
        super().__init__(folder, [whole, torn[:cut]])
        self.rest = torn[cut:]

    def complete(self) -> None:
        """Write the rest of the torn record, and look again."""
        self.append(self.rest)


@pytest.fixture
def faulty_log(tmp_path: Path) -> Callable[..., FaultyLog]:
    """Make a log whose run `bad` consists of the given bytes, beside a sound run."""
    return lambda *pieces: FaultyLog(tmp_path, pieces)


@pytest.fixture
def growing_file(tmp_path: Path) -> Callable[..., GrowingFile]:
    """Make a log whose last record is cut off, to be completed later."""
    return lambda *whole, torn, cut: GrowingFile(tmp_path, b"".join(whole), torn, cut)


_READER = """
import json, resource, sys
import pandas, runfold
runs = runfold.open(sys.argv[1])
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
found = {run: {tag: runs[run][tag].steps.tolist() for tag in runs[run]} for run in runs}
runs.tensors()
notes = runs.problems()
print(json.dumps([found, notes[["run", "code", "offset"]].astype(object).values.tolist()]))
"""


def read_within(memory: int, folder: Path) -> tuple[dict[str, dict[str, list[int]]], list[list]]:
    """Steps by run and tag, and notes, read by a process that may take so many bytes more."""
    done = subprocess.run(
        [sys.executable, "-c", _READER, str(folder), str(memory)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, notes = json.loads(done.stdout)
    return found, notes
