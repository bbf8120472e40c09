"""The scalars of many runs, tag by tag, without an object for each series."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from runfold._core.point_table import find_ends, find_last_steps, join_points, list_tags
from runfold._tables.by_run.run_columns import MOST_TAGS
from runfold._tables.by_run.tag_statistics import Curves, Ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._core.point_table import Source
    from runfold._core.scalar_columns import ScalarPoints
    from runfold._logdir.run_log import RunLog
    from runfold._logdir.series import Series


@dataclass(slots=True)
class _Group:
    """Runs with the same tag names, whose points can be read without creating series."""

    names: Sequence[str]
    rows: list[int] = field(default_factory=list)
    points: list[ScalarPoints] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)


class RunScalars:
    """The scalars of loaded runs without a memory limit, one row per run.

    The statistics of a tag are those of all runs that have visible points of the tag.
    """

    def __init__(self, logs: Sequence[RunLog]) -> None:
        self._count = len(logs)
        self._groups: list[_Group] = []
        # The other runs: several files, restarts or parts decide which of their points are visible.
        self._others: list[tuple[int, RunLog]] = []
        # Runs with equal tags usually share the list of names.
        by_identity: dict[int, _Group] = {}
        by_names: dict[tuple[str, ...], _Group] = {}
        for row, log in enumerate(logs):
            points = log.plain_points
            if points is None:
                self._others.append((row, log))
                continue
            names = log.names
            group = by_identity.get(id(names))
            if group is None:
                group = by_names.setdefault(tuple(names), _Group(names))
                if group.names is names:
                    by_identity[id(names)] = group
            group.rows.append(row)
            group.points.append(points)
        self._groups = list(by_names.values())
        for group in self._groups:
            group.numbers = {name: number for number, name in enumerate(group.names)}
        self._ends: dict[str, Ends | None] = {}

    @cached_property
    def tags(self) -> list[str]:
        """All tags, in order of first appearance."""
        found: list[tuple[int, int, str]] = []
        for group in self._groups:
            found += [
                (group.rows[index], order, group.names[number])
                for order, (index, number) in enumerate(list_tags(group.points))
            ]
        seen: set[str] = set()
        for row, log in self._others:
            for order, tag in enumerate(log.scalars):
                if tag not in seen:
                    seen.add(tag)
                    found.append((row, order, tag))
        return list(dict.fromkeys(tag for _, _, tag in sorted(found)))

    def curves(self, tag: str) -> Curves | None:
        """Return the points of a tag in all runs; None if there are none."""
        rows, sources, numbers = self._sources(tag)
        found, sizes, steps, values = join_points(sources, numbers)
        return Curves(rows[found], sizes, steps, values) if len(found) else None

    def ends(self, tag: str) -> Ends | None:
        """Return the first and last points of a tag in all runs; None if there are none."""
        if tag not in self._ends:
            rows, sources, numbers = self._sources(tag)
            found, first, last, last_steps = find_ends(sources, numbers)
            if len(self._ends) == MOST_TAGS:
                self._ends.clear()
            self._ends[tag] = Ends(rows[found], first, last, last_steps) if len(found) else None
        return self._ends[tag]

    def last_steps(
        self, keeps: Callable[[str], bool]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the last step of each run in the tags that `keeps` accepts.

        The second array says which runs have points of these tags.
        """
        steps = np.full(self._count, np.iinfo(np.int64).min)
        has_any = np.zeros(self._count, np.bool_)
        for group in self._groups:
            skipped = bytes(not keeps(name) for name in group.names)
            steps[group.rows], has_any[group.rows] = find_last_steps(group.points, skipped)
        if self._has_many_tags:
            for row, log in self._others:
                for tag, series in log.scalars.items():
                    if series.steps.size and keeps(tag):
                        steps[row] = max(int(steps[row]), int(series.steps.max()))
                        has_any[row] = True
            return steps, has_any
        for tag, (rows, series_of) in self._series.items():
            if keeps(tag):
                sources: list[Source] = [(series.steps, series.values) for series in series_of]
                found, _, _, last = find_ends(sources, np.zeros(len(sources), np.int32))
                np.maximum.at(steps, np.array(rows, np.intp)[found], last)
                has_any[np.array(rows, np.intp)[found]] = True
        return steps, has_any

    @cached_property
    def _has_many_tags(self) -> bool:
        """Whether any run has too many tags to keep all series in memory."""
        return any(len(log.scalars) > MOST_TAGS for _, log in self._others)

    @cached_property
    def _series(self) -> dict[str, tuple[list[int], list[Series]]]:
        """The series of the other runs, and their rows, by tag."""
        found: dict[str, tuple[list[int], list[Series]]] = {}
        for row, log in self._others:
            for tag, series in log.scalars.items():
                rows, all_series = found.setdefault(tag, ([], []))
                rows.append(row)
                all_series.append(series)
        return found

    def _sources(self, tag: str) -> tuple[NDArray[np.intp], list[Source], NDArray[np.int32]]:
        """Return the rows that may have points of a tag, in order, and where these are."""
        found: list[tuple[Sequence[int], Sequence[Source], int]] = [
            (group.rows, group.points, group.numbers[tag])
            for group in self._groups
            if tag in group.numbers
        ]
        if pairs := list(self._other_series(tag)):
            arrays = [(series.steps, series.values) for _, series in pairs]
            found.append(([row for row, _ in pairs], arrays, -1))
        rows = np.array(list(chain.from_iterable(rows for rows, _, _ in found)), np.intp)
        sources = list(chain.from_iterable(sources for _, sources, _ in found))
        numbers = np.repeat(
            np.array([number for _, _, number in found], np.int32),
            [len(sources) for _, sources, _ in found],
        )
        if len(found) > 1:
            order = np.argsort(rows)
            rows, numbers = rows[order], numbers[order]
            sources = [sources[index] for index in order.tolist()]
        return rows, sources, numbers

    def _other_series(self, tag: str) -> Iterator[tuple[int, Series]]:
        if self._has_many_tags:
            return ((row, log.scalars[tag]) for row, log in self._others if tag in log.scalars)
        return zip(*self._series.get(tag, ((), ())), strict=True)
