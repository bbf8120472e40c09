"""The items of one run's event files, in the order in which they were read."""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runfold._conventions import is_event_file
from runfold._core.decoder import NO_ITEMS
from runfold._core.event import Form
from runfold._core.tag_table import Tags
from runfold._events.event_file import EventFile
from runfold._humanize import file_order
from runfold._logdir.bulk_read import Reader
from runfold.errors import FileChanged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._events.problems import Problem

# TensorBoard's own logger, so that settings for its messages also apply to these.
logger = logging.getLogger("tensorboard")


@dataclass(frozen=True, slots=True)
class Stretch:
    """The items from one read of a file, starting at number `start`."""

    file: EventFile
    rereads: int
    start: int
    items: NDArray[np.void]
    restarts: list[tuple[int, int]]


class Journal:
    """The items of a run's event files, and their positions. Items are only ever added.

    Problems in a file are logged once, and the affected data is skipped. If a file has
    been replaced, it is read again, all items are renumbered, and `generation` increases.
    """

    def __init__(self, path: str) -> None:
        self.tags = Tags()
        self.generation = 0
        self.items: NDArray[np.void] = NO_ITEMS
        # (number of earlier items, step)
        self.restarts: list[tuple[int, int]] = []
        self._path = path
        self._is_file = is_event_file(path) and not os.path.isdir(path)
        self._files: dict[str, EventFile] = {}
        self._stretches: list[Stretch] = []
        self._reported: set[Problem] = set()
        if self._is_file and not os.path.exists(path):
            from tensorboard.compat import tf

            text = f"{path} does not point to valid Events file"
            raise tf.errors.NotFoundError(None, None, text)

    def read(self, reader: Reader | None = None) -> None:
        """Read new data. Raises DirectoryDeletedError if the folder has been deleted.

        To read many journals in a row, pass the same reader to all of them.
        """
        for path in self._list_files():
            if path not in self._files:
                self._files[path] = EventFile(path, self.tags, is_in_order=True)
        files = sorted(self._files.values(), key=lambda file: file_order(file.path))
        reader = Reader() if reader is None else reader
        for file in files:
            reader.read(file)
        reader.finish()
        self._forget_replaced()
        new = [self._stretch(file) for file in files if file.columns]
        if new:
            self._lay_out([*self._stretches, *new])
        for file in files:
            self._log_problems(file)

    @property
    def starts(self) -> list[int]:
        """The number of the first item of each stretch."""
        return [stretch.start for stretch in self._stretches]

    def fetch(self, rows: Sequence[int] | NDArray[np.intp]) -> Iterator[bytes]:
        """Yield the stored bytes of items. Raises FileChanged if the file has changed."""
        numbers = np.asarray(rows, np.intp)
        owners = np.searchsorted(self.starts, numbers, side="right") - 1
        ends = np.flatnonzero(np.diff(owners, append=-1)) + 1
        begin = 0
        for end in ends.tolist():
            stretch = self._stretches[owners[begin]]
            if stretch.file.rereads != stretch.rereads:
                raise FileChanged(stretch.file.path)
            yield from stretch.file.fetch(self.items.take(numbers[begin:end]))
            begin = end

    def _list_files(self) -> list[str]:
        if self._is_file:
            return [self._path]
        try:
            names = os.listdir(self._path)
        except FileNotFoundError:
            from tensorboard.backend.event_processing.directory_watcher import DirectoryDeletedError

            text = f"Directory {self._path} has been permanently deleted"
            raise DirectoryDeletedError(text) from None
        except NotADirectoryError:
            return []
        return [os.path.join(self._path, name) for name in names if is_event_file(name)]

    def _stretch(self, file: EventFile) -> Stretch:
        columns = file.take()
        restarts = [(before, step) for step, before, _ in columns.restarts]
        return Stretch(file, file.rereads, 0, columns.items, restarts)

    def _forget_replaced(self) -> None:
        kept = [each for each in self._stretches if each.file.rereads == each.rereads]
        if len(kept) < len(self._stretches):
            self.generation += 1
            self._lay_out(kept)

    def _lay_out(self, stretches: list[Stretch]) -> None:
        """Put the items of all stretches into one array."""
        parts = [stretch.items for stretch in stretches]
        self.items = parts[0] if len(parts) == 1 else np.concatenate([NO_ITEMS, *parts])
        self.restarts = []
        self._stretches = []
        start = 0
        for old in stretches:
            part = self.items[start : start + len(old.items)]
            self._stretches.append(Stretch(old.file, old.rereads, start, part, old.restarts))
            self.restarts += [(start + before, step) for before, step in old.restarts]
            start += len(part)

    def _log_problems(self, file: EventFile) -> None:
        for problem in file.problems(self.tags.names()):
            if problem not in self._reported:
                self._reported.add(problem)
                logger.warning("%s", problem)

    def texts(self, form: Form, end: int) -> list[tuple[int, bytes]]:
        """Return the rows of a form among the first `end` items, and their bytes."""
        rows = np.flatnonzero(self.items["form"][:end] == form)
        try:
            return list(zip(rows.tolist(), self.fetch(rows), strict=True))
        except FileChanged as error:
            logger.warning("%s", error)
            return []
