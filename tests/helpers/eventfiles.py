"""Event files with faults: records built byte by byte, and logs that contain them."""

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

# The content of the run next to the faulty one. No fault may affect it.
NEIGHBOUR = {"loss": [(0, 0.0), (1, 1.0), (2, 2.0)]}

Note = tuple[str, int | None]
Points = dict[str, list[tuple[int, float]]]


# Hand-made messages that no writer would write.


def varint(number: int) -> bytes:
    """Return a protobuf varint; negative numbers take ten bytes, as for int64."""
    number &= (1 << 64) - 1
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number: int, content: int | float | bytes) -> bytes:
    """Return a protobuf field: an int as a varint, a float as a double, bytes with their length."""
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    if isinstance(content, float):
        return varint(number << 3 | 1) + struct.pack("<d", content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def simple(tag: bytes | str, value: float) -> bytes:
    """Return a Summary.Value with a simple value; its tag can be any bytes."""
    raw = tag.encode() if isinstance(tag, str) else tag
    return field(1, raw) + varint(2 << 3 | 5) + struct.pack("<f", value)


def event(*values: bytes, step: int = 0, wall_time: float = WALL_TIME, extra: bytes = b"") -> bytes:
    """Return a serialized Event with values in its summary, followed by the bytes in `extra`."""
    summary = b"".join(field(1, value) for value in values)
    return field(1, wall_time) + field(2, step) + field(5, summary) + extra


# Complete and damaged records.


def scalar(tag: str = "loss", step: int = 0, value: float | None = None) -> bytes:
    """Return a record with one scalar; its value is the step by default."""
    buffer = EventBuffer()
    buffer.scalar(tag, step if value is None else value, step, WALL_TIME)
    return buffer.getvalue()


def scalars(*steps: int) -> bytes:
    """Return records with the tag `loss` at these steps."""
    return b"".join(scalar(step=step) for step in steps)


def record(*values: bytes, step: int = 0, wall_time: float = WALL_TIME) -> bytes:
    """Return a record with serialized Summary.Value messages."""
    return frame(event(*values, step=step, wall_time=wall_time))


def corrupt(data: bytes, at: int) -> bytes:
    """Return the data with one bit of byte `at` flipped."""
    at %= len(data)
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def header(length: int) -> bytes:
    """Return the header of a record that claims a length, with a valid checksum."""
    head = struct.pack("<Q", length)
    return head + struct.pack("<I", masked_crc32c(head))


def age(path: Path) -> None:
    """Set the file's times so far back that its writer no longer counts as active."""
    old = time.time() - IDLE_SECONDS - 60
    os.utime(path, (old, old))


# Logs on disk.


def points(runs: rf.Runs, run: str) -> Points:
    """Return every scalar of a run as (step, value), by tag."""
    return {
        tag: list(zip(series.steps.tolist(), series.values.tolist(), strict=True))
        for tag, series in ((tag, runs[run][tag]) for tag in runs[run])
    }


def loss(*steps: int) -> Points:
    """Return what `points` returns for the records from `scalars`."""
    return {"loss": [(step, float(step)) for step in steps]} if steps else {}


class FaultyLog:
    """A logdir with a run `bad` made of the given bytes, next to a valid run `good`."""

    def __init__(self, folder: Path, pieces: Iterable[bytes]) -> None:
        self.folder = folder
        self.path = self.add_file(NAME, b"".join(pieces))
        (folder / "good").mkdir()
        (folder / "good" / NAME).write_bytes(scalars(0, 1, 2))
        self.runs = rf.open(folder)

    def add_file(self, name: str, content: bytes) -> Path:
        """Add another event file to the run `bad`."""
        path = self.folder / "bad" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        return path

    def append(self, *pieces: bytes) -> None:
        """Append to the file, and refresh."""
        with self.path.open("ab") as file:
            file.write(b"".join(pieces))
        self.runs.refresh()

    def overwrite(self, at: int, content: bytes) -> None:
        """Write bytes in the middle of the file, and refresh."""
        with self.path.open("r+b") as file:
            file.seek(at)
            file.write(content)
        self.runs.refresh()

    def age(self) -> None:
        """Make the file look as if it had been idle for a long time, and refresh."""
        age(self.path)
        self.runs.refresh()

    def notes(self) -> list[Note]:
        """Return the code and offset of each problem; all must belong to the run `bad`."""
        problems = self.runs.problems()
        assert set(problems["run"]) <= {"bad"}
        assert set(problems["file"]) <= {str(self.path), str(self.path.parent)}
        return [
            (row.code, None if row.offset is pd.NA else int(row.offset))
            for row in problems.itertuples()
        ]

    def check(self, expected: Points, notes: Iterable[Note] = ()) -> None:
        """Compare all results with the expected ones: values, notes, the other run, strict mode."""
        assert list(self.runs) == ["bad", "good"]
        assert points(self.runs, "bad") == expected
        assert points(self.runs, "good") == NEIGHBOUR
        assert self.notes() == list(notes)
        self.check_strict()

    def check_strict(self) -> None:
        """Check that strict mode raises the first note, or nothing if there is none."""
        problems = self.runs.problems()
        strict = rf.open(self.folder, strict=True)
        if problems.empty:
            strict.load()
            return
        with pytest.raises(rf.errors.BadLog) as raised:
            strict.load()
        first, problem = problems.iloc[0], raised.value.problem
        assert (problem.run, problem.file) == ("bad", first["file"])
        assert (problem.code, problem.offset) == self.notes()[0]
        assert str(raised.value) == f"bad/{Path(problem.file).name}: {first['message']}"
        with pytest.raises(rf.errors.BadLog):
            list(rf.open(self.folder, strict=True)["bad"])


class GrowingFile(FaultyLog):
    """A faulty log with an incomplete last record."""

    def __init__(self, folder: Path, whole: bytes, torn: bytes, cut: int) -> None:
        super().__init__(folder, [whole, torn[:cut]])
        self.rest = torn[cut:]

    def complete(self) -> None:
        """Write the rest of the torn record, and refresh."""
        self.append(self.rest)


@pytest.fixture
def faulty_log(tmp_path: Path) -> Callable[..., FaultyLog]:
    """Return a function that creates a log whose run `bad` consists of the given bytes."""
    return lambda *pieces: FaultyLog(tmp_path, pieces)


@pytest.fixture
def growing_file(tmp_path: Path) -> Callable[..., GrowingFile]:
    """Return a function that creates a log with a truncated last record, to be completed later."""
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
    """Return steps by run and tag, and notes, read by a process with a limit on extra memory."""
    done = subprocess.run(
        [sys.executable, "-c", _READER, str(folder), str(memory)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps, notes = json.loads(done.stdout)
    return steps, notes
