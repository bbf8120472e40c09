"""Stored values of one kind from many runs, decoded into the rows of a DataFrame."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import numpy as np

from runfold._events.problems import Code, Problem
from runfold.errors import FileChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from runfold._events.event_file import EventFile
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog

T = TypeVar("T")


@dataclass(slots=True)
class Stored:
    """One stored value: its location, and its index entry, available without reading the value."""

    log: RunLog
    payloads: Payloads
    row: int

    @property
    def file(self) -> EventFile:
        """The file that contains the value."""
        return self.log.file_of(self.payloads, self.row)

    @property
    def item(self) -> np.void:
        """The value's entry in the index of its file."""
        item: np.void = self.payloads.items[self.row]
        return item

    @property
    def record(self) -> tuple[str, int]:
        """The file and offset of the event; boxes share an event with their image."""
        return self.file.path, int(self.item["record"])

    def read(self) -> bytes:
        """Return the stored bytes."""
        return next(self.file.fetch([self.item]))

    def note(self, message: str) -> None:
        """Record a problem: the value cannot be decoded and is left out."""
        record = int(self.item["record"])
        detail = f"tag '{self.payloads.tag}': {message}"
        self.log.note(Problem.of(Code.BAD_VALUE, self.file.path, record, detail=detail))


@dataclass(slots=True)
class Row(Generic[T]):
    """A decoded value with its run, tag, step and wall time."""

    run: str
    tag: str
    step: int
    wall_time: float
    value: T


def decode_rows(
    stored: Iterable[tuple[Stored, bytes]], decode: Callable[[bytes], T]
) -> Iterator[Row[T]]:
    """Yield decoded values; a value that cannot be decoded is recorded as a problem."""
    for source, data in stored:
        try:
            value = decode(data)
        except ValueError as error:
            source.note(str(error))
            continue
        yield row_of(source, value)


def row_of(stored: Stored, value: T) -> Row[T]:
    """Return the row of a decoded value."""
    item = stored.item
    return Row(
        stored.log.name,
        stored.payloads.tag,
        int(item["step"]),
        float(item["wall_time"]),
        value,
    )


def fetched(selected: Iterable[tuple[RunLog, Payloads]]) -> Iterator[tuple[Stored, bytes]]:
    """Yield every stored value of the selected tags with its bytes."""
    for log, payloads in selected:
        for row, data in enumerate(log.fetch(payloads)):
            yield Stored(log, payloads, row), data


@contextmanager
def noting_changes(log: RunLog) -> Iterator[None]:
    """Record a problem if a file changes while it is read, instead of raising FileChanged.

    Use it to read many runs: a run that is being rewritten must not affect the others.
    """
    try:
        yield
    except FileChanged as error:
        _note_change(log, error)


def read_each_run(
    selected: Iterable[tuple[RunLog, Payloads]],
    read: Callable[[list[tuple[RunLog, Payloads]]], Iterable[T]],
) -> list[T]:
    """Call `read` with the values of each run and return the concatenated results.

    A run whose file changes while it is read is recorded as a problem and left out. Raises
    FileChanged if no run could be read.
    """
    by_run: dict[str, list[tuple[RunLog, Payloads]]] = {}
    for log, payloads in selected:
        by_run.setdefault(log.name, []).append((log, payloads))
    found: list[list[T]] = []
    changed: FileChanged | None = None
    for pairs in by_run.values():
        try:
            found.append(list(read(pairs)))
        except FileChanged as error:
            _note_change(pairs[0][0], error)
            changed = error
    if changed is not None and not found:
        raise changed
    return [value for values in found for value in values]


def _note_change(log: RunLog, error: FileChanged) -> None:
    detail = "it changed while being read"
    log.note(Problem.of(Code.READ_ERROR, error.file, detail=detail))
