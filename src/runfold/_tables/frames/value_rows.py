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
    """One stored value: where it lies, and what is known of it without reading it."""

    log: RunLog
    payloads: Payloads
    row: int

    @property
    def file(self) -> EventFile:
        """The file that holds the value."""
        return self.log.file_of(self.payloads, self.row)

    @property
    def item(self) -> np.void:
        """Its entry in the index of the file."""
        item: np.void = self.payloads.items[self.row]
        return item

    @property
    def record(self) -> tuple[str, int]:
        """The event that holds the value, by file and offset: boxes are in one with their image."""
        return self.file.path, int(self.item["record"])

    def read(self) -> bytes:
        """The stored bytes."""
        return next(self.file.fetch([self.item]))

    def note(self, message: str) -> None:
        """Note that the value cannot be decoded; it is left out."""
        record = int(self.item["record"])
        detail = f"tag '{self.payloads.tag}': {message}"
        self.log.note(Problem.of(Code.BAD_VALUE, self.file.path, record, detail=detail))


@dataclass(slots=True)
class Row(Generic[T]):
    """A decoded value and where it comes from."""

    run: str
    tag: str
    step: int
    wall_time: float
    value: T


def decode_rows(
    stored: Iterable[tuple[Stored, bytes]], decode: Callable[[bytes], T]
) -> Iterator[Row[T]]:
    """Decode values one by one; one that does not decode is noted and left out."""
    for place, data in stored:
        try:
            value = decode(data)
        except ValueError as error:
            place.note(str(error))
            continue
        yield row_of(place, value)


def row_of(place: Stored, value: T) -> Row[T]:
    """A row for a value that was decoded from a place."""
    item = place.item
    return Row(
        place.log.name,
        place.payloads.tag,
        int(item["step"]),
        float(item["wall_time"]),
        value,
    )


def fetched(selected: Iterable[tuple[RunLog, Payloads]]) -> Iterator[tuple[Stored, bytes]]:
    """Every stored value of the selected tags with its bytes."""
    for log, payloads in selected:
        for row, data in enumerate(log.fetch(payloads)):
            yield Stored(log, payloads, row), data


@contextmanager
def noting_changes(log: RunLog) -> Iterator[None]:
    """Note a file of the run that changed while it was read, instead of raising FileChanged.

    For what reads many runs at once: one that is being rewritten must not cost the others.
    """
    try:
        yield
    except FileChanged as error:
        _note_change(log, error)


def read_each_run(
    selected: Iterable[tuple[RunLog, Payloads]],
    read: Callable[[list[tuple[RunLog, Payloads]]], Iterable[T]],
) -> list[T]:
    """Return what `read` gives for the values of each run, in the order of the runs.

    A run with a file that changed while it was read is noted and left out. Raises
    FileChanged if that leaves no run.
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
    detail = "it changed while it was read"
    log.note(Problem.of(Code.READ_ERROR, error.file, detail=detail))
