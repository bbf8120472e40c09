"""Collects what an index contains about runs that have been read."""

from __future__ import annotations

import json
import math
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._index.kept_runs import NO_MARK, STATE_WORDS, Kind, dump_state, mark_of, pack_state
from runfold._logdir.run_state import save_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._index.kept_runs import KeptRuns
    from runfold._logdir.run_log import RunLog

    # For each tag, the rows that have points, and each statistic of these rows.
    Statistics = Mapping[str, tuple[NDArray[np.intp], Mapping[str, NDArray[Any]]]]

# A run with more tags than this is not stored, nor is a logdir.
_MOST_TAGS = 10_000
# A larger state is not stored.
_MOST_STATE = 1 << 20


class Rows:
    """The columns of an index, filled run by run."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.configs: dict[int, str] = {}
        self._folders: list[str] = []
        self.files: list[str] = []
        self._ends: list[int] = []
        self._kinds: list[int] = []
        # The number of visible, hidden and stored values.
        self._counts: list[tuple[int, int, int]] = []
        self._times: list[tuple[float, float]] = []
        self._marks: list[tuple[int, int]] = []
        self._states: list[bytes] = []
        self._layouts: list[int] = []
        self._layout_numbers: dict[tuple[str, ...], int] = {}
        self._run_states: list[bytes] = []
        self._state_sizes: list[int] = []

    def add_all(self, names: Sequence[str], logs: Sequence[RunLog]) -> None:
        """Add runs that have been read, and folders that are parts of other runs."""
        for is_plain, group in groupby(zip(names, logs, strict=True), _is_plain):
            if is_plain:
                own_names, own_logs = zip(*group, strict=True)
                self._add_plain(own_names, own_logs)
            else:
                for name, log in group:
                    self._add_other(name, log)

    def _add_plain(self, names: Sequence[str], logs: Sequence[RunLog]) -> None:
        # Most runs of a large sweep get here: a loop for each column is faster than one for all.
        layouts = [self._number_layout(log.scalars) for log in logs]
        if -1 in layouts:
            for name, log in zip(names, logs, strict=True):
                self._add_other(name, log)
            return
        files = [log.files[0] for log in logs]
        decoders = [file.decoder for file in files]
        totals = [file.columns.scalars.total for file in files]
        self.names += names
        self._folders += [log.path for log in logs]
        self.files += [file.path for file in files]
        self._ends += range(len(self.files) - len(files) + 1, len(self.files) + 1)
        self._kinds += [Kind.PLAIN] * len(logs)
        self._states += [pack_state(file.state) for file in files]
        self._times += [(each.first_wall_time, each.last_wall_time) for each in decoders]
        self._marks += [
            mark_of(each.offset, *file.edges) for each, file in zip(decoders, files, strict=True)
        ]
        self._counts += (
            [(log.points, log.hidden, total) for log, total in zip(logs, totals, strict=True)]
            if logs[0].restarts == "step"
            else [(total, 0, total) for total in totals]
        )
        self._layouts += layouts
        self._state_sizes += [0] * len(logs)

    def _add_other(self, name: str, log: RunLog) -> None:
        files = log.files
        state = _save(log)
        layout = -1
        if state:
            # The tags of a folder that is part of a run are those of the run.
            layout = self._number_layout(log.scalars if log.name == name else ())
        if layout < 0:
            kind, state, layout = Kind.LISTED, b"", self._number_layout(())
            counts, times = (0, 0, 0), (math.nan, math.nan)
        else:
            kind, times = Kind.RICH, log.wall_time_range
            counts = log.points, log.hidden, sum(file.points for file in log.all_files)
        self._add_files(log.path, [file.path for file in files], log.config)
        self._states += [pack_state(file.state if kind else None) for file in files]
        self._add(name, kind, counts, times, layout, state)
        self._marks.append(NO_MARK)

    def add_kept(self, kept: KeptRuns, number: int) -> None:
        """Add a folder that is stored already."""
        start, end = kept.span(number)
        self._add_files(kept.folders[number], kept.files[start:end], kept.configs.get(number))
        self._states += [kept.state(each).tobytes() for each in range(start, end)]
        first, last = kept.times[number].tolist()
        points, hidden, stored = kept.counts[number].tolist()
        self._add(
            kept.names[number],
            int(kept.kinds[number]),
            (points, hidden, stored),
            (first, last),
            self._number_layout(kept.layout_tags[int(kept.layouts[number])]),
            kept.stored_state(number),
        )
        offset, checksum = kept.marks[number].tolist()
        self._marks.append((offset, checksum))

    def _add_files(self, folder: str, files: Sequence[str], config: str | None) -> None:
        if config is not None:
            self.configs[len(self.names)] = config
        self._folders.append(folder)
        self.files += files

    def _add(
        self,
        name: str,
        kind: int,
        counts: tuple[int, int, int],
        times: tuple[float, float],
        layout: int,
        state: bytes = b"",
    ) -> None:
        self.names.append(name)
        self._ends.append(len(self.files))
        self._kinds.append(kind)
        self._counts.append(counts)
        self._times.append(times)
        self._layouts.append(layout)
        if state:
            self._run_states.append(state)
        self._state_sizes.append(len(state))

    def _number_layout(self, tags: Iterable[str]) -> int:
        """Return the number of a list of tags; -1 if runs with these tags are not stored."""
        layout = tuple(tags)
        number = self._layout_numbers.get(layout)
        if number is None:
            # Tags that are not UTF-8 are a problem of the run.
            if len(layout) > _MOST_TAGS or any("\\x" in tag for tag in layout):
                return -1
            number = self._layout_numbers[layout] = len(self._layout_numbers)
        return number

    def arrays(
        self, statistics: Statistics, numbers: NDArray[np.intp] | None
    ) -> dict[str, Any] | None:
        """Return the arrays of the index; None if there are too many tags.

        `numbers` are the rows here of the rows of the statistics, None if they are the same.
        """
        tags = list(dict.fromkeys(tag for layout in self._layout_numbers for tag in layout))
        if len(tags) > _MOST_TAGS:
            return None
        number_of = {tag: number for number, tag in enumerate(tags)}
        kinds = np.array(self._kinds, np.uint8)
        arrays: dict[str, Any] = {
            "names": self.names,
            "folders": self._folders,
            "files": self.files,
            "ends": np.array(self._ends, np.int64),
            "states": np.frombuffer(b"".join(self._states), np.int64).reshape(-1, STATE_WORDS),
            "kinds": kinds,
            "counts": np.array(self._counts, np.int64).reshape(-1, 3),
            "times": np.array(self._times, np.float64).reshape(-1, 2),
            "marks": np.array(self._marks, np.int64).reshape(-1, 2),
            "tags": json.dumps(tags).encode(),
            "layouts": np.array(self._layouts, np.int32),
            "layout_ends": np.cumsum([len(own) for own in self._layout_numbers], dtype=np.int64),
            "layout_tags": np.array(
                [number_of[tag] for own in self._layout_numbers for tag in own], np.int32
            ),
            "state_ends": np.cumsum(self._state_sizes, dtype=np.int64),
            "states of runs": b"".join(self._run_states),
        }
        return arrays | _join_statistics(tags, statistics, kinds > Kind.LISTED, numbers)


def _is_plain(entry: tuple[str, RunLog]) -> bool:
    """Return whether a folder is a run with one file that contains nothing but scalars."""
    name, log = entry
    files = log.files
    if len(files) != 1 or log.config is not None or log.parts or log.name != name:
        return False
    file = files[0]
    columns, decoder = file.columns, file.decoder
    return not (
        len(columns.items)
        or columns.restarts
        or decoder.stop
        or file.has_notes
        or file.trouble is not None
        # Wall times that are unknown or not in order.
        or not (decoder.first_wall_time <= decoder.last_wall_time or not decoder.events)
    )


def _join_statistics(
    tags: Sequence[str],
    statistics: Statistics,
    is_stored: NDArray[np.bool_],
    numbers: NDArray[np.intp] | None,
) -> dict[str, Any]:
    """Return the statistics of all tags, one after the other, without runs that are not stored."""
    rows: list[NDArray[np.int32]] = []
    values: dict[str, list[NDArray[Any]]] = {}
    has_all = bool(is_stored.all())
    for tag in tags:
        own_rows, own = statistics[tag]
        if numbers is not None:
            own_rows = numbers[own_rows]
        chosen = slice(None) if has_all else is_stored[own_rows]
        rows.append(own_rows[chosen].astype(np.int32))
        for name, column in own.items():
            values.setdefault(name, []).append(column[chosen])
    arrays: dict[str, Any] = {
        "tag_ends": np.cumsum([len(own) for own in rows], dtype=np.int64),
        "rows": np.concatenate([np.empty(0, np.int32), *rows]),
    }
    return arrays | {f"values {name}": np.concatenate(own) for name, own in values.items()}


def _save(log: RunLog) -> bytes:
    """Return the state of a run that is not plain; empty if it is not stored."""
    if not log.files or any(file.trouble for file in log.files):
        return b""
    state = dump_state(save_state(log))
    return state if len(state) <= _MOST_STATE else b""
