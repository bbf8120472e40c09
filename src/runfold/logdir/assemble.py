"""The files of a run put together: one series a tag, one list of values a kind and tag.

Files count in the order of their names, and points in the order of the files.
What a restart hides is left out here, and counted.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate, chain
from typing import TYPE_CHECKING

import numpy as np

from runfold.core.event import Form
from runfold.events.file import join_points
from runfold.events.kinds import PLUGIN_KINDS
from runfold.logdir.payloads import Payloads
from runfold.logdir.restarts import visible
from runfold.logdir.series import Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from runfold.core.scalars import Points
    from runfold.core.tags import Tags
    from runfold.events.file import EventFile
    from runfold.logdir.log import RunLog

_FORM_KINDS = {
    Form.HISTOGRAM: "histogram",
    Form.IMAGE: "image",
    Form.AUDIO: "audio",
    Form.GRAPH: "graph",
    Form.META_GRAPH: "graph",
    Form.RUN_METADATA: "run_metadata",
}

# These tell of the run, not of a step of it: a restart does not make them wrong.
_TIMELESS = {"graph", "hparams", "run_metadata"}
# They belong to a picture, though their tag begins as those of a run's story do.
_BOXES = "boxes"
_STORY = "runfold/"
# But for the events it marked, which stand at steps of the training.
_MARK = "runfold/mark"


# With more tags than this, a series is put together only when it is asked for.
_MOST_SERIES = 1000


def assemble_series(
    run: str, files: Sequence[EventFile], names: Sequence[str], policy: str
) -> Mapping[str, Series]:
    """The scalar series of a run by tag."""
    if any(len(file.columns.scalars) > _MOST_SERIES for file in files):
        return SeriesByTag(run, files, names, policy)
    if len(files) == 1 and policy != "step" and not files[0].columns.restarts:
        # The runs of a large sweep are mostly like this, and by the thousand.
        only = files[0].columns.scalars
        return {names[tag]: Series(run, names[tag], *points) for tag, points in only.items()}
    gathered: dict[int, list[Points]] = {}
    for file in files:
        for tag, points in file.columns.scalars.items():
            gathered.setdefault(tag, []).append(points)
    markers = point_markers(files) if policy == "session" else {}
    return {
        names[tag]: assemble_one(run, names[tag], pieces, markers.get(tag, ()), policy)
        for tag, pieces in gathered.items()
    }


class SeriesByTag(Mapping[str, Series]):
    """The scalar series of a run by tag, each put together whenever it is asked for.

    A Series with its arrays takes some 700 bytes, too many for a million tags.
    """

    def __init__(
        self, run: str, files: Sequence[EventFile], names: Sequence[str], policy: str
    ) -> None:
        self._run = run
        self._columns = [file.columns for file in files]
        self._policy = policy
        self._markers = point_markers(files) if policy == "session" else {}
        self._numbers = {names[tag]: tag for columns in self._columns for tag in columns.scalars}

    def __getitem__(self, tag: str) -> Series:
        number = self._numbers[tag]
        pieces = [one.scalars[number] for one in self._columns if number in one.scalars]
        return assemble_one(self._run, tag, pieces, self._markers.get(number, ()), self._policy)

    def __contains__(self, tag: object) -> bool:
        return tag in self._numbers

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def assemble_one(
    run: str,
    tag: str,
    pieces: Sequence[Points],
    markers: Sequence[tuple[int, int]],
    policy: str,
) -> Series:
    """One scalar series of a run, from its points in each file and its `point_markers`."""
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
    """All other values of a run by kind and tag."""
    pieces = [
        (number, file.columns.items) for number, file in enumerate(files) if len(file.columns.items)
    ]
    if not pieces:
        return {}
    items = pieces[0][1] if len(pieces) == 1 else np.concatenate([p[1] for p in pieces])
    places = np.repeat(
        np.array([number for number, _ in pieces], np.int32), [len(p[1]) for p in pieces]
    )
    sources = [(file, file.rereads) for file in files]
    counts, lowest = _item_markers(files)
    needs_policy = policy == "step" or (policy == "session" and len(counts) > 0)
    groups = {(kind, tag): rows for rows, kind, tag in _group(items, names, tags)}
    shown = dict(groups)
    for (kind, tag), rows in groups.items():
        if needs_policy and kind not in _TIMELESS and (kind == _BOXES or not _is_story(tag)):
            mask = visible(items["step"][rows], _row_markers(rows, counts, lowest), policy)
            shown[kind, tag] = rows if mask is None else rows[mask]
    if needs_policy and any(kind == _BOXES for kind, _ in groups):
        events = list(zip(places.tolist(), items["record"].tolist(), strict=True))
        _hide_boxes(groups, shown, events)
    return {
        (kind, tag): Payloads(
            kind, tag, items[rows], places[rows], sources, len(groups[kind, tag]) - len(rows)
        )
        for (kind, tag), rows in shown.items()
    }


def count_unknown(
    files: Sequence[EventFile], names: Sequence[str], tags: Tags
) -> dict[tuple[str, str], tuple[int, int]]:
    """How many values of a run only their plugin can read, and their bytes, by plugin and tag.

    All that they hold is in the metadata of the plugin. Nothing hides them.
    """
    plugins = tags.plugins()
    found: dict[tuple[str, str], tuple[int, int]] = {}
    for file in files:
        items = file.columns.items
        bare = items[items["form"] == Form.NOTHING]
        for tag, plugin, length in zip(
            *(bare[name].tolist() for name in ("tag", "plugin", "length")), strict=True
        ):
            key = plugins[plugin or tags.plugin(tag)], names[tag]
            if key[0] and key[0] not in PLUGIN_KINDS:
                count, size = found.get(key, (0, 0))
                found[key] = count + 1, size + length
    return found


def _hide_boxes(
    groups: Mapping[tuple[str, str], NDArray[np.intp]],
    shown: dict[tuple[str, str], NDArray[np.intp]],
    events: Sequence[tuple[int, int]],
) -> None:
    """Show boxes where their picture, which is in the same event, is shown, and only there.

    Their own steps say less: a restart that logs the picture again without boxes hides
    both. Boxes without a picture are shown as any other value is.
    """
    from runfold.events.kinds.boxes import tag_of

    for (kind, tag), rows in groups.items():
        if kind == _BOXES:
            picture = "image", tag_of(tag)
            pictures = {events[row] for row in groups.get(picture, ())}
            visible_pictures = {events[row] for row in shown.get(picture, ())}
            visible_boxes = set(shown[kind, tag].tolist())
            mask = [
                events[row] in visible_pictures if events[row] in pictures else row in visible_boxes
                for row in rows.tolist()
            ]
            shown[kind, tag] = rows[mask]


def join_series(
    own: Mapping[str, Series], parts: Iterable[Mapping[str, Series]]
) -> Mapping[str, Series]:
    """The series of a run and of its parts; the first that has a tag counts."""
    return _FirstOf(own, *parts)  # type: ignore[arg-type]  # nobody writes to it


class _FirstOf(ChainMap[str, Series]):
    """Mappings as one; unlike in a ChainMap, the first mapping's keys come first."""

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(chain.from_iterable(self.maps)))


def join_payloads(logs: Sequence[RunLog]) -> dict[tuple[str, str], Payloads]:
    """The values of a run and of its parts; the first that has a kind and tag counts.

    Of hparams all count: the parts of a run have them under the same tags.
    """
    joined: dict[tuple[str, str], Payloads] = {}
    # One numbering for all files: the order of hparams is that of their files.
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


def _is_story(tag: str) -> bool:
    return tag.startswith(_STORY) and tag != _MARK


def _group(
    items: NDArray[np.void], names: Sequence[str], tags: Tags
) -> Iterator[tuple[NDArray[np.intp], str, str]]:
    """Yield (rows, kind, tag) for each kind under each tag, by first appearance."""
    kinds = [PLUGIN_KINDS.get(plugin, "tensor") for plugin in tags.plugins()]
    keys = items["tag"].astype(np.int64) << 32 | items["form"].astype(np.int64) << 16
    keys |= items["plugin"]
    order = np.argsort(keys, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)
    rows_of: dict[tuple[str, str], list[NDArray[np.intp]]] = {}
    for rows in sorted(groups, key=lambda rows: rows[0]):
        first = items[rows[0]]
        tag, form, plugin = int(first["tag"]), int(first["form"]), int(first["plugin"])
        if form in _FORM_KINDS:
            kind = _FORM_KINDS[Form(form)]
        else:
            # A later event may have been the first to name the tag's plugin.
            kind = kinds[plugin or tags.plugin(tag)]
            # A tensor of many numbers under the scalars plugin is no scalar.
            kind = "tensor" if kind == "scalar" else kind
        # Metadata alone is a value of hparams; elsewhere it only says what the tag is.
        if form != Form.NOTHING or kind == "hparams":
            rows_of.setdefault((kind, names[tag] if tag >= 0 else ""), []).append(rows)
    for (kind, name), parts in rows_of.items():
        yield (parts[0] if len(parts) == 1 else np.sort(np.concatenate(parts))), kind, name


def _lowest_steps(files: Sequence[EventFile]) -> list[int]:
    """For each restart marker of the run the lowest step of it and all after it."""
    steps = [step for file in files for step, _, _ in file.columns.restarts]
    return list(accumulate(reversed(steps), min))[::-1]


def point_markers(files: Sequence[EventFile]) -> dict[int, list[tuple[int, int]]]:
    """For each tag (points before it, step) of the restart markers that follow points of it.

    A step is the lowest of that marker and all after it, so a marker that
    follows no new point need not be repeated for each tag.
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
    """How many items came before each restart marker of the run, and its lowest step."""
    counts = []
    before = 0
    for file in files:
        counts += [before + items for _, items, _ in file.columns.restarts]
        before += len(file.columns.items)
    return np.array(counts, np.int64), np.array(_lowest_steps(files), np.int64)


def _row_markers(
    rows: NDArray[np.intp], counts: NDArray[np.int64], lowest: NDArray[np.int64]
) -> list[tuple[int, int]]:
    """The markers of the run as seen by some of its items: (rows before it, lowest step)."""
    # The marker that follows each row; only where it changes does one matter.
    following = np.searchsorted(counts, rows, side="right")
    ends = np.flatnonzero(np.diff(following, append=len(counts)))
    return list(zip((ends + 1).tolist(), lowest[following[ends]].tolist(), strict=True))
