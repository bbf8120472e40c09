"""The rows of the SQL tables, read from the logs.

Only the data that a query needs is read: the runs and tags that pass its filters, and the
columns that it names. Other columns are null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import show_value, utf8
from runfold._logdir.run_batches import split_runs
from runfold._tables.arrow.arrow_arrays import (
    blob_array,
    list_array,
    map_array,
    name_array,
    number_array,
    text_array,
)
from runfold._tables.by_run.kept_overview import open_overview
from runfold._tables.by_run.overview import Overview
from runfold._tables.by_run.run_columns import Column
from runfold._tables.frames.decoded_values import ROWS
from runfold._tables.sql.schema import EDGES, TOTALS, schema_of

if TYPE_CHECKING:
    import pyarrow as pa

    from runfold._events.problems import Problem
    from runfold._logdir.loader import Logdir
    from runfold._logdir.run_log import RunLog
    from runfold._logdir.series import Series
    from runfold._tables.frames.value_rows import Row
    from runfold._tables.sql.pushdown import Need

Made = tuple[int, dict[str, Callable[[], Any]]]

# Points per part of a large log; a longer series is one part.
_PART = 100_000


@dataclass(frozen=True, slots=True)
class Source:
    """The source of the rows: the names of all runs, and functions that read them.

    If `is_limited` is set, not all scalars fit into memory together. `overview` returns an
    overview of the given runs; by default, their logs are read.
    """

    names: Sequence[str]
    read: Callable[[list[str]], list[RunLog]]
    list_problems: Callable[[], list[Problem]]
    is_limited: bool = False
    overview: Callable[[list[str]], Overview] | None = None

    @classmethod
    def of(cls, logdir: Logdir) -> Source:
        """Return all runs of a logdir as a source."""

        def read(names: list[str]) -> list[RunLog]:
            logs = [logdir.logs[name] for name in names]
            logdir.load(logs)
            return logs

        return cls(
            list(logdir.logs),
            read,
            logdir.list_problems,
            logdir.cache is not None,
            overview=partial(open_overview, logdir),
        )


def build_table(table: str, source: Source, need: Need) -> Iterator[pa.Table]:
    """Yield the rows of a table that a query needs, in batches. Raises BadLog in strict mode."""
    import pyarrow as pa

    schema = schema_of(table)
    parts = _scalars(source, need) if table == "scalars" else [_BUILDERS[table](source, need)]
    for count, made in parts:
        columns = [
            made[field.name]() if need.has(field.name) else pa.nulls(count, field.type)
            for field in schema
        ]
        yield pa.Table.from_arrays(columns, schema=schema)


def _logs(source: Source, need: Need) -> list[RunLog]:
    """Load and return the runs that may be needed."""
    return source.read(_names(source, need))


def _names(source: Source, need: Need) -> list[str]:
    return [name for name in source.names if need.keeps("run", utf8(name))]


def _overview(source: Source, need: Need) -> Overview:
    if source.overview is None:
        return Overview(_logs(source, need))
    return source.overview(_names(source, need))


def _runs(source: Source, need: Need) -> Made:
    """Return one row per run, as in `runs.table()`."""
    overview = _overview(source, need)

    def cells(name: str) -> Any:
        return overview.cells(Column(name))

    return len(overview), {
        "run": lambda: name_array(overview.runs),
        "path": lambda: text_array(overview.paths),
        "status": lambda: text_array(cells("status")),
        "start": lambda: _seconds(cells("start")),
        "duration": lambda: _seconds(cells("duration")),
        "steps": lambda: number_array(cells("steps"), np.int64),
        "points": lambda: number_array(cells("points"), np.int64),
        "hidden": lambda: number_array(overview.hidden, np.int64),
        "files": lambda: number_array(overview.files, np.int64),
        "size": lambda: number_array(overview.sizes, np.int64),
        "problems": lambda: number_array(overview.problems, np.int64),
        "hparams": lambda: map_array(
            [{name: _spell(value) for name, value in own.items()} for own in overview.settings]
        ),
    }


def _scalars(source: Source, need: Need) -> Iterator[Made]:
    """Yield one row per point, in batches."""
    part: list[Series] = []
    size = 0
    for batch in split_runs(_logs(source, need), lambda tag: need.keeps("tag", utf8(tag))):
        for log, tags in batch:
            for tag in tags:
                series = log.scalars[tag]
                if part and size + len(series) > _PART:
                    yield _points(part)
                    part, size = [], 0
                # Parts can span batches: DuckDB gets the same ones with and without a limit.
                part.append(series)
                size += len(series)
    yield _points(part)  # yield even an empty part: a table without rows still has columns


def _points(part: list[Series]) -> Made:
    lengths = [len(series) for series in part]

    def join(name: str, dtype: type) -> Any:
        pieces = [np.empty(0, dtype), *(getattr(series, name) for series in part)]
        return number_array(np.concatenate(pieces), dtype)

    return sum(lengths), {
        "run": lambda: name_array([series.run for series in part], lengths),
        "tag": lambda: name_array([series.tag for series in part], lengths),
        "step": lambda: join("steps", np.int64),
        "wall_time": lambda: join("wall_times", np.float64),
        "value": lambda: join("values", np.float64),
    }


def _hparams(source: Source, need: Need) -> Made:
    """Return one row per hparam of a run."""
    overview = _overview(source, need)
    rows = [
        (run, name, value)
        for run, own in zip(overview.runs, overview.settings, strict=True)
        for name, value in own.items()
    ]
    values = [value for _, _, value in rows]
    flags = [value if isinstance(value, bool) else None for value in values]
    numbers = [
        float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        for value in values
    ]
    kinds = {bool: "flag", float: "number", int: "number", str: "text"}
    return len(rows), {
        "run": lambda: name_array([run for run, _, _ in rows]),
        "hparam": lambda: name_array([name for _, name, _ in rows]),
        "type": lambda: text_array([kinds.get(type(value)) for value in values]),
        "value": lambda: text_array([_spell(value) for value in values]),
        "number": lambda: number_array(numbers, np.float64),
        "flag": lambda: number_array(flags, np.bool_),
        "source": lambda: text_array(
            [
                own_sources.get(name)
                for own, own_sources in zip(overview.settings, overview.sources, strict=True)
                for name in own
            ]
        ),
    }


def _text(source: Source, need: Need) -> Made:
    """Return one row per string, even if several were logged as one value."""
    rows: list[Row[Any]] = []
    indices: list[int] = []
    texts: list[str] = []
    for row in _rows("text", source, need):
        values = [row.value] if isinstance(row.value, str) else row.value.reshape(-1).tolist()
        rows += [row] * len(values)
        indices += range(len(values))
        texts += values
    return len(rows), {
        **_positions(rows),
        "index": lambda: number_array(indices, np.int64),
        "text": lambda: text_array(texts),
    }


def _images(source: Source, need: Need) -> Made:
    """Return one row per image; the bytes are read only if needed."""
    rows = list(_rows("image", source, need))
    images = [row.value[1] for row in rows]
    return len(rows), {
        **_positions(rows),
        "index": lambda: number_array([row.value[0] for row in rows], np.int64),
        "width": partial(_numbers, images, "width", np.int64),
        "height": partial(_numbers, images, "height", np.int64),
        "data": lambda: blob_array([image.data for image in images]),
    }


def _histograms(source: Source, need: Need) -> Made:
    """Return one row per histogram."""
    rows = list(_rows("histogram", source, need))
    values = [row.value for row in rows]
    return len(rows), {
        **_positions(rows),
        **{column: partial(_lists, values, name) for column, name in EDGES.items()},
        **{name: partial(_numbers, values, name, np.float64) for name in TOTALS},
    }


def _problems(source: Source, need: Need) -> Made:
    """Return one row per problem."""
    problems = source.list_problems()
    return len(problems), {
        "run": lambda: name_array([problem.run for problem in problems]),
        "file": lambda: text_array([problem.file for problem in problems]),
        "position": partial(_numbers, problems, "offset", np.int64),
        "code": lambda: text_array([str(problem.code) for problem in problems]),
        "message": lambda: text_array([problem.message for problem in problems]),
    }


_BUILDERS: dict[str, Callable[[Source, Need], Made]] = {
    "runs": _runs,
    "hparams": _hparams,
    "text": _text,
    "images": _images,
    "histograms": _histograms,
    "problems": _problems,
}


def _rows(kind: str, source: Source, need: Need) -> Iterator[Row[Any]]:
    """Yield the decoded values of a kind."""
    return ROWS[kind](
        (log, payloads.readable())
        for log in _logs(source, need)
        for (other_kind, tag), payloads in log.payloads.items()
        if other_kind == kind and need.keeps("tag", utf8(tag))
    )


def _positions(rows: Sequence[Row[Any]]) -> dict[str, Callable[[], Any]]:
    """Return functions that make the columns run, tag, step and wall_time of stored values."""
    return {
        "run": lambda: name_array([row.run for row in rows]),
        "tag": lambda: name_array([row.tag for row in rows]),
        "step": partial(_numbers, rows, "step", np.int64),
        "wall_time": partial(_numbers, rows, "wall_time", np.float64),
    }


def _numbers(values: Sequence[object], name: str, dtype: type) -> pa.Array:
    return number_array([getattr(value, name) for value in values], dtype)


def _lists(values: Sequence[object], name: str) -> pa.Array:
    return list_array([getattr(value, name) for value in values])


def _seconds(values: Sequence[float]) -> Any:
    return number_array([None if math.isnan(value) else value for value in values], np.float64)


def _spell(value: object) -> str | None:
    return None if value is None else show_value(value)
