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
from runfold._events.kinds import embedding
from runfold._events.problems import Code, Problem
from runfold._logdir.assemble import LazySeries, SeriesByTag
from runfold._logdir.run_log import RunLog
from runfold._pack.pack_index import raw_bytes
from runfold._pack.packed_points import NO_SEGMENTS, PackedPoints, PackSource
from runfold.errors import FileChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from runfold._core.decoder import Restart
    from runfold._logdir.bulk_read import Reader
    from runfold._logdir.config_files import ConfigFiles
    from runfold._logdir.discover import FoundRun
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.series import Series
    from runfold._pack.pack_file import Pack
    from runfold._pack.pack_index import StoredFile, StoredProblem
    from runfold._pack.packed_logdir import PackedRun
    from runfold._pack.packed_points import LazyPackedPoints


_VERSIONS = count()


class PackedColumns:
    """The content of one file, like `_events.event_file.Columns`."""

    def __init__(
        self,
        pack: Pack,
        key: tuple[int, int],
        stored: StoredFile,
        path: str,
        source: PackSource | None,
    ) -> None:
        self._pack = pack
        self._key = key
        self._path = path
        self._source = source
        self.restarts: list[Restart] = [
            (step, items, dict(counts)) for step, items, counts in stored.restarts
        ]

    @cached_property
    def scalars(self) -> PackedPoints | LazyPackedPoints:
        """The points by tag number."""
        if self._source is not None:
            return self._source.count(self._path, self._key)
        return PackedPoints(self._pack, self._pack.series.get(self._key, NO_SEGMENTS))

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
        self,
        pack: Pack,
        key: tuple[int, int],
        stored: StoredFile,
        folder: str,
        root: str,
        source: PackSource | None,
    ) -> None:
        # Unique, because a pack that has replaced another contains other files.
        self.version = next(_VERSIONS)
        self.path = os.path.join(folder, stored.name)
        self.size = stored.size
        self.columns = PackedColumns(pack, key, stored, self.path, source)
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
        cache: PointCache | None = None,
    ) -> None:
        super().__init__(run, restarts, is_strict, config_files, cache)
        self._adopt()
        self._versions = tuple(file.version for file in self.files)
        self.is_loaded = True

    def _adopt(self) -> None:
        """Use the pack in which the run was last found."""
        found = self._found
        self._pack = pack = found.pack
        self._run = run = pack.index.runs[found.number]
        self._tags = pack.tags[run.tags]  # type: ignore[assignment]
        source = None if self.cache is None else PackSource(pack, self.cache)
        self._files = [
            PackedFile(pack, (found.number, file_number), stored, found.path, found.root, source)  # type: ignore[misc]
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
        if self.cache is not None:
            return LazySeries(self.name, self.files, self.names, self.restarts)
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
