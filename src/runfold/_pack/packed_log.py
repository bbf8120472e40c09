"""The logs and event files of runs in a pack."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import numpy as np

from runfold._core.decoder import NO_ITEMS
from runfold._events.event_file import join_points
from runfold._events.kinds import embedding
from runfold._events.problems import Code, Problem
from runfold._logdir.assemble import SeriesByTag
from runfold._logdir.run_log import RunLog
from runfold._pack.pack_index import raw_bytes
from runfold.errors import FileChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from runfold._core.decoder import Restart
    from runfold._core.scalar_columns import Points
    from runfold._logdir.bulk_read import Reader
    from runfold._logdir.config_files import ConfigFiles
    from runfold._logdir.discover import FoundRun
    from runfold._logdir.series import Series
    from runfold._pack.pack_file import Pack
    from runfold._pack.pack_index import StoredFile, StoredProblem
    from runfold._pack.packed_logdir import PackedRun


_VERSIONS = count()
_NO_SEGMENTS: NDArray[np.int32] = np.empty(0, np.int32)


class PackedPoints(Mapping[int, "Points"]):
    """The points of each scalar tag in one file, decoded on access.

    `segments` are the numbers of the file's segments in the pack, in tag order.
    """

    def __init__(self, pack: Pack, segments: NDArray[np.int32]) -> None:
        self._pack = pack
        self._segments = segments
        self._tags = pack.index.segments["tag"][segments]
        # The index of each tag's first segment.
        self._first = np.flatnonzero(np.diff(self._tags, prepend=-1))

    def __getitem__(self, tag: int) -> Points:
        first, end = self._tags.searchsorted((tag, tag + 1)).tolist()
        pieces = [self._pack.points(segment) for segment in self._segments[first:end].tolist()]
        if not pieces:
            raise KeyError(tag)
        return pieces[0] if len(pieces) == 1 else join_points(pieces)

    def __contains__(self, tag: object) -> bool:
        if not isinstance(tag, int):
            return False
        index = self._tags.searchsorted(tag)
        return bool(index < len(self._tags) and self._tags[index] == tag)

    def __iter__(self) -> Iterator[int]:
        return (int(tag) for tag in self._tags[self._first])

    def __len__(self) -> int:
        return len(self._first)

    def counts(self) -> dict[int, int]:
        """Return the number of points per tag."""
        counts = self._pack.index.segments["count"][self._segments]
        sums = np.add.reduceat(counts, self._first) if len(counts) else counts
        return dict(zip(self, sums.tolist(), strict=True))

    @property
    def total(self) -> int:
        """The total number of points."""
        return int(self._pack.index.segments["count"][self._segments].sum())


class PackedColumns:
    """The content of one file, like `_events.event_file.Columns`."""

    def __init__(self, pack: Pack, key: tuple[int, int], stored: StoredFile) -> None:
        self._pack = pack
        self._key = key
        self.restarts: list[Restart] = [
            (step, items, dict(counts)) for step, items, counts in stored.restarts
        ]

    @cached_property
    def scalars(self) -> PackedPoints:
        """The points by tag number."""
        return PackedPoints(self._pack, self._pack.series.get(self._key, _NO_SEGMENTS))

    @property
    def items(self) -> NDArray[np.void]:
        """The values that are not scalars."""
        return self._pack.items.get(self._key, NO_ITEMS)

    def counts(self) -> dict[int, int]:
        """Return the number of points per tag."""
        return self.scalars.counts()


class PackedFile:
    """An event file in a pack, with the interface of `_events.event_file.EventFile`."""

    trouble = None
    rereads = 0

    def __init__(
        self, pack: Pack, key: tuple[int, int], stored: StoredFile, folder: str, root: str
    ) -> None:
        # Unique, because a pack that has replaced another contains other files.
        self.version = next(_VERSIONS)
        self.path = os.path.join(folder, stored.name)
        self.size = stored.size
        self.columns = PackedColumns(pack, key, stored)
        self.decoder = SimpleNamespace(
            events=stored.events,
            first_wall_time=stored.first_wall_time,
            last_wall_time=stored.last_wall_time,
            offset=stored.size,
        )
        self._pack = pack
        self._stored = stored
        self._root = root

    @property
    def points(self) -> int:
        """The number of values of any kind."""
        total = self.columns.scalars.total
        # A refresh counts values before it opens the pack that has replaced this one.
        with suppress(FileChanged):
            total += len(self.columns.items)
        return total

    def measure(self) -> int:
        """Return the size of the file."""
        return self.size

    def problems(self, tag_names: Sequence[str]) -> Iterator[Problem]:
        """Yield the problems that the file had when it was packed."""
        for problem in self._stored.problems:
            yield restore_problem(problem, self._root)

    def fetch(self, items: Iterable[np.void]) -> Iterator[bytes]:
        """Yield the bytes of values."""
        for item in items:
            yield self._pack.payload(int(item["start"]))

    def fetch_head(self, items: Iterable[np.void], size: int) -> Iterator[bytes]:
        """Yield at most the first `size` bytes of each value."""
        for item in items:
            yield self._pack.payload(int(item["start"]))[:size]


class PackedSeries(SeriesByTag):
    """The scalar series of a run by tag, each decoded once."""

    def __init__(self, log: PackedLog) -> None:
        super().__init__(log.name, log.files, log.names, log.restarts)
        self._made: dict[str, Series] = {}

    def __getitem__(self, tag: str) -> Series:
        made = self._made.get(tag)
        if made is None:
            made = self._made[tag] = super().__getitem__(tag)
        return made


class PackedLog(RunLog):
    """The log of one run in a pack; nothing is read before it is needed."""

    __slots__ = ("_found", "_pack", "_run")

    def __init__(
        self,
        run: PackedRun,
        restarts: str,
        is_strict: bool,
        config_files: ConfigFiles | None = None,
    ) -> None:
        super().__init__(run, restarts, is_strict, config_files)
        self._adopt()
        self._versions = tuple(file.version for file in self.files)
        self.is_loaded = True

    def _adopt(self) -> None:
        """Use the pack in which the run was last found."""
        found = self._found
        self._pack = pack = found.pack
        self._run = run = pack.index.runs[found.number]
        self._tags = pack.tags[run.tags]  # type: ignore[assignment]
        self._files = [
            PackedFile(pack, (found.number, file_number), stored, found.path, found.root)  # type: ignore[misc]
            for file_number, stored in enumerate(run.files)
        ]

    def update(self, run: FoundRun) -> None:
        """Store the pack that now contains the run: a different one if the pack was replaced."""
        self._found = cast("PackedRun", run)
        self.config = run.config

    def read(self, reader: Reader) -> None:
        """Switch to the pack in which the run was last found, if the old one has been replaced."""
        if self._found.pack is not self._pack:
            for file in self.files:
                file.rereads += 1
            self._adopt()
            self._names, self._numbers = [], {}
            self.late_problems, self.late_unknown = {}, {}
        for part in self.parts:
            part.read(reader)

    def _assemble_scalars(self) -> Mapping[str, Series]:
        return PackedSeries(self)

    def read_config(self) -> list[embedding.StoredEmbedding]:
        """Return the embeddings of the projector configuration; their files are not packed."""
        config = self._run.config
        return [] if config is None else embedding.parse_stored(raw_bytes(config), Path(self.path))

    @property
    def last_sign(self) -> float | None:
        """The time of the run's last heartbeat or write before it was packed."""
        return self._run.last_sign


def restore_problem(stored: StoredProblem, path: str) -> Problem:
    """Return a stored problem, with the pack's path in place of the logdir."""
    code, message, file, offset = stored
    known = Code(code) if code in {*Code} else Code.READ_ERROR
    return Problem(known, message, os.path.join(path, file), offset)
