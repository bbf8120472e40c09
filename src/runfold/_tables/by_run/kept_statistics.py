"""Statistics of one tag in many runs, stored for most of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from runfold._tables.by_run.tag_statistics import STATISTICS, Curves, CurveStatistics, join_found

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from runfold._index.facts import Facts
    from runfold._index.index_writer import Statistics
    from runfold._index.indexed_logdir import IndexedLogdir
    from runfold._logdir.loader import Logdir
    from runfold._tables.by_run.overview import Overview
    from runfold._tables.by_run.tag_statistics import Found

COUNT, FIRST_STEP = "count", "first_step"

# All statistics that are stored.
KEPT: dict[str, Callable[[Curves], Found]] = {
    COUNT: lambda curves: (curves.rows, curves.lengths),
    FIRST_STEP: lambda curves: (curves.rows, curves.steps[curves.starts]),
    **STATISTICS,
}


# The statistics of this many points are computed together.
_PART = 1 << 17

# More tags take too much time and space to store.
_MOST_TAGS = 10_000


class KeptStatistics(CurveStatistics):
    """The statistics of one tag: stored ones, and those of runs whose points are in memory.

    It has the methods of `Curves`, except `at`.
    """

    def __init__(self, facts: Facts, tag: str) -> None:
        self._facts = facts
        self._tag = tag
        having = [(row, log.scalars[tag]) for row, log in facts.others if tag in log.scalars]
        pairs = [(row, series) for row, series in having if series.steps.size]
        self._curves = Curves.of(*map(list, zip(*pairs, strict=True))) if pairs else None
        self._joined: dict[str, Found] = {}

    def find(self, name: str) -> Found:
        """Return one of the statistics in KEPT."""
        found = self._joined.get(name)
        if found is None:
            found = self._joined[name] = self._find(name)
        return found

    def _join(self, name: str) -> Found:
        return self.find(name)

    def _find(self, name: str) -> Found:
        rows, values = self._stored(name)
        if self._curves is not None:
            with np.errstate(all="ignore"):
                more_rows, more_values = KEPT[name](self._curves)
            rows = np.concatenate([rows, more_rows])
            values = np.concatenate([values, more_values])
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            rows, values = rows[order], values[order]
        return rows, values

    def _stored(self, name: str) -> Found:
        rows, values = self._facts.find(self._tag, name)
        # Which runs have the statistic; see `Curves`.
        if name == "auc":
            has_value = self._facts.find(self._tag, COUNT)[1] > 1
        elif name in ("lowest_step", "highest_step"):
            bound = "min" if name == "lowest_step" else "max"
            has_value = ~np.isnan(self._facts.find(self._tag, bound)[1])
        else:
            return rows, values
        return rows[has_value], values[has_value]


def keep_overview(logdir: Logdir, overview: Overview) -> None:
    """Store what an overview of all runs of a logdir has found, if the logdir has an index."""
    if logdir.is_indexed and len(overview.known.scalars) <= _MOST_TAGS:
        cast("IndexedLogdir", logdir).keep(overview.facts, lambda: _collect(overview))


def _collect(overview: Overview) -> Statistics:
    """Return all statistics of all tags."""
    found: dict[str, tuple[NDArray[np.intp], dict[str, NDArray[Any]]]] = {}
    with np.errstate(all="ignore"):
        for tag in overview.known.scalars:
            curves = overview.curves_of(tag)
            if curves is None:  # all points are hidden
                found[tag] = np.empty(0, np.intp), {}
                continue
            if isinstance(curves, Curves):
                parts = list(curves.split(_PART))
                every = {
                    name: join_found([statistic(part) for part in parts])
                    for name, statistic in KEPT.items()
                }
            elif isinstance(curves, KeptStatistics):
                every = {name: curves.find(name) for name in KEPT}
            else:
                raise AssertionError("a logdir with a memory limit has no index")
            rows = every[COUNT][0]
            found[tag] = rows, {name: _spread(rows, *own) for name, own in every.items()}
    return found


def _spread(rows: NDArray[np.intp], found: NDArray[np.intp], values: NDArray[Any]) -> NDArray[Any]:
    """Return a value for each row; zero where there is none."""
    if len(rows) == len(found):
        return values
    column = np.zeros(len(rows), values.dtype)
    column[np.searchsorted(rows, found)] = values
    return column
