"""The stored values of one tag that are not scalars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from runfold.errors import FileChanged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._events.event_file import EventFile


@dataclass(slots=True)
class Payloads:
    """The stored values of one tag that are not scalars: their positions in the run's files.

    `files` gives the index in `sources` for each value. `sources` are the run's files
    at the time of indexing, each with its number of rereads at that time.
    """

    kind: str
    tag: str
    items: NDArray[np.void]
    files: NDArray[np.int32]
    sources: list[tuple[EventFile, int]]
    hidden: int = 0

    @property
    def steps(self) -> NDArray[np.int64]:
        """The step of each value."""
        return self.items["step"]

    @property
    def wall_times(self) -> NDArray[np.float64]:
        """The wall time of each value."""
        return self.items["wall_time"]

    def source(self, number: int) -> EventFile:
        """Return one of the files. Raises FileChanged if it has been replaced since indexing."""
        file, rereads = self.sources[number]
        if file.rereads != rereads:
            raise FileChanged(file.path)
        return file

    def readable(self) -> Payloads:
        """Return the values, except those in files that could not be read recently.

        The problem with such a file has already been reported, and one lost file
        must not keep the values in the others out of a table.
        """
        lost = [number for number, (file, _) in enumerate(self.sources) if file.trouble]
        if not lost:
            return self
        return self.only(~np.isin(self.files, lost))

    def only(self, rows: NDArray[np.bool_] | slice) -> Payloads:
        """Return the values in the given rows."""
        return replace(self, items=self.items[rows], files=self.files[rows])

    def followed_by(self, other: Payloads) -> Payloads:
        """Return these values followed by others of the same kind, tag and sources."""
        return replace(
            self,
            items=np.concatenate([self.items, other.items]),
            files=np.concatenate([self.files, other.files]),
            hidden=self.hidden + other.hidden,
        )

    def __len__(self) -> int:
        return len(self.items)
