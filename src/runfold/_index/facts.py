"""What is known about chosen runs without reading their points."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._index.kept_runs import KeptRuns
    from runfold._logdir.run_log import RunLog


class LogSource(Protocol):
    """The logdir that the runs belong to."""

    @property
    def logs(self) -> Mapping[str, RunLog]: ...
    @property
    def has_config_files(self) -> bool: ...
    def load_points(self, names: Sequence[str]) -> list[RunLog]: ...
    def find_made(self, name: str) -> RunLog | None: ...


class Facts:
    """Chosen runs of a logdir, row by row: stored ones, and others whose logs have been read.

    Attributes:
        names: the names of the runs.
        kept: the stored runs.
        rows: for each run, its row in `kept`, or -1 if it is one of the others.
        logs: the logs of the others and of stored runs that are not plain, in order. Those of
            stored runs have no points in memory.
        has_config_files: whether there are configuration files, from which any run can have
            settings.
    """

    def __init__(
        self,
        names: Sequence[str],
        kept: KeptRuns,
        rows: NDArray[np.intp],
        logs: dict[int, RunLog],
        logdir: LogSource,
    ) -> None:
        self.names = names
        self.kept = kept
        self.rows = rows
        self.logs = logs
        self._logdir = logdir
        self.has_config_files = logdir.has_config_files
        self._is_stored = rows >= 0

    def __len__(self) -> int:
        return len(self.names)

    def load(self) -> list[RunLog]:
        """Read the points of all runs, and return their logs."""
        return self._logdir.load_points(self.names)

    def log(self, row: int) -> RunLog:
        """Return the log of a run; that of a plain run has not been read."""
        log = self.logs.get(row)
        return self._logdir.logs[self.names[row]] if log is None else log

    @property
    def others(self) -> Iterator[tuple[int, RunLog]]:
        """The runs that are not stored: the row and the log of each."""
        return ((row, log) for row, log in self.logs.items() if self.rows[row] < 0)

    def noted(self) -> Iterator[tuple[int, RunLog]]:
        """The runs that may have problems: the row and the log of each."""
        for row, name in enumerate(self.names):
            log = self.logs.get(row) or self._logdir.find_made(name)
            if log is not None:
                yield row, log

    @property
    def folders(self) -> list[str]:
        """The folder of each run."""
        kept = self.kept.folders
        found = [kept[row] if row >= 0 else "" for row in self.rows.tolist()]
        for row, log in self.others:
            found[row] = log.path
        return found

    def sizes(self, read: Callable[[RunLog], int]) -> NDArray[np.int64]:
        """Return the size of each run's files in bytes, using `read` for runs with logs."""
        return self._column(self.kept.sizes, read, self.logs.items())

    def file_counts(self, read: Callable[[RunLog], int]) -> NDArray[np.int64]:
        """Return the number of each run's files, using `read` for runs with logs."""
        return self._column(np.diff(self.kept.ends, prepend=0), read, self.logs.items())

    def points(self, read: Callable[[RunLog], int]) -> NDArray[np.int64]:
        """Return the number of visible values in each run, using `read` for the others."""
        return self._column(self.kept.points, read)

    def hidden(self, read: Callable[[RunLog], int]) -> NDArray[np.int64]:
        """Return the number of hidden values in each run, using `read` for the others."""
        return self._column(self.kept.hidden, read)

    def times(self, read: Callable[[RunLog], tuple[float, float]]) -> NDArray[np.float64]:
        """Return the wall times of each run's first and last event, using `read` for the others."""
        return self._column(self.kept.times, read)

    def _column(
        self,
        stored: NDArray[Any],
        read: Callable[[RunLog], Any],
        logs: Iterable[tuple[int, RunLog]] | None = None,
    ) -> NDArray[Any]:
        found = np.empty((len(self), *stored.shape[1:]), stored.dtype)
        found[self._is_stored] = stored[self.rows[self._is_stored]]
        for row, log in self.others if logs is None else logs:
            found[row] = read(log)
        return found

    def layout(self, row: int) -> int:
        """Return the number of a stored run's list of tags."""
        return int(self.kept.layouts[self.rows[row]])

    def tag_lists(self) -> Iterator[tuple[int, Sequence[str]]]:
        """Yield the row and the scalar tags of runs, in order of rows.

        Of the plain runs with the same tags, there is only the first.
        """
        kept = self.kept
        is_plain = self._is_stored.copy()
        is_plain[list(self.logs)] = False
        plain = np.flatnonzero(is_plain)
        layouts, firsts = np.unique(kept.layouts[self.rows[plain]], return_index=True)
        lists: list[tuple[int, Sequence[str]]] = [
            (int(plain[first]), kept.layout_tags[layout])
            for layout, first in zip(layouts.tolist(), firsts.tolist(), strict=True)
        ]
        lists += [(row, self.tags_of(row)) for row in self.logs]
        return iter(sorted(lists, key=lambda entry: entry[0]))

    def distinct(self) -> Iterator[RunLog | Sequence[str]]:
        """Yield what decides which tags the runs have, in order of rows.

        These are the logs of runs that may contain more than scalars, and the distinct lists of
        tags of the others.
        """
        logs = self.logs
        return (logs.get(row, tags) for row, tags in self.tag_lists())

    def tags_of(self, row: int) -> Sequence[str]:
        """Return the scalar tags of a run, in the order of its files."""
        number = int(self.rows[row])
        if number < 0:
            return list(self.logs[row].scalars)
        return self.kept.layout_tags[int(self.kept.layouts[number])]

    @cached_property
    def _positions(self) -> NDArray[np.intp] | None:
        """The position of each stored run among the chosen ones, or -1; None if they are equal."""
        if len(self) == len(self.kept) and bool((self.rows == np.arange(len(self))).all()):
            return None
        positions = np.full(len(self.kept), -1, np.intp)
        positions[self.rows[self._is_stored]] = np.flatnonzero(self._is_stored)
        return positions

    def find(self, tag: str, statistic: str) -> tuple[NDArray[np.intp], NDArray[Any]]:
        """Return the rows of the stored runs with points of a tag, and a statistic of each."""
        entries = self.kept.entries(tag)
        values = self.kept.values(tag, statistic)
        if self._positions is None:
            return entries.astype(np.intp), values
        rows = self._positions[entries]
        is_chosen = rows >= 0
        return rows[is_chosen], values[is_chosen]
