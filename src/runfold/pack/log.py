"""What stands for a run's log, and for its event files, when they are in a pack."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from runfold.core.decoder import NO_ITEMS
from runfold.errors import FileChanged
from runfold.events.file import join_points
from runfold.events.kinds import embedding
from runfold.events.problems import Code, Problem
from runfold.logdir.assemble import SeriesByTag
from runfold.logdir.log import RunLog
from runfold.pack.index import raw_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from runfold.core.decoder import Restart
    from runfold.core.scalars import Points
    from runfold.logdir.discover import FoundRun
    from runfold.logdir.read import Reader
    from runfold.logdir.series import Series
    from runfold.pack.index import StoredFile, StoredProblem
    from runfold.pack.logdir import PackedRun
    from runfold.pack.source import Pack


_VERSIONS = count()


class PackedPoints(Mapping[int, "Points"]):
    """The points of each scalar tag in one file, decoded when asked for."""

    def __init__(self, pack: Pack, segments: dict[int, list[int]]) -> None:
        self._pack = pack
        self._segments = segments

    def __getitem__(self, tag: int) -> Points:
        pieces = [self._pack.points(segment) for segment in self._segments[tag]]
        return pieces[0] if len(pieces) == 1 else join_points(pieces)

    def __iter__(self) -> Iterator[int]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    def counts(self) -> dict[int, int]:
        """How many points each tag has."""
        counts = self._pack.index.segments["count"]
        return {tag: int(counts[numbers].sum()) for tag, numbers in self._segments.items()}

    @property
    def total(self) -> int:
        """How many points all tags have."""
        return sum(self.counts().values())


class PackedColumns:
    """What one file holds, as `events.file.Columns` has it."""

    def __init__(self, pack: Pack, key: tuple[int, int], stored: StoredFile) -> None:
        self._pack = pack
        self._key = key
        self.restarts: list[Restart] = [
            (step, items, dict(counts)) for step, items, counts in stored.restarts
        ]

    @cached_property
    def scalars(self) -> PackedPoints:
        """The points by tag number."""
        return PackedPoints(self._pack, self._pack.series.get(self._key, {}))

    @property
    def items(self) -> NDArray[np.void]:
        """The values that are no scalars."""
        return self._pack.items.get(self._key, NO_ITEMS)

    def counts(self) -> dict[int, int]:
        """How many points each tag has."""
        return self.scalars.counts()


class PackedFile:
    """An event file in a pack, with the face of `events.file.EventFile`."""

    trouble = None
    rereads = 0

    def __init__(
        self, pack: Pack, key: tuple[int, int], stored: StoredFile, folder: str, root: str
    ) -> None:
        # Another one for each: a pack that took the place of another has other files.
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
        """How many values of any kind there are."""
        total = self.columns.scalars.total
        # A refresh counts before it turns to the pack that has replaced this one.
        with suppress(FileChanged):
            total += len(self.columns.items)
        return total

    def problems(self, tag_names: Sequence[str]) -> Iterator[Problem]:
        """Everything that was wrong in the file when it was packed."""
        for problem in self._stored.problems:
            yield restore_problem(problem, self._root)

    def fetch(self, items: Iterable[np.void]) -> Iterator[bytes]:
        """Yield the bytes of values."""
        for item in items:
            yield self._pack.payload(int(item["start"]))

    def fetch_head(self, items: Iterable[np.void], size: int) -> Iterator[bytes]:
        """Yield at most the first `size` bytes of values."""
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
    """The log of one run in a pack: nothing is read before it is asked for."""

    __slots__ = ("_found", "_pack", "_run")

    def __init__(self, found: PackedRun, restarts: str, is_strict: bool) -> None:
        super().__init__(found, restarts, is_strict)
        self._adopt()
        self._versions = [file.version for file in self.files]
        self.is_loaded = True

    def _adopt(self) -> None:
        """Take all from the pack in which the run was found last."""
        found = self._found
        self._pack = pack = found.pack
        self._run = run = pack.index.runs[found.number]
        self.tags = pack.tags[run.tags]  # type: ignore[assignment]
        self.files = [
            PackedFile(pack, (found.number, place), stored, found.path, found.root)  # type: ignore[misc]
            for place, stored in enumerate(run.files)
        ]

    def update(self, found: FoundRun) -> None:
        """Take note of the pack that holds the run now: another one if it was replaced."""
        self._found = cast("PackedRun", found)
        self.config = found.config

    def read(self, reader: Reader) -> None:
        """Turn to the pack that the run was found in, if it is another one."""
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
        """The embeddings that the projector configuration names; their files are not packed."""
        config = self._run.config
        return [] if config is None else embedding.parse_stored(raw_bytes(config), Path(self.path))

    @property
    def last_sign(self) -> float | None:
        """When the run was last heard of before it was packed."""
        return self._run.last_sign


def restore_problem(stored: StoredProblem, path: str) -> Problem:
    """A problem as it was noted, with the pack in place of the logdir."""
    code, message, file, offset = stored
    known = Code(code) if code in {*Code} else Code.READ_ERROR
    return Problem(known, message, os.path.join(path, file), offset)
