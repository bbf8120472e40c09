"""The settings of runs: hparams decoded from the log, and settings found elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold._events.kinds.hparams import Experiment, SessionStart
from runfold._events.kinds.hparams import decode as decode_hparams
from runfold._tables.found_config.found_settings import HPARAMS, add_found
from runfold._tables.frames.value_rows import Stored, decode_rows, fetched, noting_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from runfold._events.kinds.hparams import HParams
    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog

    Selected = Iterable[tuple[RunLog, Payloads]]


def by_run(selected: Selected) -> dict[str, list[HParams]]:
    """Return the hparams messages of each run, in the order in which they were written."""
    stored_by_run: dict[str, list[tuple[Stored, bytes]]] = {}
    for stored, data in fetched(selected):
        stored_by_run.setdefault(stored.log.name, []).append((stored, data))
    return {
        run: [row.value for row in decode_rows(sorted(pairs, key=_order), decode_hparams)]
        for run, pairs in stored_by_run.items()
    }


def _order(pair: tuple[Stored, bytes]) -> tuple[int, int]:
    stored, _ = pair
    return int(stored.payloads.files[stored.row]), int(stored.item["record"])


def settings(messages: Iterable[HParams]) -> dict[str, Any]:
    """Return the hparams of one run; a later value replaces an earlier one."""
    merged: dict[str, Any] = {}
    for message in messages:
        if isinstance(message, SessionStart):
            merged.update(message.hparams)
    return merged


def stored_in(log: RunLog, is_own: bool = False) -> Iterator[tuple[RunLog, Payloads]]:
    """Yield the readable stored hparams of a run, or only those in its own folder."""
    for (kind, _), payloads in (log.own_payloads if is_own else log.payloads).items():
        if kind == "hparams":
            yield log, payloads.readable()


def read_settings(
    logs: Iterable[RunLog], sources: dict[str, dict[str, str]] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the hparams and found settings of each run that has any.

    Hparams take precedence. `sources` receives the source of each setting, by run and name.
    Values in files that changed while they were read are left out. Raises BadLog in strict mode
    if a configuration file cannot be read.
    """
    found = {}
    for log in logs:
        if not log.payloads and not log.late_problems and _has_no_files(log):
            continue  # quickly: a large sweep can contain nothing but scalars
        own: dict[str, Any] = {}
        own_sources: dict[str, str] | None = None if sources is None else {}
        with noting_changes(log):
            if log.payloads:
                own = settings(by_run(stored_in(log)).get(log.name, ()))
            if own_sources is not None:
                own_sources |= dict.fromkeys(own, HPARAMS)
            add_found(own, log, own_sources)
        if own:
            found[log.name] = own
            if sources is not None and own_sources is not None:
                sources[log.name] = own_sources
    return found


def _has_no_files(log: RunLog) -> bool:
    return log.config_files is None or log.config_files.is_empty


def announced_metrics(log: RunLog) -> set[str]:
    """Return the tags that the run's experiment declares as metrics."""
    return {
        metric.tag
        for message in by_run(stored_in(log)).get(log.name, ())
        if isinstance(message, Experiment)
        for metric in message.metrics
    }
