"""The data of many runs, column by column, without pandas.

Each column is computed on request. Decoders are imported only if a run contains more than
scalars.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import STORY_PREFIX, TEXT_SUFFIX, is_story_tag, is_system_tag
from runfold._events.kinds.text import text_of
from runfold._humanize import escape
from runfold._logdir.run_batches import split_runs
from runfold._logdir.run_engine import map_runs
from runfold._select import match_glob
from runfold._story import story_parts
from runfold._story.status import RunStatus
from runfold._tables.by_run.direction import LOWER, find_direction
from runfold._tables.by_run.run_columns import AT, COUNTED, MOST_HPARAMS, Column, Known
from runfold._tables.by_run.run_scalars import RunScalars
from runfold._tables.by_run.tag_statistics import Curves, CurveStatistics, join_found
from runfold._tables.found_config.found_settings import HPARAMS
from runfold._tables.frames.hparam_values import read_settings
from runfold._tables.frames.value_rows import noting_changes
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from runfold._index.facts import Facts
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._tables.by_run.direction import Better
    from runfold._tables.by_run.tag_statistics import Ends, Found

    # A list with None for missing values, or an array if all runs have a float.
    Cells = list[Any] | NDArray[np.float64]

_NONE: dict[str, Any] = {}
_NOTHING: Found = (np.empty(0, np.intp), np.empty(0))
# The statistics that need only the first and last point of each run.
_ENDS = ("first", "last")
_NESTED = {dict, list}


class Overview:
    """Many loaded runs, one row per run.

    `better` is "higher" or "lower", for all tags or by name or glob; by default, the
    direction is guessed from the tag's name. For a selection of runs, `whole` returns
    the overview of the whole logdir.
    """

    def __init__(
        self,
        logs: Iterable[RunLog],
        better: Better | Mapping[str, Better] | None = None,
        whole: Callable[[], Overview] | None = None,
    ) -> None:
        self._take_logs(logs)
        self._better = better
        self._whole = whole
        self._own = read_settings(log for _, log in self._described)
        self._curves: dict[str, Curves | None] = {}

    def _take_logs(self, logs: Iterable[RunLog]) -> None:
        self.logs = list(logs)
        # Whether points are read in parts, because they may not fit into memory together.
        self._has_limit = any(log.cache is not None for log in self.logs)

    @property
    def facts(self) -> Facts | None:
        """The facts that this overview shows, if it does not need the points."""
        return None

    @property
    def _described(self) -> Iterable[tuple[int, RunLog]]:
        """The runs that may have settings: the row and the log of each."""
        return enumerate(self.logs)

    @property
    def _possibly_rich(self) -> Iterable[tuple[int, RunLog]]:
        """The runs that may contain more than scalars: the row and the log of each."""
        return enumerate(self.logs)

    def __len__(self) -> int:
        return len(self.logs)

    @cached_property
    def runs(self) -> Sequence[str]:
        """The names of the runs, row by row."""
        return [log.name for log in self.logs]

    @cached_property
    def whole(self) -> Overview:
        """All runs of the logdir, used to look up names that the selected runs lack."""
        return self._whole() if self._whole else self

    @cached_property
    def known(self) -> Known:
        """The names of all hparams and tags."""
        return Known(
            list(dict.fromkeys(name for own in self.settings if own for name in own)),
            self._scalar_tags,
            list(self._stored["text"]),
            list(self._stored["image"]),
            [kind for kind in COUNTED if kind in self._counts],
        )

    @property
    def _scalar_tags(self) -> list[str]:
        if self._has_limit:
            return list(dict.fromkeys(tag for log in self.logs for tag in log.scalars))
        return self._scalars.tags

    @cached_property
    def settings(self) -> list[dict[str, Any]]:
        """The hparams of each run, with dotted names if nested."""
        if not self._own:
            return [_NONE] * len(self)
        from runfold._story.story_records import name_leaves

        found = [_NONE] * len(self)
        for row, log in self._described:
            own = self._own.get(log.name, _NONE)
            # Only a stored hparam can be nested.
            if not _NESTED.isdisjoint(map(type, own.values())):
                own = dict(name_leaves(own))
            found[row] = _restore_integers(log, own)
        return found

    @cached_property
    def sources(self) -> list[dict[str, str]]:
        """The source of each run's hparams, such as "hparams" or "file hparams.yaml", by name."""
        found: dict[str, dict[str, str]] = {}
        if self._own:
            read_settings((log for _, log in self._described), found)
        return [found.get(run, {}) for run in self.runs]

    @cached_property
    def listed_hparams(self) -> list[str]:
        """The hparams that a terminal or the page shows by default.

        These are all hparams or, if there are many, only logged hparams and those that differ
        between runs.
        """
        names = list(self.known.hparams)
        if len(names) <= MOST_HPARAMS:
            return names
        logged = {name for own in self.sources for name, source in own.items() if source == HPARAMS}
        return [
            name
            for name in names
            if name in logged
            or len({(type(own.get(name)), own.get(name)) for own in self.settings}) > 1
        ]

    @cached_property
    def statuses(self) -> list[RunStatus]:
        """The status of each run."""
        # Scalars say nothing about the status, and large sweeps often contain nothing else.
        found = [RunStatus("unknown")] * len(self)
        for row, log in self._rich:
            if log.payloads:
                found[row] = _read_status(log)
        return found

    @cached_property
    def _scalars(self) -> RunScalars:
        """The scalars of runs without a memory limit."""
        return RunScalars(self.logs)

    @cached_property
    def _rich(self) -> list[tuple[int, RunLog]]:
        """The runs with more than scalars; a large sweep often has no such runs."""
        return [(row, log) for row, log in self._possibly_rich if log.payloads or log.config]

    @cached_property
    def _stored(self) -> dict[str, dict[str, list[tuple[int, RunLog, Payloads]]]]:
        """The stored text and images of each tag, row by row."""
        found: dict[str, dict[str, list[tuple[int, RunLog, Payloads]]]] = {"text": {}, "image": {}}
        for row, log in self._rich:
            for (kind, tag), payloads in log.payloads.items():
                if kind in found and len(payloads):
                    found[kind].setdefault(tag, []).append((row, log, payloads))
        texts = found["text"]
        # torch and tensorboardX add a suffix to the user's tag.
        found["text"] = {_bare(tag, texts): rows for tag, rows in texts.items()}
        return found

    @cached_property
    def _counts(self) -> dict[str, list[int]]:
        """The number of values in each run, for each kind whose values are only counted."""
        found: dict[str, list[int]] = {}
        for row, log in self._rich:
            for kind, count in _count_values(log).items():
                if count and kind in COUNTED:
                    found.setdefault(kind, [0] * len(self))[row] = count
        return found

    def cells(self, column: Column) -> Cells:
        """Return a column's cells. Raises CannotFold for `best` if the direction is unknown."""
        what = column.what
        if what == "run":
            return list(self.runs)
        if what == "status":
            return [status.state for status in self.statuses]
        if what in ("start", "duration"):
            return self._times[what == "duration"]
        if what == "points":
            return self.points
        if what == "steps":
            return self._step_cells
        if what == "hparam":
            return [own.get(column.name) for own in self.settings]
        if what == "text":
            return self._spread((row, text_of(value)) for row, value in self._last(column))
        if what == "image":
            return self._spread((row, value[1]) for row, value in self._last(column))
        for kind, name in COUNTED.items():
            if what == name:
                return self._counts.get(kind, [0] * len(self))
        rows, values = self.find_values(column)
        if len(rows) == len(self) and values.dtype == np.float64:
            return values.astype(np.float64, copy=False)
        return self._spread(zip(rows.tolist(), values.tolist(), strict=True))

    @cached_property
    def points(self) -> list[int]:
        """The number of visible values in each run."""
        return [log.points for log in self.logs]

    @cached_property
    def paths(self) -> list[str]:
        """The folder of each run."""
        return [log.path for log in self.logs]

    @cached_property
    def sizes(self) -> list[int]:
        """The size of each run's event files in bytes."""
        return [log.size for log in self.logs]

    @cached_property
    def files(self) -> list[int]:
        """The number of each run's event files."""
        return [len(log.all_files) for log in self.logs]

    @cached_property
    def hidden(self) -> list[int]:
        """The number of values in each run that the restart policy hides."""
        return [log.hidden for log in self.logs]

    @cached_property
    def problems(self) -> list[int]:
        """The number of problems in each run."""
        return [len(log.list_problems()) for log in self.logs]

    def find_values(self, column: Column) -> Found:
        """Return the rows that have a value for a tag's statistic, and the values."""
        if self._has_limit and column.what == AT:
            return self._values_at(column.name, column.step or 0)
        if not self._has_limit and column.what in _ENDS:
            ends = self._ends_of(column.name)
            return _NOTHING if ends is None else getattr(ends, column.what)()
        curves = self.curves_of(column.name)
        if curves is None:
            return _NOTHING
        if isinstance(curves, Curves) and column.what == AT:
            return curves.at(column.step or 0)
        if column.what in ("best", "best_step"):
            is_lowest = self._is_lower_better(column.name)
            if column.what == "best_step":
                return curves.best_step(is_lowest)
            return curves.min() if is_lowest else curves.max()
        found: Found = getattr(curves, column.what)()
        return found

    def rows_with(self, tag: str) -> set[int]:
        """Return the rows that have a tag of any kind that equals or matches `tag`."""
        names = set(match_glob(self.tags, tag)) | {tag}
        return {row for row, own in enumerate(self._tags) if not names.isdisjoint(own)}

    @cached_property
    def tags(self) -> list[str]:
        """The tags of all kinds in all runs; text tags are also listed without their suffix."""
        return list(dict.fromkeys(tag for own in self._tags for tag in own))

    @cached_property
    def _tags(self) -> list[list[str]]:
        found = []
        for row, log in enumerate(self.logs):
            if self._has_limit:
                own = [tag for tag in log.scalars if row in self._rows_by_tag.get(tag, ())]
            else:
                own = [tag for tag, series in log.scalars.items() if series.steps.size]
            found.append(name_tags(own, log.payloads))
        return found

    def knows_best(self, tag: str) -> bool:
        """Return whether a tag's better direction, higher or lower, is known."""
        return find_direction(tag, self._given_direction(tag)).better is not None

    def _is_lower_better(self, tag: str) -> bool:
        direction = find_direction(tag, self._given_direction(tag))
        if direction.better is None:
            raise CannotFold(
                f"Cannot tell from the name of '{escape(tag)}' whether higher or lower is better."
                " Set better='higher' or 'lower' (--better), or use 'min' or 'max'."
            )
        return direction.better == LOWER

    def _given_direction(self, tag: str) -> Better | None:
        if self._better is None or isinstance(self._better, str):
            return self._better
        if tag in self._better:
            return self._better[tag]
        matches = (better for glob, better in self._better.items() if match_glob([tag], glob))
        return next(matches, None)

    @cached_property
    def _statistics(self) -> dict[str, CurveStatistics]:
        """The statistics of all tags, computed in one pass over runs that have a memory limit."""
        found: dict[str, CurveStatistics] = {}
        for start, own in map_runs(self.logs, _compute_statistics):
            for tag, statistics in own.items():
                found.setdefault(tag, CurveStatistics()).append(statistics, start)
        return found

    @cached_property
    def _rows_by_tag(self) -> dict[str, set[int]]:
        return {tag: set(own.rows.tolist()) for tag, own in self._statistics.items()}

    def _values_at(self, tag: str, step: int) -> Found:
        found = map_runs(self.logs, partial(_find_values_at, tag, step))
        return join_found([(rows + start, values) for start, (rows, values) in found])

    def _ends_of(self, tag: str) -> Ends | CurveStatistics | None:
        return self._scalars.ends(tag)

    def curves_of(self, tag: str) -> Curves | CurveStatistics | None:
        """Return the statistics of a tag in all runs, or None if it has no points."""
        if self._has_limit:
            return self._statistics.get(tag)
        if tag not in self._curves:
            # Keep only one, because it contains all points of the tag.
            self._curves = {tag: self._scalars.curves(tag)}
        return self._curves[tag]

    @cached_property
    def _times(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The start time and the duration of each run, in seconds."""
        starts, ends = self._wall_times
        for row, status in enumerate(self.statuses):
            if status.started is not None:
                starts[row] = status.started
            if status.ended is not None:
                ends[row] = status.ended
        return starts, ends - starts

    @property
    def _wall_times(self) -> NDArray[np.float64]:
        """The wall times of the first and of the last event of each run."""
        found = np.empty((2, len(self)))
        for row, log in enumerate(self.logs):
            found[:, row] = log.wall_time_range
        return found

    @property
    def _step_cells(self) -> list[int | None]:
        cells: list[int | None] = [None] * len(self)
        rows, steps = self.last_steps
        if len(rows) == len(self):
            cells = steps.tolist()
        else:
            for row, step in zip(rows.tolist(), steps.tolist(), strict=True):
                cells[row] = step
        return cells

    @cached_property
    def last_steps(self) -> Found:
        """The rows that have steps, and the last step of each.

        System metrics are ignored, because their steps count seconds.
        """
        found, has_any = self._last_scalar_steps
        for row, log in self._rich:
            if has_any[row]:
                continue
            others = [
                int(payloads.steps.max())
                for (kind, tag), payloads in log.payloads.items()
                if len(payloads) and kind != "hparams" and not is_story_tag(tag)
            ]
            if others:
                found[row], has_any[row] = max(others), True
        rows = np.flatnonzero(has_any)
        return rows, found[rows]

    @property
    def _last_scalar_steps(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The last step of the scalars of each run, and whether it has any."""
        if not self._has_limit:
            return self._scalars.last_steps(lambda tag: not is_system_tag(tag))
        found = np.full(len(self), np.iinfo(np.int64).min)
        has_any = np.zeros(len(self), np.bool_)
        for tag, own in self._statistics.items():
            if not is_system_tag(tag):
                rows, steps = own.last_step()
                np.maximum.at(found, rows, steps)
                has_any[rows] = True
        return found, has_any

    def _last(self, column: Column) -> Iterable[tuple[int, Any]]:
        """Yield the row and the last text or image of a tag, for each run that has one."""
        from runfold._tables.frames.decoded_values import ROWS

        for row, log, payloads in self._stored[column.what].get(column.name, ()):
            payloads = payloads.readable()
            if len(payloads):
                number = len(payloads) - 1 - int(payloads.steps[::-1].argmax())
                only = payloads.only(slice(number, number + 1))
                with noting_changes(log):
                    for decoded in ROWS[column.what]([(log, only)]):
                        yield row, decoded.value
                        break

    def _spread(self, found: Iterable[tuple[int, Any]]) -> list[Any]:
        cells: list[Any] = [None] * len(self)
        for row, value in found:
            cells[row] = value
        return cells


def _compute_statistics(logs: Sequence[RunLog]) -> dict[str, CurveStatistics]:
    """Return the statistics of all tags; the first run has row 0."""
    found: dict[str, CurveStatistics] = {}
    for tag, curves in _split(logs):
        found.setdefault(tag, CurveStatistics()).add(curves)
    return found


def _find_values_at(tag: str, step: int, logs: Sequence[RunLog]) -> Found:
    found = [curves.at(step) for _, curves in _split(logs, tag.__eq__)]
    return join_found([_NOTHING, *found])


def _split(
    logs: Sequence[RunLog], keeps: Callable[[str], bool] = lambda tag: True
) -> Iterator[tuple[str, Curves]]:
    """Yield the curves of each tag that `keeps` accepts, for some of the runs at a time."""
    row = -1
    previous: RunLog | None = None
    for batch in split_runs(logs, keeps):
        parts: dict[str, list[tuple[int, RunLog]]] = {}
        for log, tags in batch:
            # A run with many points is in several batches.
            row += log is not previous
            previous = log
            for tag in tags:
                parts.setdefault(tag, []).append((row, log))
        for tag, own in parts.items():
            every = [(row_of, of_row.scalars[tag]) for row_of, of_row in own]
            pairs = [(row_of, series) for row_of, series in every if series.steps.size]
            if pairs:
                yield tag, Curves.of(*map(list, zip(*pairs, strict=True)))


def _read_status(log: RunLog) -> RunStatus:
    from runfold._tables.by_run.run_story import read_status

    with noting_changes(log):
        return read_status(log)
    return RunStatus("unknown")


def name_tags(scalars: Iterable[str], payloads: Mapping[tuple[str, str], Payloads]) -> list[str]:
    """Return the tags of a run, and those of text also without their suffix."""
    own = list(scalars)
    own += [tag for (_, tag), values in payloads.items() if len(values)]
    return own + [tag.removesuffix(TEXT_SUFFIX) for tag in own if tag.endswith(TEXT_SUFFIX)]


def _restore_integers(log: RunLog, own: dict[str, Any]) -> dict[str, Any]:
    """Convert floats back to the integers in the tracked configuration; hparams store floats."""
    if ("text", STORY_PREFIX + story_parts.CONFIG) not in log.payloads:
        return own
    from runfold._story.story_records import name_leaves
    from runfold._tables.by_run.run_story import read_part

    config: dict[str, Any] = {}
    with noting_changes(log):
        config = dict(name_leaves(read_part(log, story_parts.CONFIG) or {}))
    return {
        name: config[name] if type(config.get(name)) is int and config[name] == value else value
        for name, value in own.items()
    }


def _count_values(log: RunLog) -> dict[str, int]:
    from runfold._tables.frames.decoded_values import embeddings_of, name_of

    # A mesh consists of several tags, such as vertices and faces.
    named: dict[tuple[str, str], int] = {}
    for (kind, _), payloads in log.payloads.items():
        key = kind, name_of(log, payloads)
        named[key] = max(named.get(key, 0), len(payloads))
    counts: dict[str, int] = {}
    for (kind, _), count in named.items():
        counts[kind] = counts.get(kind, 0) + count
    if log.config is not None:
        counts["embedding"] = len(embeddings_of(log))
    return counts


def _bare(tag: str, tags: Mapping[str, object]) -> str:
    bare = tag.removesuffix(TEXT_SUFFIX)
    return tag if bare in tags else bare
