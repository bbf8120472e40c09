"""Folders that `add_hparams` made inside a run's folder, and the runs they belong to.

torch's and tensorboardX's `add_hparams` create a folder for each call, named by
the time, inside the run's folder. It holds the run's hparams and final metrics,
so it is part of that run. Where such folders contradict each other or the run,
each is a separate trial: a sweep in one process logs that way.
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

# As Python prints time.time().
_TIME_STAMP = re.compile(r"[0-9]{9,}\.[0-9]+")


def parent_of(run: str) -> str | None:
    """The run that a folder with a time for its name may be part of; None for any other name."""
    # Most names are ruled out here, which matters with 100,000 runs.
    if "." not in run or not run[-1].isdecimal():
        return None
    folder, _, last = run.rpartition("/")
    return (folder or ".") if _TIME_STAMP.fullmatch(last) else None


def find_families(names: Mapping[str, object]) -> dict[str, list[str]]:
    """The folders that may be part of each run, by the name of the run."""
    families: dict[str, list[str]] = {}
    for name in names:
        parent = parent_of(name)
        if parent is not None and parent in names:
            families.setdefault(parent, []).append(name)
    return families


class Joins:
    """Decides which folders are part of which run.

    The hparams of a folder are decoded once, and again after its files have changed.
    """

    def __init__(self) -> None:
        self._decoded: dict[str, tuple[Mapping[tuple[str, str], Payloads], Settings | None]] = {}

    def find(self, families: Mapping[str, list[str]], logs: Mapping[str, RunLog]) -> dict[str, str]:
        """The run that each joined folder belongs to, by the name of the folder.

        All logs of the families must have been read.
        """
        names = {*families, *(name for family in families.values() for name in family)}
        self._decoded = {name: one for name, one in self._decoded.items() if name in names}
        owners: dict[str, str] = {}
        # A folder comes before those inside it: a part of a run has no parts.
        for parent in sorted(families, key=len):
            if parent in owners:
                continue
            own = self._settings(parent, logs[parent])
            settings = {name: self._settings(name, logs[name]) for name in families[parent]}
            parts = {
                name: found
                for name, found in settings.items()
                # The files of an embedding are found through the folder of its run.
                if found is not None and logs[name].config is None
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
    """The hparams in a run's own folder; None where it holds none.

    A value that does not decode is skipped here, and noted by whoever asks for it.
    """
    found = [one.readable() for (kind, _), one in log.own_payloads.items() if kind == "hparams"]
    if not any(map(len, found)):
        return None
    from runfold._events.kinds.hparams import SessionStart, decode

    stored = [
        ((int(number), int(record)), data)
        for one in found
        for number, record, data in zip(one.files, one.items["record"], log.fetch(one), strict=True)
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
    """Whether any two give one hparam different values."""
    merged: dict[str, Any] = {}
    for own in all_settings:
        for name, value in own.items():
            if merged.setdefault(name, value) != value and value == value:
                return True
    return False
