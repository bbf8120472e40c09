"""Folders created by `add_hparams` inside a run's folder, and the runs they belong to.

Each call to `add_hparams` in torch and tensorboardX creates a time-stamped folder
inside the run's folder. It contains the run's hparams and final metrics, so it is part
of that run. If these folders contradict each other or the run, each is a separate
trial, because a sweep in one process logs that way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from runfold.errors import FileChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog

    Settings = dict[str, Any]

# The format of `str(time.time())`.
_TIME_STAMP = re.compile(r"[0-9]{9,}\.[0-9]+")


def parent_of(run: str) -> str | None:
    """Return the run that a time-stamped folder may be part of; None for any other folder."""
    # Rejects most names quickly, which matters with 100,000 runs.
    if "." not in run or not run[-1].isdecimal():
        return None
    folder, _, last = run.rpartition("/")
    return (folder or ".") if _TIME_STAMP.fullmatch(last) else None


def find_families(names: Mapping[str, object]) -> dict[str, list[str]]:
    """Return the folders that may be part of each run, by run name."""
    families: dict[str, list[str]] = {}
    for name in names:
        parent = parent_of(name)
        if parent is not None and parent in names:
            families.setdefault(parent, []).append(name)
    return families


class Joins:
    """Assigns the folders created by `add_hparams` to runs.

    A folder's hparams are decoded once, and again after its files have changed.
    """

    def __init__(self) -> None:
        self._decoded: dict[str, tuple[Mapping[tuple[str, str], Payloads], Settings | None]] = {}

    def find(self, families: Mapping[str, list[str]], logs: Mapping[str, RunLog]) -> dict[str, str]:
        """Return the run that each joined folder belongs to, by folder name.

        All logs of these families must have been read already.
        """
        names = {*families, *(name for family in families.values() for name in family)}
        self._decoded = {name: decoded for name, decoded in self._decoded.items() if name in names}
        owners: dict[str, str] = {}
        # Outer folders come first, because a part of a run cannot have parts.
        for parent in sorted(families, key=len):
            if parent in owners:
                continue
            own = self._settings(parent, logs[parent])
            settings = {name: self._settings(name, logs[name]) for name in families[parent]}
            parts = {
                name: hparams
                for name, hparams in settings.items()
                # An embedding's files are located through the folder of its run.
                if hparams is not None and logs[name].config is None
            }
            if not _contradict([own or {}, *parts.values()]):
                owners |= dict.fromkeys(parts, parent)
        return owners

    def _settings(self, name: str, log: RunLog) -> Settings | None:
        payloads = log.own_payloads
        known = self._decoded.get(name)
        if known is None or known[0] is not payloads:
            try:
                known = payloads, _read_hparams(log)
            except FileChanged:  # the next refresh reads it again
                return None
            self._decoded[name] = known
        return known[1]


def _read_hparams(log: RunLog) -> Settings | None:
    """Return the hparams in a run's own folder, or None if there are none.

    Invalid values are skipped here, and reported when they are requested.
    """
    payloads = [
        values.readable() for (kind, _), values in log.own_payloads.items() if kind == "hparams"
    ]
    if not any(map(len, payloads)):
        return None
    from runfold._events.kinds.hparams import SessionStart, decode

    stored = [
        ((int(number), int(record)), data)
        for values in payloads
        for number, record, data in zip(
            values.files, values.items["record"], log.fetch(values), strict=True
        )
    ]
    settings: Settings = {}
    for _, data in sorted(stored, key=lambda entry: entry[0]):
        try:
            value = decode(data)
        except ValueError:
            continue
        if isinstance(value, SessionStart):
            settings.update(value.hparams)
    return settings


def _contradict(all_settings: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether any two mappings have different values for the same hparam."""
    merged: dict[str, Any] = {}
    for own in all_settings:
        for name, value in own.items():
            if merged.setdefault(name, value) != value and value == value:
                return True
    return False
