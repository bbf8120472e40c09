"""The data of many runs, most of it stored, so that their points need not be read."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from runfold._conventions import is_system_tag
from runfold._logdir.gc_pause import pause_collector
from runfold._tables.by_run.kept_statistics import KeptStatistics
from runfold._tables.by_run.overview import Overview, name_tags
from runfold._tables.by_run.run_columns import AT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._index.facts import Facts
    from runfold._index.indexed_logdir import IndexedLogdir
    from runfold._logdir.loader import Logdir
    from runfold._logdir.run_log import RunLog
    from runfold._tables.by_run.direction import Better
    from runfold._tables.by_run.run_columns import Column
    from runfold._tables.by_run.tag_statistics import Found

_NO_PAYLOADS: dict[tuple[str, str], Any] = {}


class KeptOverview(Overview):
    """An overview from facts. The points are read if something is requested that needs them."""

    def __init__(
        self,
        facts: Facts,
        better: Better | Mapping[str, Better] | None = None,
        whole: Callable[[], Overview] | None = None,
    ) -> None:
        self._facts = facts
        self._kept: dict[str, KeptStatistics] = {}
        super().__init__((), better, whole)

    def _take_logs(self, logs: Iterable[RunLog]) -> None:
        # The logs are read if something needs their points.
        self._has_limit = False

    @property
    def facts(self) -> Facts:
        """The facts that this overview shows."""
        return self._facts

    def __len__(self) -> int:
        return len(self._facts)

    @cached_property
    def logs(self) -> list[RunLog]:  # type: ignore[override]
        """The logs of the runs, with their points."""
        return self._facts.load()

    @cached_property
    def _loaded(self) -> Overview:
        """The same runs, with their points."""
        return Overview(self.logs, self._better, self._whole)

    @cached_property
    def runs(self) -> Sequence[str]:
        """The names of the runs, row by row."""
        return self._facts.names

    @cached_property
    def _described(self) -> Iterable[tuple[int, RunLog]]:
        facts = self._facts
        if facts.has_config_files:
            return [(row, facts.log(row)) for row in range(len(facts))]
        return list(facts.logs.items())

    @property
    def _possibly_rich(self) -> Iterable[tuple[int, RunLog]]:
        return self._facts.logs.items()

    @property
    def _scalar_tags(self) -> list[str]:
        return list(dict.fromkeys(tag for _, tags in self._facts.tag_lists() for tag in tags))

    @cached_property
    def points(self) -> list[int]:
        """The number of visible values in each run."""
        found: list[int] = self._facts.points(lambda log: log.points).tolist()
        return found

    @cached_property
    def paths(self) -> list[str]:
        """The folder of each run."""
        return self._facts.folders

    @cached_property
    def sizes(self) -> list[int]:
        """The size of each run's event files in bytes."""
        found: list[int] = self._facts.sizes(lambda log: log.size).tolist()
        return found

    @cached_property
    def files(self) -> list[int]:
        """The number of each run's event files."""
        found: list[int] = self._facts.file_counts(lambda log: len(log.all_files)).tolist()
        return found

    @cached_property
    def hidden(self) -> list[int]:
        """The number of values in each run that the restart policy hides."""
        found: list[int] = self._facts.hidden(lambda log: log.hidden).tolist()
        return found

    @cached_property
    def problems(self) -> list[int]:
        """The number of problems in each run."""
        found = [0] * len(self)
        for row, log in self._facts.noted():
            found[row] = len(log.list_problems())
        return found

    def find_values(self, column: Column) -> Found:
        """Return the rows that have a value for a tag's statistic, and the values."""
        if column.what == AT:
            return self._loaded.find_values(column)
        return super().find_values(column)

    @cached_property
    def _tags(self) -> list[list[str]]:
        found: list[list[str]] = []
        by_layout: dict[int, list[str]] = {}
        for row in range(len(self)):
            log = self._facts.logs.get(row)
            if log is not None:
                own = [tag for tag in self._facts.tags_of(row) if row in self._rows_with(tag)]
                found.append(name_tags(own, log.payloads))
                continue
            layout = self._facts.layout(row)
            if layout not in by_layout:
                # A plain run has points of all its tags.
                by_layout[layout] = name_tags(self._facts.tags_of(row), _NO_PAYLOADS)
            found.append(by_layout[layout])
        return found

    def _rows_with(self, tag: str) -> set[int]:
        found: dict[str, set[int]] = self.__dict__.setdefault("_rows_by_kept_tag", {})
        if tag not in found:
            found[tag] = set(self.curves_of(tag).rows.tolist())
        return found[tag]

    def curves_of(self, tag: str) -> KeptStatistics:
        """Return the statistics of a tag in all runs."""
        if tag not in self._kept:
            self._kept[tag] = KeptStatistics(self._facts, tag)
        return self._kept[tag]

    @property
    def _wall_times(self) -> NDArray[np.float64]:
        return self._facts.times(lambda log: log.wall_time_range).T.copy()

    def _ends_of(self, tag: str) -> KeptStatistics:
        return self.curves_of(tag)

    @property
    def _last_scalar_steps(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        found = np.full(len(self), np.iinfo(np.int64).min)
        has_any = np.zeros(len(self), np.bool_)
        for tag in self._scalar_tags:
            if not is_system_tag(tag):
                rows, steps = self.curves_of(tag).last_step()
                found[rows] = np.maximum(found[rows], steps)
                has_any[rows] = True
        return found, has_any


def find_facts(logdir: Logdir, names: Sequence[str]) -> Facts | None:
    """Return what is known about runs without their points; None if the logdir has no index."""
    return cast("IndexedLogdir", logdir).facts(names) if logdir.is_indexed else None


def open_overview(
    logdir: Logdir,
    names: Sequence[str] | None = None,
    better: Better | Mapping[str, Better] | None = None,
    whole: Callable[[], Overview] | None = None,
) -> Overview:
    """Return an overview of some runs of a logdir, by default all, from its index if it has one.

    `whole` returns the overview of all runs; by default, it is opened when it is needed.
    """
    logs = logdir.logs
    if names is None:
        names = list(logs)
    elif whole is None:
        whole = partial(open_overview, logdir)
    facts = find_facts(logdir, names)
    with pause_collector():
        if facts is not None:
            return KeptOverview(facts, better, whole)
        chosen = [logs[name] for name in names]
        logdir.load(chosen)
        return Overview(chosen, better, whole)
