"""The trials of a writer: which hparams describe its run, and which describe a trial."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from runfold._events import value_encoding
from runfold._files import list_event_files
from runfold._humanize import escape
from runfold._log.summary.hparams_session import Session, Setting, StrPath, plan
from runfold._warnings import warn_caller
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

# Values as text, because NaN does not equal itself and True equals 1.0.
_Key: TypeAlias = frozenset[tuple[str, str]]


class Trials:
    """The hparams of a writer's run and of its trials.

    A trial is a run in a folder below the writer's, so that TensorBoard lists it with its own
    hparams and metrics. Not thread-safe: the writer holds a lock.

    Attributes:
        folder: the run's folder.
        own: the session of the run itself.
        mark: a suffix for the folders of unnamed trials, unique to the writer if writers in other
            folders log to the same run.
    """

    def __init__(self, folder: str, mark: str = "") -> None:
        self.folder = folder
        self.mark = mark
        self.own = Session(folder)
        self._trials: dict[str, Session] = {}
        self._unnamed: dict[_Key, Session] = {}
        self._reported: _Key | None = None
        self._domains: dict[str, tuple[Setting, ...]] = {}
        self._metrics: dict[str, None] = {}
        self._written = b""
        self._number = 1

    def find(
        self, settings: Mapping[str, Setting], name: StrPath | None, is_report: bool
    ) -> Session:
        """Return the session that a call belongs to, creating the folder of a new trial.

        In calls without a name, the first hparams belong to the run itself, and so do the same
        hparams in later calls, and additional ones. Hparams equal to those of a trial belong to
        that trial. Any other hparams start a new trial if they contradict the run's hparams, or
        if both this call and an earlier call for the run report metrics.
        """
        if name:
            return self._find_named(os.fsdecode(name))
        key = _key(settings)
        if not settings or key == _key(self.own.settings):
            return self._keep(key, is_report)
        if key in self._unnamed:
            return self._unnamed[key]
        is_report_of_run = self._reported is None or self._reported == key
        if (is_report_of_run or not is_report) and not self._contradicts(settings):
            return self._keep(key, is_report)
        self._unnamed[key] = self._begin(self._claim_folder())
        return self._unnamed[key]

    def move(self, folder: str, mark: str) -> None:
        """Continue in a different folder: a forked child does not upload its parent's folder."""
        for session in (self.own, *self._trials.values()):
            session.folder = os.path.join(folder, os.path.relpath(session.folder, self.folder))
        self._trials = {os.path.realpath(trial.folder): trial for trial in self._trials.values()}
        self.folder, self.mark = folder, mark

    def adopt(self, settings: Mapping[str, Setting]) -> None:
        """Use these as the run's hparams: an earlier writer has logged them in the run's folder."""
        self.own.settings = dict(settings)
        self.own.is_begun = bool(settings)

    def announce(self, domains: Mapping[str, tuple[Setting, ...]], metrics: Iterable[str]) -> None:
        """Add domains and metrics to the experiment, which is written when the writer is closed."""
        self._domains |= domains
        self._metrics |= dict.fromkeys(metrics)

    def end(self, raised: BaseException | None) -> list[bytes]:
        """Return the last values of the run's file: the experiment and the session's end.

        TensorBoard uses the first experiment in a run and shows only what the experiment lists.
        Without an experiment, it shows everything in all runs. So the experiment is written last,
        when all trials are known.
        """
        messages = self.own.end(raised)
        if not self.own.is_ours or not (self._metrics or self._domains):
            return messages
        experiment = value_encoding.hparams_experiment(
            plan(self._values(), self._domains, self._metrics)
        )
        if experiment != self._written:  # unless an earlier close wrote it
            self._written = experiment
            messages.insert(0, experiment)
        return messages

    def _keep(self, key: _Key, is_report: bool) -> Session:
        if is_report and key and self._reported is None:
            self._reported = key
        return self.own

    def _contradicts(self, settings: Mapping[str, Setting]) -> bool:
        own = self.own.settings
        return any(name in own and repr(own[name]) != repr(settings[name]) for name in settings)

    def _find_named(self, name: str) -> Session:
        folder = os.path.join(self.folder, name)
        path, root = os.path.realpath(folder), os.path.realpath(self.folder)
        if path == root:  # run_name="." is a common way to log hparams in the run itself
            return self.own
        if path not in self._trials:
            if os.path.commonpath([path, root]) != root:
                if os.path.commonpath([os.path.normpath(os.path.join(root, name)), root]) == root:
                    raise CannotLog(
                        f"The trial '{escape(name)}' was not logged: its folder is a link to "
                        f"{escape(path)}. Remove the link, or use another name."
                    )
                warn_caller(
                    f"The trial '{escape(name)}' is written to {escape(path)}, outside the run's "
                    f"folder {escape(root)}. To keep it inside, use a name without '..' or a "
                    "leading '/'."
                )
            self._begin(folder)
        return self._trials[path]

    def _begin(self, folder: str) -> Session:
        trial = self._trials[os.path.realpath(folder)] = Session(folder)
        return trial

    def _claim_folder(self) -> str:
        """Create a unique folder for an unnamed trial. Raises OSError."""
        while True:
            self._number += 1
            folder = os.path.join(self.folder, f"trial-{self._number}{self.mark}")
            try:
                os.makedirs(folder)
            except FileExistsError:
                continue
            return folder

    def _values(self) -> dict[str, Iterable[Setting]]:
        """Return all values of each hparam, in the run and its trials."""
        by_name: dict[str, dict[str, Setting]] = {}
        for session in (self.own, *self._trials.values()):
            for name, value in session.settings.items():
                by_name.setdefault(name, {})[repr(value)] = value
        return {name: values.values() for name, values in by_name.items()}


def read_earlier(folder: str, own_files: Collection[str]) -> dict[str, Setting]:
    """Return the hparams in a folder's other event files; empty if they cannot be read."""
    from runfold._events.kinds.hparams import SessionStart, decode
    from runfold._logdir.run_log import read_event_files

    settings: dict[str, Setting] = {}
    with suppress(Exception):  # a damaged log must not make this call fail
        names = (os.path.join(folder, name) for name in list_event_files(folder))
        log = read_event_files(folder, sorted(set(names) - set(own_files)))
        stored = [payloads for (kind, _), payloads in log.payloads.items() if kind == "hparams"]
        for message in (item for payloads in stored for item in log.fetch(payloads.readable())):
            start = decode(message)
            if isinstance(start, SessionStart):
                settings.update(start.hparams)
    return settings


def _key(settings: Mapping[str, Setting]) -> _Key:
    return frozenset((name, repr(value)) for name, value in settings.items())
