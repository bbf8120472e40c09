"""Everything in the event files of one run, in the order in which it was read."""

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

# The logger of TensorBoard itself: who silences or records its notes means these as well.
logger = logging.getLogger("tensorboard")


@dataclass(frozen=True, slots=True)
class Stretch:
    """What one reading of a file brought: the items from number `start` on."""

    file: EventFile
    rereads: int
    start: int
    items: NDArray[np.void]
    restarts: list[tuple[int, int]]


class Journal:
    """The items of a run's event files, which only get more, and where they lie.

    What is wrong in a file is logged once and left out. A file that was replaced
    by another of its name is read anew, and `generation` tells of it: then the
    items are other ones than before.
    """

    def __init__(self, path: str) -> None:
        self.tags = Tags()
        self.generation = 0
        self.items: NDArray[np.void] = NO_ITEMS
        # (how many items came before it, step)
        self.restarts: list[tuple[int, int]] = []
        self._path = path
        self._is_file = is_event_file(path) and not os.path.isdir(path)
        self._files: dict[str, EventFile] = {}
        self._stretches: list[Stretch] = []
        self._noted: set[Problem] = set()
        if self._is_file and not os.path.exists(path):
            from tensorboard.compat import tf

            text = f"{path} does not point to valid Events file"
            raise tf.errors.NotFoundError(None, None, text)

    def read(self, reader: Reader | None = None) -> None:
        """Read what is new on disk. Raises DirectoryDeletedError where the folder is gone.

        Who reads many journals in a row gives the same reader to all of them.
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
        """The number of the first item of each stretch that was read of a file."""
        return [stretch.start for stretch in self._stretches]

    def fetch(self, rows: Sequence[int] | NDArray[np.intp]) -> Iterator[bytes]:
        """Yield the stored bytes of items. Raises FileChanged if they are there no more."""
        numbers = np.asarray(rows, np.intp)
        places = np.searchsorted(self.starts, numbers, side="right") - 1
        ends = np.flatnonzero(np.diff(places, append=-1)) + 1
        begin = 0
        for end in ends.tolist():
            stretch = self._stretches[places[begin]]
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
        kept = [one for one in self._stretches if one.file.rereads == one.rereads]
        if len(kept) < len(self._stretches):
            self.generation += 1
            self._lay_out(kept)

    def _lay_out(self, stretches: list[Stretch]) -> None:
        """Put the items of all stretches into one array, in which each has its part."""
        parts = [stretch.items for stretch in stretches]
        self.items = parts[0] if len(parts) == 1 else np.concatenate([NO_ITEMS, *parts])
        self.restarts = []
        self._stretches = []
        start = 0
        for one in stretches:
            part = self.items[start : start + len(one.items)]
            self._stretches.append(Stretch(one.file, one.rereads, start, part, one.restarts))
            self.restarts += [(start + before, step) for before, step in one.restarts]
            start += len(part)

    def _log_problems(self, file: EventFile) -> None:
        for problem in file.problems(self.tags.names()):
            if problem not in self._noted:
                self._noted.add(problem)
                logger.warning("%s", problem)

    def texts(self, form: Form, end: int) -> list[tuple[int, bytes]]:
        """Where the items of a form lie among the first `end`, and their bytes."""
        rows = np.flatnonzero(self.items["form"][:end] == form)
        try:
            return list(zip(rows.tolist(), self.fetch(rows), strict=True))
        except FileChanged as error:
            logger.warning("%s", error)
            return []
