"""Hparams as DataFrames: the settings of each run, its session, and its metrics."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from runfold.events.kinds.hparams import Experiment, SessionEnd, SessionStart
from runfold.events.kinds.hparams import decode as decode_hparams
from runfold.tables.rows import Stored, decode_rows, fetched, noting_changes, objects
from runfold.tables.scalars import categories

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from runfold.events.kinds.hparams import HParams
    from runfold.logdir.log import RunLog
    from runfold.logdir.payloads import Payloads
    from runfold.tables.table import Table

    Selected = Iterable[tuple[RunLog, Payloads]]


def by_run(selected: Selected) -> dict[str, list[HParams]]:
    """What each run says of its hparams, in the order in which it says it."""
    found: dict[str, list[tuple[Stored, bytes]]] = {}
    for place, data in fetched(selected):
        found.setdefault(place.log.name, []).append((place, data))
    return {
        run: [row.value for row in decode_rows(sorted(stored, key=_order), decode_hparams)]
        for run, stored in found.items()
    }


def _order(stored: tuple[Stored, bytes]) -> tuple[int, int]:
    place, _ = stored
    return int(place.payloads.files[place.row]), int(place.item["record"])


def settings(said: Iterable[HParams]) -> dict[str, Any]:
    """The hparams of one run; where they were logged twice, the later value."""
    merged: dict[str, Any] = {}
    for one in said:
        if isinstance(one, SessionStart):
            merged.update(one.hparams)
    return merged


def stored_in(log: RunLog, is_own: bool = False) -> Iterator[tuple[RunLog, Payloads]]:
    """The stored hparams of a run that can be read, or only those in its own folder."""
    for (kind, _), payloads in (log.own_payloads if is_own else log.payloads).items():
        if kind == "hparams":
            yield log, payloads.readable()


def read_settings(logs: Iterable[RunLog]) -> dict[str, dict[str, Any]]:
    """The hparams of each run that has any, and whose files can be read."""
    found = {}
    for log in logs:
        with noting_changes(log):
            for run, said in by_run(stored_in(log)).items():
                found[run] = settings(said)
    return found


def announced_metrics(log: RunLog) -> set[str]:
    """The tags that the run's own experiment names as metrics."""
    return {
        metric.tag
        for one in by_run(stored_in(log)).get(log.name, ())
        if isinstance(one, Experiment)
        for metric in one.metrics
    }


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

    from runfold.tables.table import Table

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
    rows = [
        (run, *(getattr(hparam, name) for name in names))
        for run, said in by_run(selected).items()
        for one in said
        if isinstance(one, Experiment)
        for hparam in one.hparams
    ]
    return _frame(rows, ("run", "hparam"), names[1:])


def metric_frame(selected: Selected) -> Table:
    """One row a metric that a run's experiment names."""
    names = ("tag", "group", "display_name", "description", "dataset")
    rows = [
        (run, *(getattr(metric, name) for name in names))
        for run, said in by_run(selected).items()
        for one in said
        if isinstance(one, Experiment)
        for metric in one.metrics
    ]
    return _frame(rows, ("run",), names)


def _frame(rows: Sequence[tuple[Any, ...]], named: Sequence[str], others: Sequence[str]) -> Table:
    import pandas as pd

    from runfold.tables.table import Table

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
