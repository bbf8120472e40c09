"""Hparams as DataFrames: the settings of each run, its session, and its metrics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from runfold._events.kinds.hparams import Experiment, SessionEnd, SessionStart
from runfold._tables.frames.column_values import categories, objects
from runfold._tables.frames.hparam_values import by_run, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._tables.frames.frame import Table

    Selected = Iterable[tuple[RunLog, Payloads]]


def long_frame(selected: Selected) -> Table:
    """One row a setting: run, hparam, value (bool, float or str, as stored)."""
    rows = [
        (run, name, value)
        for run, said in by_run(selected).items()
        for name, value in settings(said).items()
    ]
    return _frame(rows, ("run", "hparam"), ("value",))


def wide_frame(selected: Selected) -> Table:
    """One row a run that has hparams, one column an hparam; missing where it has no such one."""
    import pandas as pd

    from runfold._tables.frames.frame import Table

    found = {
        run: settings(said)
        for run, said in by_run(selected).items()
        # A folder that only names the experiment, as Keras tuners write it, is no trial of it.
        if any(isinstance(one, SessionStart) for one in said)
    }
    names = list(dict.fromkeys(name for values in found.values() for name in values))
    return Table(
        {name: [values.get(name) for values in found.values()] for name in names},
        index=pd.Index(list(found), name="run", dtype=object),
        columns=pd.Index(names, name="hparam", dtype=object),
    )


def session_frame(selected: Selected) -> Table:
    """One row a run: group, status, start and end time of its last session (NaN if not logged).

    A run that is resumed begins a session again, and TensorBoard's page has one row
    for it too. It shows the first; what that says of its end is no longer true.
    """
    rows = []
    for run, said in by_run(selected).items():
        start: SessionStart | None = None
        end: SessionEnd | None = None
        for one in said:
            if isinstance(one, SessionStart):
                start, end = one, None
            elif isinstance(one, SessionEnd):
                end = one
        if start or end:
            rows.append(
                (
                    run,
                    start.group_name if start else "",
                    end.status if end else "",
                    # 0 is what protobuf gives for a time that torch did not set.
                    (start.start_time if start else 0) or math.nan,
                    (end.end_time if end else 0) or math.nan,
                )
            )
    return _frame(rows, ("run",), ("group", "status", "start_time", "end_time"))


def experiment_frame(selected: Selected) -> Table:
    """One row an hparam that an experiment announces, with what it may be."""
    names = ("name", "type", "domain", "display_name", "description")
    return _frame(_list_announced(selected, "hparams", names), ("run", "hparam"), names[1:])


def metric_frame(selected: Selected) -> Table:
    """One row a metric that a run's experiment names."""
    names = ("tag", "group", "display_name", "description", "dataset")
    return _frame(_list_announced(selected, "metrics", names), ("run",), names)


def _list_announced(selected: Selected, what: str, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The run and some attributes of each hparam or metric that an experiment announces."""
    return [
        (run, *(getattr(entry, name) for name in names))
        for run, said in by_run(selected).items()
        for one in said
        if isinstance(one, Experiment)
        for entry in getattr(one, what)
    ]


def _frame(rows: Sequence[tuple[Any, ...]], named: Sequence[str], others: Sequence[str]) -> Table:
    import pandas as pd

    from runfold._tables.frames.frame import Table

    columns = list(zip(*rows, strict=True)) if rows else [()] * (len(named) + len(others))
    ones = [1] * len(rows)
    return Table(
        {
            **{
                name: categories(column, ones) for name, column in zip(named, columns, strict=False)
            },
            **{
                name: pd.Series(objects(column)).infer_objects()
                for name, column in zip(others, columns[len(named) :], strict=True)
            },
        }
    )
