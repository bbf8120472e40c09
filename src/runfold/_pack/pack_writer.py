"""Writes a logdir to packs run by run, with only one run, or some of its tags, in memory."""

from __future__ import annotations

import io
import os
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from runfold._core.tag_table import Tags
from runfold._logdir.discover import Discovery
from runfold._pack.file_parts import Templates
from runfold._pack.memory_budget import most_held
from runfold._pack.pack_index import Index, StoredRun, StoredTags, store_problem
from runfold._pack.pack_rows import Other, Points, RowWriter
from runfold._pack.row_reader import ReadRun, read_run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from runfold._events.problems import Problem
    from runfold._logdir.discover import FoundRun
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.run_engine import Engine


def write_pack(
    discovery: Discovery,
    file: BinaryIO,
    runs: Iterable[str] | None = None,
    advance: Callable[[int], object] = lambda _: None,
    engine: Engine | None = None,
    cache: PointCache | None = None,
) -> Index:
    """Write the runs of a logdir (default: all) to a pack, and return its index.

    `advance` is called with the size of each event file. Each run must fit into memory,
    as it must for reading, but the whole logdir need not. An engine reads the runs in other
    processes. With a `cache`, only the longest series of a file must fit.
    """
    names = list(discovery.runs) if runs is None else list(runs)
    chosen = [discovery.runs[name] for name in names]
    pack = _Pack(file, cache)
    below = os.path.join(discovery.base, "")
    try:
        if engine is None:
            for run in chosen:
                number, add = pack.next_run, pack.add_row
                pack.add_run(read_run(run, number, below, pack.templates, add, advance, cache))
        else:
            for unit in engine.call(chosen, partial(_read_unit, below)):
                pack.add_unit(unit, advance)
        return pack.finish(discovery.problems, below)
    except BaseException:
        pack.rows.abandon()
        raise


def pack_apart(
    base: str, problems: list[Problem], first: str, runs: Sequence[FoundRun]
) -> list[tuple[bytes, Index]]:
    """Return a pack for each run; the run named `first` gets the problems of the logdir."""
    packs = []
    for run in runs:
        file = io.BytesIO()
        own = problems if run.name == first else []
        index = write_pack(Discovery({run.name: run}, own, base), file)
        packs.append((file.getvalue(), index))
    return packs


class ReadUnit(NamedTuple):
    """Some runs and all their rows, with their own numbers of runs and templates."""

    runs: list[ReadRun]
    rows: list[Points | Other]
    templates: list[bytes]


def _read_unit(below: str, runs: Sequence[FoundRun]) -> ReadUnit:
    templates = Templates(Tags())
    rows: list[Points | Other] = []
    read = [read_run(run, number, below, templates, rows.append) for number, run in enumerate(runs)]
    return ReadUnit(read, rows, _list_names(templates))


def _list_names(templates: Templates) -> list[bytes]:
    return [templates.table.raw_name(number) for number in range(len(templates.table))]


class _Pack:
    """A pack that is being written."""

    def __init__(self, file: BinaryIO, cache: PointCache | None) -> None:
        self.rows = RowWriter(file, None if cache is None else most_held(cache.limit))
        self.templates = Templates(Tags())
        # The numbers of the templates that were found in other processes.
        self._templates: dict[bytes, int] = {}
        self._runs: list[StoredRun] = []
        self._tags: dict[str, int] = {}
        self._tag_sets: list[StoredTags] = []
        self._problems: list[Problem] = []

    @property
    def next_run(self) -> int:
        """The number of the next run."""
        return len(self._runs)

    def add_row(self, row: Points | Other) -> None:
        """Add the points of a tag in a file, or another value."""
        if isinstance(row, Points):
            self.rows.add_points(row)
        else:
            self.rows.add_other(row)

    def add_run(self, run: ReadRun) -> None:
        """Add a run after its rows."""
        # Nearly all runs of a logdir have the same tags.
        number = self._tags.setdefault(repr(run.tags), len(self._tags))
        if number == len(self._tag_sets):
            self._tag_sets.append(run.tags)
        run.stored.tags = number
        self._runs.append(run.stored)
        self._problems += run.problems

    def add_unit(self, unit: ReadUnit, advance: Callable[[int], object]) -> None:
        """Add runs that were read in another process."""
        known = self._templates
        numbers = [known.setdefault(name, len(known)) for name in unit.templates]
        templates = np.array(numbers, np.int32)
        first = self.next_run
        for row in unit.rows:
            at = row.at._replace(run=first + row.at.run)
            if isinstance(row, Points):
                row.at = at
                if row.template is not None:
                    row.template = templates[row.template]
                self.add_row(row)
            else:
                self.add_row(row._replace(at=at))
        for run in unit.runs:
            self.add_run(run)
            for file in run.stored.files:
                advance(file.size)

    def finish(self, problems: list[Problem], below: str) -> Index:
        self.rows.flush()
        index = Index(
            self._runs,
            self._tag_sets,
            [*self._templates] or _list_names(self.templates),
            [store_problem(problem, below) for problem in [*problems, *self._problems]],
            self.rows.is_scalar,
            self.rows.segments(),
        )
        self.rows.finish(index.to_bytes())
        return index
