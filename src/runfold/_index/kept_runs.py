"""The runs in an index, in columns: their files, tags and statistics.

Most runs of a large sweep are plain: one file that contains only scalars, read without any
problem. Everything about them is in columns, without a Python object per run. Other runs also
have a stored state, from which their log is restored. Runs that cannot be stored are listed only.
"""

from __future__ import annotations

import json
import os
import pickle
from contextlib import closing
from enum import IntEnum
from functools import cached_property
from io import BytesIO
from itertools import pairwise
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._core.checksum import masked_crc32c
from runfold._events.event_file import MARK_BYTES
from runfold._events.opened_file import open_file
from runfold._index.array_file import DamagedIndex
from runfold._logdir.discover import FoundRun
from runfold._logdir.hparams_folders import find_families
from runfold._logdir.tree_state import is_reliable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._events.event_file import EventFile
    from runfold._events.file_state import FileState
    from runfold._index.array_file import IndexFile
    from runfold._logdir.run_log import RunLog
    from runfold._logdir.run_state import RunState

# Size, times of the last change to the content and to the file itself, inode and device.
_STATE = Struct("=qqqQQ")
STATE_WORDS = _STATE.size // 8
_pack = _STATE.pack


class Kind(IntEnum):
    """How a run is stored."""

    LISTED = 0
    PLAIN = 1
    RICH = 2


class _Check(IntEnum):
    UNKNOWN = 0
    SAME = 1
    CHANGED = 2


def pack_state(state: FileState | None) -> bytes:
    """Return a file's state in the form that `KeptRuns` compares; zeros equal no file's."""
    if state is None or not state.is_settled:
        return bytes(_STATE.size)
    # A state begins with these fields, in this order.
    return _pack(*state[:STATE_WORDS])


def mark_of(offset: int, head: bytes, before: bytes) -> tuple[int, int]:
    """Return the number of bytes that were decoded, and a checksum of the first and last ones."""
    size = offset if offset < MARK_BYTES else MARK_BYTES
    if len(head) != size or len(before) != size:
        return NO_MARK
    return offset, masked_crc32c(head + before)


_INTEGERS = tuple(
    f"values {name}" for name in ("count", "first_step", "last_step", "lowest_step", "highest_step")
)

# The mark of a run whose content is not compared.
NO_MARK = (-1, 0)


class KeptRuns:
    """The runs in an index. A run is checked against its files before it is used first.

    Attributes:
        facts: what the index contains about the logdir as a whole.
        names: the names of all runs, in TensorBoard's order; the number of a run is its row.
        folders: the folder of each run.
        files: the event files of all runs, one run after the other.
        ends: the number of files up to and including those of each run.
        counts: the number of visible, hidden and stored values of each run.
        points: the number of visible values of each run.
        hidden: the number of values that the restart policy hides.
        stored: the number of values in the files of each run.
        times: the wall times of the first and last event.
    """

    def __init__(self, source: IndexFile) -> None:
        """Raises DamagedIndex."""
        self._source = source
        self.facts = source.facts
        self.names = source.texts("names")
        self.folders = source.texts("folders")
        self.files = source.texts("files")
        self.ends = source.array("ends")
        self._states = source.array("states")
        self.kinds = source.array("kinds")
        self.counts = source.array("counts")
        self.points, self.hidden, self.stored = self.counts.T
        self.times = source.array("times")
        self.marks = source.array("marks")
        count = len(self.names)
        if not (
            count == len(self.folders) == len(self.ends) == len(self.kinds) == len(self.counts)
            and count == len(self.times) == len(self.marks)
            and len(self.files) == len(self._states) == (self.ends[-1] if count else 0)
        ):
            raise DamagedIndex(source.path)
        # Whether every run has one file, in which case rows are also the numbers of files.
        self._is_single = count == len(self.files) and bool((np.diff(self.ends) == 1).all())
        self._checks = np.full(count, _Check.UNKNOWN, np.uint8)
        self._checks[self.kinds == Kind.LISTED] = _Check.CHANGED
        self._is_reliable: bool | None = None

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def numbers_by_name(self) -> dict[str, int]:
        """The row of each run by name."""
        return {name: row for row, name in enumerate(self.names)}

    @cached_property
    def owners(self) -> dict[str, str]:
        """The run of each folder that is part of a run, by the folder's name."""
        owners: dict[str, str] = self.facts["owners"]
        return owners

    @cached_property
    def members(self) -> dict[str, list[int]]:
        """The rows of all folders of each run that consists of several, its own first."""
        found: dict[str, list[int]] = {}
        for part, run in self.owners.items():
            own = found.setdefault(run, [self.numbers_by_name[run]])
            own.append(self.numbers_by_name[part])
        return {run: [rows[0], *sorted(rows[1:])] for run, rows in found.items()}

    @cached_property
    def families(self) -> dict[str, list[str]]:
        """The folders that may be part of each run."""
        return find_families(self.numbers_by_name)

    @cached_property
    def configs(self) -> dict[int, str]:
        """The projector configuration of each run that has one."""
        return {int(row): path for row, path in self.facts["configs"].items()}

    def span(self, row: int) -> tuple[int, int]:
        """Return the numbers of a run's first file and of the one after its last."""
        return (int(self.ends[row - 1]) if row else 0), int(self.ends[row])

    def found(self, row: int) -> FoundRun:
        """Return a run as the search found it."""
        start, end = self.span(row)
        return FoundRun(
            self.names[row], self.folders[row], self.files[start:end], self.configs.get(row)
        )

    def state(self, number: int) -> NDArray[Any]:
        """Return the stored state of a file."""
        state: NDArray[Any] = self._states[number]
        return state

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """The size of each run's files in bytes."""
        totals = np.concatenate([[0], np.cumsum(self._states[:, 0])])
        sizes: NDArray[np.int64] = np.diff(totals[self.ends], prepend=0)
        return sizes

    # Checks

    def use(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of these runs are as stored, and treat them so until `release`."""
        unknown = rows[self._checks[rows] == _Check.UNKNOWN]
        if len(unknown):
            if not self._has_reliable_files():
                self._checks[:] = _Check.CHANGED
            else:
                is_same = self._compare(unknown)
                self._checks[unknown] = np.where(is_same, _Check.SAME, _Check.CHANGED)
        same: NDArray[np.bool_] = self._checks[rows] == _Check.SAME
        return same

    def is_released(self, row: int) -> bool:
        """Return whether a run can no longer be used."""
        return bool(self._checks[row] == _Check.CHANGED)

    def replaced_files(self, row: int, restored: RunLog | None) -> list[str]:
        """Return the files of a run that no longer begin with the bytes that were decoded.

        `restored` is the log of a run that is not plain, restored from its state.
        """
        if restored is not None:
            return [file.path for file in restored.all_files if _was_replaced(file)]
        is_plain = self.kinds[row] == Kind.PLAIN
        return [self.files[self.span(row)[0]]] if is_plain and self.was_replaced(row) else []

    def used(self) -> NDArray[np.intp]:
        """Return the rows of the runs in use."""
        return np.flatnonzero(self._checks == _Check.SAME)

    def release(self, row: int) -> None:
        """Never use a run again."""
        self._checks[row] = _Check.CHANGED

    def are_same(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which of these runs still have the stored files."""
        return self._compare(rows)

    def is_used(self, row: int) -> bool:
        """Return whether a run is in use."""
        return bool(self._checks[row] == _Check.SAME)

    def was_replaced(self, row: int) -> bool:
        """Return whether the file of a plain run no longer begins with the bytes decoded."""
        offset, checksum = self.marks[row].tolist()
        path = self.files[self.span(row)[0]]
        try:
            with closing(open_file(path, None)) as file:
                status = file.status()
                if status.st_size < offset:
                    return True
                size = min(max(offset, 0), MARK_BYTES)
                ends = file.pread(size, 0) + file.pread(size, offset - size)
        except OSError:
            return False
        _, _, _, inode, device = _STATE.unpack(self._states[self.span(row)[0]].tobytes())
        return (inode, device) != (status.st_ino, status.st_dev) or (
            offset > 0 and masked_crc32c(ends) != checksum
        )

    def _has_reliable_files(self) -> bool:
        """Return whether a file with the same times certainly has the same content."""
        if self._is_reliable is None:
            devices = self._states[:, STATE_WORDS - 1]
            _, firsts = np.unique(devices, return_index=True)
            self._is_reliable = all(
                is_reliable(self.files[number]) for number in firsts if devices[number]
            )
        return self._is_reliable

    def _compare(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        if len(rows) == len(self):
            paths, numbers = self.files, None
        elif self._is_single:
            paths, numbers = [self.files[row] for row in rows.tolist()], rows
        else:
            spans = [self.span(row) for row in rows.tolist()]
            paths = [path for start, end in spans for path in self.files[start:end]]
            numbers = np.array([number for span in spans for number in range(*span)], np.intp)
        known = self._states if numbers is None else self._states[numbers]
        current = np.frombuffer(_read_states(paths), np.int64).reshape(-1, STATE_WORDS)
        same: NDArray[np.bool_] = (current == known).all(axis=1)
        if not self._is_single:
            counts = np.diff(self.ends, prepend=0)[rows]
            has_changed = np.zeros(len(rows), np.bool_)
            has_changed[np.repeat(np.arange(len(rows)), counts)[~same]] = True
            same = ~has_changed
        return same

    # Tags and statistics

    @cached_property
    def tags(self) -> list[str]:
        """The scalar tags in any stored run."""
        tags: list[str] = json.loads(self._source.content("tags"))
        return tags

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each scalar tag."""
        return {tag: number for number, tag in enumerate(self.tags)}

    @cached_property
    def layouts(self) -> NDArray[np.int32]:
        """The number of each run's list of tags in `layout_tags`."""
        return self._source.array("layouts")

    @cached_property
    def layout_tags(self) -> list[list[str]]:
        """The distinct lists of scalar tags, each in the order of the run's file."""
        ends = [0, *self._source.array("layout_ends").tolist()]
        numbers = self._source.array("layout_tags").tolist()
        return [[self.tags[number] for number in numbers[a:b]] for a, b in pairwise(ends)]

    def entries(self, tag: str) -> NDArray[np.int32]:
        """Return the rows of the stored runs that have points of a tag, in increasing order."""
        return self._entries("rows", tag)

    def values(self, tag: str, statistic: str) -> NDArray[Any]:
        """Return a statistic for each of the `entries` of a tag."""
        return self._entries(f"values {statistic}", tag)

    def _entries(self, name: str, tag: str) -> NDArray[Any]:
        if name not in self._source:
            # No stored run has points.
            return np.empty(0, np.int64 if name in _INTEGERS else np.float64)
        number = self.numbers.get(tag)
        array = self._source.array(name)
        if number is None:
            return array[:0]
        ends = self._source.array("tag_ends")
        return array[int(ends[number - 1]) if number else 0 : int(ends[number])]

    # States of runs that are not plain

    def run_state(self, row: int) -> RunState | None:
        """Return the stored state of a run that is not plain."""
        return load_state(self.stored_state(row))

    def stored_state(self, row: int) -> bytes:
        """Return the bytes of a run's state; none if it is plain."""
        ends = self._source.array("state_ends")
        start, end = (int(ends[row - 1]) if row else 0), int(ends[row])
        return self._source.array("states of runs")[start:end].tobytes()


def _was_replaced(file: EventFile) -> bool:
    try:
        with closing(file.open()) as opened:
            return file.was_replaced(opened.status(), opened)
    except OSError:
        return False


def _read_states(paths: Sequence[str]) -> bytes:
    try:
        return b"".join(
            [
                _pack(s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev)
                for s in map(os.stat, paths)
            ]
        )
    except OSError:
        return b"".join(map(_read_state, paths))


def _read_state(path: str) -> bytes:
    try:
        s = os.stat(path)
    except OSError:
        # Equal to no state, not even to that of a file that was read too soon after a change.
        return b"\xff" * _STATE.size
    return _pack(s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino, s.st_dev)


_SAFE = {
    ("runfold._logdir.run_state", "RunState"),
    ("runfold._events.read_state", "ReadState"),
    ("runfold._events.file_state", "FileState"),
    ("runfold._events.problems", "Problem"),
    ("runfold._events.problems", "Code"),
    ("numpy", "dtype"),
    ("numpy", "ndarray"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.numeric", "_frombuffer"),
    ("numpy.core.numeric", "_frombuffer"),
}


class _Unpickler(pickle.Unpickler):
    """Creates objects of a few classes only. Creating these executes nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _SAFE:
            raise pickle.UnpicklingError(f"{module}.{name} is not expected in an index")
        return super().find_class(module, name)


def dump_state(state: RunState) -> bytes:
    """Return a state as bytes."""
    return pickle.dumps(state, protocol=5)


def load_state(data: bytes) -> RunState | None:
    """Return the state that `dump_state` wrote, or None for other bytes."""
    try:
        state: RunState = _Unpickler(BytesIO(data)).load()
    except Exception:  # any bytes can raise any exception
        return None
    return state
