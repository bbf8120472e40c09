"""Stored values of one kind from many runs, decoded into the rows of a DataFrame."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from runfold.errors import FileChanged
from runfold.events.problems import Code, Problem
from runfold.tables.scalars import categories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pandas.api.extensions import ExtensionArray

    from runfold.events.file import EventFile
    from runfold.logdir.log import RunLog
    from runfold.logdir.payloads import Payloads
    from runfold.tables.table import Table

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
        detail = "it changed while it was read"
        log.note(Problem.of(Code.READ_ERROR, error.file, detail=detail))


def frame(
    rows: Sequence[Row[Any]], columns: Mapping[str, list[Any] | np.ndarray | ExtensionArray]
) -> Table:
    """A DataFrame of run, tag, step, wall_time and the columns of the kind.

    A list becomes a column of objects; an array keeps its dtype.
    """
    from runfold.tables.table import Table

    ones = [1] * len(rows)
    return Table(
        {
            "run": categories([row.run for row in rows], ones),
            "tag": categories([row.tag for row in rows], ones),
            "step": np.array([row.step for row in rows], np.int64),
            "wall_time": np.array([row.wall_time for row in rows], np.float64),
            **{
                name: objects(values) if isinstance(values, list) else values
                for name, values in columns.items()
            },
        }
    )


def objects(values: Sequence[Any]) -> np.ndarray:
    """An object array with one value an element, arrays included."""
    column = np.empty(len(values), object)
    for number, value in enumerate(values):
        column[number] = value
    return column
