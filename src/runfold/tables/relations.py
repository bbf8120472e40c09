"""The rows of the tables that a query sees, from the logs.

Only what a query needs is read: the runs that its filters let by, their values
of the kind, with the tags that its filters let by, and the columns that it
names. A column that is not needed is there and holds nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold.tables.arrays import (
    blob_array,
    list_array,
    map_array,
    name_array,
    number_array,
    text_array,
)
from runfold.tables.hparams import join_settings
from runfold.tables.schema import EDGES, TOTALS, schema_of
from runfold.tables.values import ROWS
from runfold.text import utf8

if TYPE_CHECKING:
    import pyarrow as pa

    from runfold.events.problems import Problem
    from runfold.logdir.load import Logdir
    from runfold.logdir.log import RunLog
    from runfold.tables.pushdown import Need
    from runfold.tables.rows import Row

Made = tuple[int, dict[str, Callable[[], Any]]]


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


def build_table(table: str, source: Source, need: Need) -> pa.Table:
    """The rows of a table that a query needs. Raises BadLog in strict mode."""
    import pyarrow as pa

    count, made = _BUILDERS[table](source, need)
    schema = schema_of(table)
    columns = [
        made[field.name]() if need.has(field.name) else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def _logs(source: Source, need: Need) -> list[RunLog]:
    return source.read([name for name in source.names if need.keeps("run", utf8(name))])


def _runs(source: Source, need: Need) -> Made:
    """One row a run."""
    from runfold.tables.listing import list_run
    from runfold.tables.story import read_status

    logs = _logs(source, need)
    counted = ("points", "hidden", "files", "size", "problems")
    is_counted = any(map(need.has, ("start", "duration", "first_step", "last_step", *counted)))
    lines = [list_run(log) for log in logs] if is_counted else []
    spans = [line.steps or (None, None) for line in lines]

    def hparams() -> Any:
        found = _settings(source, need)
        spelled = [found.get(log.name, {}).items() for log in logs]
        return map_array([{name: _spell(value) for name, value in one} for one in spelled])

    return len(logs), {
        "run": lambda: name_array([log.name for log in logs]),
        "path": lambda: text_array([log.path for log in logs]),
        "status": lambda: text_array([read_status(log).state for log in logs]),
        "start": lambda: _seconds([line.start for line in lines]),
        "duration": lambda: _seconds([line.duration for line in lines]),
        **{name: partial(_numbers, lines, name, np.int64) for name in counted},
        "first_step": lambda: number_array([first for first, _ in spans], np.int64),
        "last_step": lambda: number_array([last for _, last in spans], np.int64),
        "hparams": hparams,
    }


def _scalars(source: Source, need: Need) -> Made:
    """One row a point."""
    series = [
        one
        for log in _logs(source, need)
        for tag, one in log.scalars.items()
        if need.keeps("tag", utf8(tag))
    ]
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
    rows = [
        (run, name, value)
        for run, values in _settings(source, need).items()
        for name, value in values.items()
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


def _settings(source: Source, need: Need) -> dict[str, dict[str, Any]]:
    """The hparams by run; those that `add_hparams` of torch put below a run are the run's own."""
    wanted = [
        name
        for name in source.names
        if need.keeps("run", utf8(name)) or need.keeps("run", utf8(name.rpartition("/")[0] or "."))
    ]
    found, parts = join_settings(source.read(wanted))
    return {run: values for run, values in found.items() if run not in parts}


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
    "scalars": _scalars,
    "hparams": _hparams,
    "text": _text,
    "images": _images,
    "histograms": _histograms,
    "problems": _problems,
}


def _rows(kind: str, source: Source, need: Need) -> Iterable[Row[Any]]:
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
    """A setting as text: 48.0 as `48`, True as `true`; None for one without a value."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
