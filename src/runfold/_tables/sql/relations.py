"""The rows of the tables that a query sees, from the logs.

Only what a query needs is read: the runs that its filters let by, their values
of the kind, with the tags that its filters let by, and the columns that it
names. A column that is not needed is there and holds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import show_value, utf8
from runfold._tables.arrow.arrow_arrays import (
    blob_array,
    list_array,
    map_array,
    name_array,
    number_array,
    text_array,
)
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
    from runfold._tables.by_run.listing import RunLine
    from runfold._tables.frames.value_rows import Row
    from runfold._tables.sql.pushdown import Need

Made = tuple[int, dict[str, Callable[[], Any]]]

# The points of a large log are handed over so many at a time, or one series.
_PART = 100_000


@dataclass(frozen=True, slots=True)
class Source:
    """Where the rows come from: the names of all runs, and how to have some of them read."""

    names: Sequence[str]
    read: Callable[[list[str]], list[RunLog]]
    list_problems: Callable[[], list[Problem]]

    @classmethod
    def of(cls, logdir: Logdir) -> Source:
        """All runs of a logdir."""

        def read(names: list[str]) -> list[RunLog]:
            logs = [logdir.logs[name] for name in names]
            logdir.load(logs)
            return logs

        return cls(list(logdir.logs), read, logdir.list_problems)


def build_table(table: str, source: Source, need: Need) -> Iterator[pa.Table]:
    """The rows of a table that a query needs, in one or more parts. Raises BadLog if strict."""
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
    """The runs that may be needed."""
    return source.read([name for name in source.names if need.keeps("run", utf8(name))])


def _runs(source: Source, need: Need) -> Made:
    """One row a run, as in `runs.table()`."""
    from runfold._tables.by_run.listing import list_run

    overview = Overview(_logs(source, need))

    def cells(name: str) -> Any:
        return overview.cells(Column(name))

    def count(name: str) -> pa.Array:
        return number_array([getattr(line, name) for line in listed()], np.int64)

    @cache
    def listed() -> list[RunLine]:
        return [list_run(log) for log in overview.logs]

    return len(overview), {
        "run": lambda: name_array(overview.runs),
        "path": lambda: text_array([log.path for log in overview.logs]),
        "status": lambda: text_array(cells("status")),
        "start": lambda: _seconds(cells("start")),
        "duration": lambda: _seconds(cells("duration")),
        "steps": lambda: number_array(cells("steps"), np.int64),
        "points": lambda: number_array(cells("points"), np.int64),
        **{name: partial(count, name) for name in ("hidden", "files", "size", "problems")},
        "hparams": lambda: map_array(
            [{name: _spell(value) for name, value in own.items()} for own in overview.settings]
        ),
    }


def _scalars(source: Source, need: Need) -> Iterator[Made]:
    """One row a point."""
    part: list[Series] = []
    size = 0
    for log in _logs(source, need):
        for tag in log.scalars:
            if need.keeps("tag", utf8(tag)):
                one = log.scalars[tag]
                if part and size + len(one) > _PART:
                    yield _points(part)
                    part, size = [], 0
                part.append(one)
                size += len(one)
    yield _points(part)  # also of none: a table without rows has columns


def _points(series: list[Series]) -> Made:
    lengths = [len(one) for one in series]

    def join(name: str, dtype: type) -> Any:
        pieces = [np.empty(0, dtype), *(getattr(one, name) for one in series)]
        return number_array(np.concatenate(pieces), dtype)

    return sum(lengths), {
        "run": lambda: name_array([one.run for one in series], lengths),
        "tag": lambda: name_array([one.tag for one in series], lengths),
        "step": lambda: join("steps", np.int64),
        "wall_time": lambda: join("wall_times", np.float64),
        "value": lambda: join("values", np.float64),
    }


def _hparams(source: Source, need: Need) -> Made:
    """One row a setting."""
    overview = Overview(_logs(source, need))
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
    }


def _text(source: Source, need: Need) -> Made:
    """One row a text; of several that were logged as one value, a row each."""
    rows: list[Row[Any]] = []
    indices: list[int] = []
    texts: list[str] = []
    for row in _rows("text", source, need):
        several = [row.value] if isinstance(row.value, str) else row.value.reshape(-1).tolist()
        rows += [row] * len(several)
        indices += range(len(several))
        texts += several
    return len(rows), {
        **_places(rows),
        "index": lambda: number_array(indices, np.int64),
        "text": lambda: text_array(texts),
    }


def _images(source: Source, need: Need) -> Made:
    """One row an image; the bytes are read where they are asked for."""
    rows = list(_rows("image", source, need))
    images = [row.value[1] for row in rows]
    return len(rows), {
        **_places(rows),
        "index": lambda: number_array([row.value[0] for row in rows], np.int64),
        "width": partial(_numbers, images, "width", np.int64),
        "height": partial(_numbers, images, "height", np.int64),
        "data": lambda: blob_array([image.data for image in images]),
    }


def _histograms(source: Source, need: Need) -> Made:
    """One row a histogram."""
    rows = list(_rows("histogram", source, need))
    values = [row.value for row in rows]
    return len(rows), {
        **_places(rows),
        **{column: partial(_lists, values, name) for column, name in EDGES.items()},
        **{name: partial(_numbers, values, name, np.float64) for name in TOTALS},
    }


def _problems(source: Source, need: Need) -> Made:
    """One row a problem."""
    found = source.list_problems()
    return len(found), {
        "run": lambda: name_array([one.run for one in found]),
        "file": lambda: text_array([one.file for one in found]),
        "position": partial(_numbers, found, "offset", np.int64),
        "code": lambda: text_array([str(one.code) for one in found]),
        "message": lambda: text_array([one.message for one in found]),
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
    """The stored values of a kind, decoded."""
    return ROWS[kind](
        (log, payloads.readable())
        for log in _logs(source, need)
        for (found, tag), payloads in log.payloads.items()
        if found == kind and need.keeps("tag", utf8(tag))
    )


def _places(rows: Sequence[Row[Any]]) -> dict[str, Callable[[], Any]]:
    """Run, tag, step and wall time of stored values."""
    return {
        "run": lambda: name_array([row.run for row in rows]),
        "tag": lambda: name_array([row.tag for row in rows]),
        "step": partial(_numbers, rows, "step", np.int64),
        "wall_time": partial(_numbers, rows, "wall_time", np.float64),
    }


def _numbers(things: Sequence[object], name: str, dtype: type) -> pa.Array:
    return number_array([getattr(one, name) for one in things], dtype)


def _lists(things: Sequence[object], name: str) -> pa.Array:
    return list_array([getattr(one, name) for one in things])


def _seconds(values: Sequence[float]) -> Any:
    return number_array([None if math.isnan(value) else value for value in values], np.float64)


def _spell(value: object) -> str | None:
    return None if value is None else show_value(value)
