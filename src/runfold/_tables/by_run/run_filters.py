"""Common filters: failed, short, newest, incomplete and repeated runs.

Each function returns rows of an overview.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

from runfold._humanize import not_one_of
from runfold._select import select
from runfold._tables.by_run.run_columns import Column
from runfold._tables.by_run.run_table import sort_rows
from runfold._tables.found_config.found_settings import ABOVE
from runfold.errors import RunfoldError, UnknownTag

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._logdir.run_log import RunLog
    from runfold._select import Names
    from runfold._tables.by_run.overview import Overview

FAILED = ("failed", "crashed")
DUPLICATES = ("hparams", "content")


def name_rows(overview: Overview, rows: Iterable[int]) -> list[str]:
    """Return the names of the runs in these rows."""
    return [overview.runs[row] for row in rows]


def failed_runs(overview: Overview) -> list[int]:
    """Return the rows of runs that ended with an error, or crashed."""
    return [row for row, status in enumerate(overview.statuses) if status.state in FAILED]


def lacking_runs(overview: Overview, tags: Names) -> list[int]:
    """Return the rows of runs that lack at least one of the tags, of any kind.

    A run lacks a glob if no tag of the run matches it. Raises UnknownTag for a tag that no run
    has.
    """
    tags = [tags] if isinstance(tags, str) else list(tags or ())
    try:
        select(overview.tags, tags)
    except UnknownTag:
        if len(overview.whole):
            select(overview.whole.tags, tags)
    has_all = set(range(len(overview)))
    for tag in tags:
        has_all &= overview.rows_with(tag)
    return [row for row in range(len(overview)) if row not in has_all]


def shorter_runs(overview: Overview, steps: int) -> list[int]:
    """Return the rows of runs whose last step is below `steps`, and of runs without steps."""
    last = overview.cells(Column("steps"))
    return [row for row, step in enumerate(last) if step is None or step < steps]


def newest_runs(overview: Overview, count: int) -> list[int]:
    """Return the rows of the runs that started last, in table order."""
    starts = overview.cells(Column("start"))
    return sorted(sort_rows(starts, range(len(overview)), reverse=True)[: max(count, 0)])


def duplicate_runs(overview: Overview, by: str = "hparams") -> list[int]:
    """Return the rows of runs that repeat a run that started earlier.

    "hparams" compares hparams and ignores runs without any, and runs whose only hparams come
    from a file above the run's folder, because several runs share that file. "content" compares
    all points including their times, and so finds copied folders.
    """
    if by not in DUPLICATES:
        raise RunfoldError(not_one_of("by", by, DUPLICATES))
    seen: set[object] = set()
    found = []
    starts = overview.cells(Column("start"))
    for row in sort_rows(starts, range(len(overview))):
        if by == "content":
            key = _digest(overview.logs[row])
        else:
            own = overview.settings[row]
            is_own = any(not source.startswith(ABOVE) for source in overview.sources[row].values())
            key = json.dumps(own, sort_keys=True, default=str) if is_own else ""
        if key and key in seen:
            found.append(row)
        seen.add(key)
    return sorted(found)


def _digest(log: RunLog) -> str:
    """Return a hash of everything that a run logged; empty for an empty run."""
    digest = hashlib.blake2b()
    for tag in sorted(log.scalars):
        series = log.scalars[tag]
        digest.update(repr((tag, len(series))).encode())
        for array in (series.steps, series.values, series.wall_times):
            digest.update(array.tobytes())
    for key in sorted(log.payloads):
        payloads = log.payloads[key]
        digest.update(repr((key, len(payloads))).encode())
        for data in log.fetch(payloads.readable()):
            digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest() if log.points else ""
