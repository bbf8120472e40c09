"""Combines the files of a run: one series per tag, one list of values per kind and tag.

Files are in the order of their names, and points in file order. Points hidden by a
restart are left out and counted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np

from runfold._conventions import MARK_TAG, is_story_tag
from runfold._core.event import Form
from runfold._events.event_file import join_points
from runfold._events.kinds import KINDS, PLUGIN_KINDS, kind_of
from runfold._events.lazy_points import LazyPoints
from runfold._logdir.payloads import Payloads
from runfold._logdir.restarts import visible
from runfold._logdir.series import Series

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._core.scalar_columns import Points, ScalarPoints
    from runfold._core.tag_table import Tags
    from runfold._events.event_file import EventFile
    from runfold._events.lazy_points import Request
    from runfold._logdir.run_log import RunLog


# With more tags than this, a series is assembled only on access.
MOST_SERIES = 1000


def assemble_series(
    run: str, files: Sequence[EventFile], names: Sequence[str], policy: str
) -> Mapping[str, Series]:
    """Return the scalar series of a run by tag."""
    if any(len(file.columns.scalars) > MOST_SERIES for file in files):
        return SeriesByTag(run, files, names, policy)
    gathered: dict[int, list[Points]] = {}
    for file in files:
        for tag, points in file.columns.scalars.items():
            gathered.setdefault(tag, []).append(points)
    markers = point_markers(files) if policy == "session" else {}
    return {
        names[tag]: assemble_one(run, names[tag], pieces, markers.get(tag, ()), policy)
        for tag, pieces in gathered.items()
    }


class PlainSeries(Mapping[str, Series]):
    """The scalar series of a run whose points are all in one file, and visible.

    A large sweep has thousands of such runs, and often nobody looks at their series. Each one is
    created on the first access.
    """

    __slots__ = ("_made", "_names", "_numbers", "_points", "_run")

    def __init__(
        self, run: str, names: Sequence[str], numbers: Mapping[str, int], points: ScalarPoints
    ) -> None:
        self._run = run
        self._names = names
        self._numbers = numbers
        self._points = points
        self._made: dict[str, Series] = {}

    def __getitem__(self, tag: str) -> Series:
        made = self._made.get(tag)
        if made is None:
            number = self._numbers[tag]
            if number not in self._points:
                raise KeyError(tag)
            made = Series(self._run, tag, *self._points[number])
            # Another thread may have been faster.
            made = self._made.setdefault(tag, made)
        return made

    def __contains__(self, tag: object) -> bool:
        number = self._numbers.get(tag) if isinstance(tag, str) else None
        return number is not None and number in self._points

    def __iter__(self) -> Iterator[str]:
        return map(self._names.__getitem__, self._points)

    def __len__(self) -> int:
        return len(self._points)


class SeriesByTag(Mapping[str, Series]):
    """The scalar series of a run by tag, each assembled on access.

    A Series with its arrays takes about 700 bytes, too much for a million tags.
    """

    def __init__(
        self, run: str, files: Sequence[EventFile], names: Sequence[str], policy: str
    ) -> None:
        self._run = run
        self._columns = [file.columns for file in files]
        self._policy = policy
        self._markers = point_markers(files) if policy == "session" else {}
        scalars = [columns.scalars for columns in self._columns]
        self._numbers: dict[str, int] | TagIndex = (
            TagIndex(names, scalars)
            if sum(map(len, scalars)) > MOST_SERIES
            else {names[tag]: tag for tags in scalars for tag in tags}
        )

    def __getitem__(self, tag: str) -> Series:
        number = self._numbers.get(tag)
        if number is None:
            raise KeyError(tag)
        pieces = [file.scalars[number] for file in self._columns if number in file.scalars]
        return assemble_one(self._run, tag, pieces, self._markers.get(number, ()), self._policy)

    def __contains__(self, tag: object) -> bool:
        return isinstance(tag, str) and self._numbers.get(tag) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


class LazySeries(SeriesByTag):
    """The scalar series of a run whose points are decoded on access."""

    def __init__(
        self, run: str, files: Sequence[EventFile], names: Sequence[str], policy: str
    ) -> None:
        super().__init__(run, files, names, policy)
        found = [file.columns.scalars for file in files]
        # A file replaces its points when it grows; the markers belong to these.
        self._points = [points for points in found if isinstance(points, LazyPoints)]
        self._sizes: dict[str, tuple[int, int]] = {}

    def __getitem__(self, tag: str) -> Series:
        number = self._number(tag)
        pieces = [points[number] for points in self._points if number in points]
        markers = self._markers.get(number, ())
        series = assemble_one(self._run, tag, pieces, markers, self._policy)
        self._sizes[tag] = len(series), series.hidden
        return series

    def _number(self, tag: str) -> int:
        number = self._numbers.get(tag)
        if number is None:
            raise KeyError(tag)
        return number

    def size(self, tag: str) -> tuple[int, int]:
        """Return the number of visible and of hidden points of a series."""
        if self._policy != "step" and self._number(tag) not in self._markers:
            return self.stored(tag), 0
        return self._sizes[tag] if tag in self._sizes else (len(self[tag]), self._sizes[tag][1])

    def stored(self, tag: str) -> int:
        """Return the number of stored points of a series, including hidden ones."""
        number = self._number(tag)
        return sum(points.count(number) for points in self._points)

    def requests(self, tags: Iterable[str]) -> list[Request]:
        """Return the stored points of these series, by file."""
        numbers = [self._number(tag) for tag in tags]
        by_file = [
            (points, [number for number in numbers if number in points]) for points in self._points
        ]
        return [(points, own) for points, own in by_file if own]


class TagIndex:
    """The numbers of many tags by name, in order of first appearance.

    The index takes 16 bytes per tag; a dict takes about 100.
    """

    def __init__(self, names: Sequence[str], pieces: Iterable[Collection[int]]) -> None:
        self._names = names
        every = [np.fromiter(piece, np.int32, len(piece)) for piece in pieces]
        numbers = np.concatenate(every)
        _, first = np.unique(numbers, return_index=True)
        numbers = numbers[np.sort(first)]
        hashes = np.fromiter((hash(names[tag]) for tag in numbers), np.int64, len(numbers))
        order = np.argsort(hashes)
        # Indexing a memoryview is faster than indexing an array.
        self._numbers = numbers.data
        self._hashes = hashes[order].data
        self._by_hash = numbers[order].data

    def get(self, name: str) -> int | None:
        """Return the number of a tag, or None if it is unknown."""
        value = hash(name)
        position = bisect_left(self._hashes, value)
        while position < len(self._hashes) and self._hashes[position] == value:
            number = self._by_hash[position]
            if self._names[number] == name:
                return number
            position += 1
        return None

    def __iter__(self) -> Iterator[str]:
        return (self._names[tag] for tag in self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def assemble_one(
    run: str,
    tag: str,
    pieces: Sequence[Points],
    markers: Sequence[tuple[int, int]],
    policy: str,
) -> Series:
    """Return a scalar series of a run, given its points in each file and its `point_markers`."""
    columns = pieces[0] if len(pieces) == 1 else join_points(pieces)
    hidden = 0
    if policy == "step" or markers:
        mask = visible(columns[0], markers, policy)
        if mask is not None:
            hidden = len(mask) - int(mask.sum())
            columns = join_points([(columns[0][mask], columns[1][mask], columns[2][mask])])
    return Series(run, tag, *columns, hidden)


def assemble_payloads(
    files: Sequence[EventFile], names: Sequence[str], tags: Tags, policy: str
) -> dict[tuple[str, str], Payloads]:
    """Return the non-scalar values of a run by kind and tag."""
    pieces = [
        (number, file.columns.items) for number, file in enumerate(files) if len(file.columns.items)
    ]
    if not pieces:
        return {}
    items = pieces[0][1] if len(pieces) == 1 else np.concatenate([p[1] for p in pieces])
    file_numbers = np.repeat(
        np.array([number for number, _ in pieces], np.int32), [len(p[1]) for p in pieces]
    )
    sources = [(file, file.rereads) for file in files]
    counts, lowest = _item_markers(files)
    needs_policy = policy == "step" or (policy == "session" and len(counts) > 0)
    groups = {(kind, tag): rows for rows, kind, tag in _group(items, names, tags)}
    shown = dict(groups)
    for (kind, tag), rows in groups.items():
        if needs_policy and _has_steps(kind, tag):
            mask = visible(items["step"][rows], _row_markers(rows, counts, lowest), policy)
            shown[kind, tag] = rows if mask is None else rows[mask]
    if needs_policy and any(KINDS[kind].follows for kind, _ in groups):
        events = list(zip(file_numbers.tolist(), items["record"].tolist(), strict=True))
        _hide_followers(groups, shown, events)
    return {
        (kind, tag): Payloads(
            kind, tag, items[rows], file_numbers[rows], sources, len(groups[kind, tag]) - len(rows)
        )
        for (kind, tag), rows in shown.items()
    }


def count_unknown(
    files: Sequence[EventFile], names: Sequence[str], tags: Tags
) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the count and size of values that only their plugin can decode, by plugin and tag.

    Their content is in the plugin's metadata, and no restart hides them.
    """
    plugins = tags.plugins()
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for file in files:
        items = file.columns.items
        bare = items[items["form"] == Form.NOTHING]
        for tag, plugin, length in zip(
            *(bare[name].tolist() for name in ("tag", "plugin", "length")), strict=True
        ):
            key = plugins[plugin or tags.plugin(tag)], names[tag]
            if key[0] and key[0] not in PLUGIN_KINDS:
                count, size = counts.get(key, (0, 0))
                counts[key] = count + 1, size + length
    return counts


def _hide_followers(
    groups: Mapping[tuple[str, str], NDArray[np.intp]],
    shown: dict[tuple[str, str], NDArray[np.intp]],
    events: Sequence[tuple[int, int]],
) -> None:
    """Show values such as boxes only if the image in the same event is shown.

    Checking their own steps is not enough: a restart that logs the image again without
    boxes hides both. Boxes without an image are shown like any other value.
    """
    for (kind, tag), rows in groups.items():
        if leader := KINDS[kind].follows:
            key = leader, KINDS[kind].module.tag_of(tag)
            leaders = {events[row] for row in groups.get(key, ())}
            visible_leaders = {events[row] for row in shown.get(key, ())}
            visible_rows = set(shown[kind, tag].tolist())
            mask = [
                events[row] in visible_leaders if events[row] in leaders else row in visible_rows
                for row in rows.tolist()
            ]
            shown[kind, tag] = rows[mask]


def join_series(
    own: Mapping[str, Series], parts: Iterable[Mapping[str, Series]]
) -> Mapping[str, Series]:
    """Return the series of a run and its parts; the first series of each tag wins."""
    return _FirstOf(own, *parts)  # type: ignore[arg-type]  # read-only


class _FirstOf(ChainMap[str, Series]):
    """Several mappings as one; unlike in a ChainMap, the keys of the first mapping come first."""

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(chain.from_iterable(self.maps)))


def join_payloads(logs: Sequence[RunLog]) -> dict[tuple[str, str], Payloads]:
    """Return the values of a run and its parts; the first values of each kind and tag win.

    Hparams are concatenated, because all parts of a run use the same tags for them.
    """
    joined: dict[tuple[str, str], Payloads] = {}
    # One numbering for all files, because hparams are in file order.
    sources = [(file, file.rereads) for log in logs for file in log.files]
    start = 0
    for log in logs:
        for key, payloads in log.own_payloads.items():
            if key[0] == "hparams":
                payloads = replace(
                    payloads, files=payloads.files + np.int32(start), sources=sources
                )
                if key in joined:
                    payloads = joined[key].followed_by(payloads)
                joined[key] = payloads
            else:
                joined.setdefault(key, payloads)
        start += len(log.files)
    return joined


def series_sizes(scalars: Mapping[str, Series]) -> Iterator[tuple[int, int]]:
    """Yield the number of visible and of hidden points of each series."""
    return (series_size(scalars, tag) for tag in scalars)


def series_size(scalars: Mapping[str, Series], tag: str) -> tuple[int, int]:
    """Return the number of visible and of hidden points of a series."""
    lazy = find_lazy(scalars, tag)
    if lazy is not None:
        return lazy.size(tag)
    series = scalars[tag]
    return len(series), series.hidden


def find_lazy(scalars: Mapping[str, Series], tag: str) -> LazySeries | None:
    """Return the series of a folder that contain a tag; None if they are in memory."""
    maps = scalars.maps if isinstance(scalars, _FirstOf) else [scalars]
    found = next((own for own in maps if tag in own), None)
    return found if isinstance(found, LazySeries) else None


def _has_steps(kind: str, tag: str) -> bool:
    """Return whether these values belong to a step, not to the run: a restart can hide them."""
    if KINDS[kind].is_stepless:
        return False
    # Boxes belong to an image, although their tag has the prefix of the run's own records.
    return bool(KINDS[kind].follows) or not is_story_tag(tag) or tag == MARK_TAG


def _group(
    items: NDArray[np.void], names: Sequence[str], tags: Tags
) -> Iterator[tuple[NDArray[np.intp], str, str]]:
    """Yield (rows, kind, tag) for each kind under each tag, by first appearance."""
    plugins = tags.plugins()
    keys = items["tag"].astype(np.int64) << 32 | items["form"].astype(np.int64) << 16
    keys |= items["plugin"]
    order = np.argsort(keys, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
    rows_of: dict[tuple[str, str], list[NDArray[np.intp]]] = {}
    for rows in sorted(groups, key=lambda rows: rows[0]):
        first = items[rows[0]]
        tag, form, plugin = int(first["tag"]), int(first["form"]), int(first["plugin"])
        # A later event may have been the first to name the tag's plugin.
        kind = kind_of(form, plugins[plugin or tags.plugin(tag)] if tag >= 0 else "")
        # For hparams, metadata alone is a value; for other kinds it only describes the tag.
        if form != Form.NOTHING or kind == "hparams":
            rows_of.setdefault((kind, names[tag] if tag >= 0 else ""), []).append(rows)
    for (kind, name), parts in rows_of.items():
        yield (parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))), kind, name


def _lowest_steps(files: Sequence[EventFile]) -> list[int]:
    """Return, for each restart marker, the lowest step of that marker and all following ones."""
    steps = [step for file in files for step, _, _ in file.columns.restarts]
    return list(accumulate(reversed(steps), min))[::-1]


def point_markers(files: Sequence[EventFile]) -> dict[int, list[tuple[int, int]]]:
    """Return, by tag, (points before, step) for each restart marker that follows new points.

    The step is the lowest of this marker and all following ones, so a marker that
    follows no new points need not be repeated for each tag.
    """
    lowest = _lowest_steps(files)
    markers: dict[int, list[tuple[int, int]]] = {}
    ends: dict[int, int] = {}
    passed = 0
    for columns in (file.columns for file in files if lowest):
        for _, _, counts in columns.restarts:
            for tag, count in counts.items():
                markers.setdefault(tag, []).append((ends.get(tag, 0) + count, lowest[passed]))
            passed += 1
        for tag, count in columns.counts().items():
            ends[tag] = ends.get(tag, 0) + count
            if passed < len(lowest):
                markers.setdefault(tag, []).append((ends[tag], lowest[passed]))
    return markers


def _item_markers(files: Sequence[EventFile]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the number of items before each of the run's restart markers, and `_lowest_steps`."""
    counts = []
    before = 0
    for file in files:
        counts += [before + items for _, items, _ in file.columns.restarts]
        before += len(file.columns.items)
    return np.array(counts, np.int64), np.array(_lowest_steps(files), np.int64)


def _row_markers(
    rows: NDArray[np.intp], counts: NDArray[np.int64], lowest: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """Return the run's markers relative to the given items: (rows before, lowest step)."""
    # Only the last of the rows that share a following marker matters.
    following = np.searchsorted(counts, rows, side="right")
    ends = np.flatnonzero(np.diff(following, append=len(counts)))
    return list(zip((ends + 1).tolist(), lowest[following[ends]].tolist(), strict=True))
