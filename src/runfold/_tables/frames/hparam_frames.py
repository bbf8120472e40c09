"""Hparams as DataFrames: the settings of each run, its session, and its metrics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from runfold._events.kinds.hparams import Experiment, SessionEnd, SessionStart
from runfold._tables.frames.column_values import categories, objects
from runfold._tables.frames.hparam_values import by_run, read_settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._tables.frames.frame import Table

    Selected = Iterable[tuple[RunLog, Payloads]]


def long_frame(logs: Iterable[RunLog], has_sources: bool = False) -> Table:
    """Return one row per setting of a run: run, hparam, value (bool, number or str).

    With `has_sources`, there is also a column `source`.
    """
    sources: dict[str, dict[str, str]] | None = {} if has_sources else None
    rows = [
        (run, name, value) if sources is None else (run, name, value, sources[run][name])
        for run, own in read_settings(logs, sources).items()
        for name, value in own.items()
    ]
    return _frame(rows, ("run", "hparam"), ("value", "source") if has_sources else ("value",))


def wide_frame(logs: Iterable[RunLog]) -> Table:
    """Return one row per run that has settings, and one column per setting."""
    import pandas as pd

    from runfold._tables.frames.frame import Table

    found = read_settings(logs)
    names = list(dict.fromkeys(name for values in found.values() for name in values))
    return Table(
        {name: [values.get(name) for values in found.values()] for name in names},
        index=pd.Index(list(found), name="run", dtype=object),
        columns=pd.Index(names, name="hparam", dtype=object),
    )


def session_frame(selected: Selected) -> Table:
    """Return one row per run: group, status, start and end time of its last session.

    Times are NaN if not logged. A resumed run starts another session. TensorBoard shows
    the first session, whose end time is no longer correct.
    """
    rows = []
    for run, messages in by_run(selected).items():
        start: SessionStart | None = None
        end: SessionEnd | None = None
        for message in messages:
            if isinstance(message, SessionStart):
                start, end = message, None
            elif isinstance(message, SessionEnd):
                end = message
        if start or end:
            rows.append(
                (
                    run,
                    start.group_name if start else "",
                    end.status if end else "",
                    # torch does not set the time, and protobuf's default is 0.
                    (start.start_time if start else 0) or math.nan,
                    (end.end_time if end else 0) or math.nan,
                )
            )
    return _frame(rows, ("run",), ("group", "status", "start_time", "end_time"))


def experiment_frame(selected: Selected) -> Table:
    """Return one row per hparam that an experiment declares, with its type and domain."""
    names = ("name", "type", "domain", "display_name", "description")
    return _frame(_list_declared(selected, "hparams", names), ("run", "hparam"), names[1:])


def metric_frame(selected: Selected) -> Table:
    """Return one row per metric that a run's experiment declares."""
    names = ("tag", "group", "display_name", "description", "dataset")
    return _frame(_list_declared(selected, "metrics", names), ("run",), names)


def _list_declared(selected: Selected, what: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the run and some attributes of each hparam or metric that experiments declare."""
    return [
        (run, *(getattr(entry, name) for name in names))
        for run, messages in by_run(selected).items()
        for message in messages
        if isinstance(message, Experiment)
        for entry in getattr(message, what)
    ]


def _frame(rows: Sequence[tuple[Any, ...]], named: Sequence[str], others: Sequence[str]) -> Table:
    import pandas as pd

    from runfold._tables.frames.frame import Table

    columns = list(zip(*rows, strict=True)) if rows else [()] * (len(named) + len(others))
    lengths = [1] * len(rows)
    return Table(
        {
            **{
                name: categories(column, lengths)
                for name, column in zip(named, columns, strict=False)
            },
            **{
                name: pd.Series(objects(column)).infer_objects()
                for name, column in zip(others, columns[len(named) :], strict=True)
            },
        }
    )
