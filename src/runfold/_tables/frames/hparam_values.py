"""What runs say of their hparams, decoded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._events.kinds.hparams import Experiment, SessionStart
from runfold._events.kinds.hparams import decode as decode_hparams
from runfold._tables.frames.value_rows import Stored, decode_rows, fetched, noting_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runfold._events.kinds.hparams import HParams
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog

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
