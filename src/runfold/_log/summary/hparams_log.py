"""The hparams that a writer logs, for its run and for trials in folders below it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runfold._log.summary import hparams_session
from runfold._log.summary.hparams_trials import Trials, read_earlier
from runfold._log.writer.event_writer import EventWriter
from runfold._log.writer.life import Part

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from runfold._log.writer.remote_log import Remote
    from runfold._log.writer.sink import Sink


class HparamsLog(Part):
    """The hparams session of a writer's run, and the writer's trials.

    Attributes:
        trials: the trials so far; None if there are no hparams.
        purged_from: the step from which existing events are discarded, including those in trials.
    """

    def __init__(self, remote: Remote | None = None) -> None:
        """Start without hparams. For a remote log, trials get unique folder names."""
        self.trials: Trials | None = None
        self.purged_from: int | None = None
        self._remote = remote
        # Whether the session end is in the event file.
        self._is_ended = False

    def add(
        self,
        sink: Sink,
        hparam_dict: Mapping[str, Any],
        metric_dict: Mapping[str, Any] | None,
        domains: Mapping[str, Any] | None,
        label: hparams_session.StrPath | None,
        global_step: Any,
        add_scalar: Callable[[str, float, int | None], object],
    ) -> None:
        """Log hparams and metrics; see `SummaryWriter.add_hparams`.

        `add_scalar` logs the metrics of the run itself.
        """
        settings = hparams_session.as_settings(hparam_dict)
        named = {} if metric_dict is None else hparams_session.as_metrics(metric_dict)
        metrics = {sink.checks.tag(tag, "metric_dict"): value for tag, value in named.items()}
        numbers = {tag: value for tag, value in metrics.items() if value is not None}
        step = sink.checks.default_step
        if global_step is not None:
            # A trial's step does not affect where the run is resumed.
            step = sink.checks.step(global_step, None, is_of_run=False)
        with sink.lock:
            trials = self._find_trials(sink.folder)
            if not label and not trials.own.is_begun:
                trials.adopt(read_earlier(sink.folder, sink.file.paths))
            known_domains = hparams_session.as_domains(
                domains or {}, trials.own.settings | settings
            )
            session = trials.find(settings, label, is_report=bool(numbers))
            trials.announce(known_domains, metrics)
            if session is trials.own:
                step = metric_step(sink, step)
                for message in session.add(settings):
                    # Hparams apply from step 0, and do not affect where a run is resumed.
                    sink.put("value", message, 0, sink.checks.time(None))
        if session is trials.own:
            for tag, number in numbers.items():
                add_scalar(tag, number, step)
        elif not sink.file.gives_way:
            # Without the lock: two writers' locks must not be held at the same time.
            self._log_trial(sink, session, settings, numbers, step)

    def describe_run(self, sink: Sink, settings: Mapping[str, Any]) -> None:
        """Log the hparams of the run itself; errors are handled as in any other call."""
        try:
            self.add(sink, settings, None, None, os.curdir, None, sink.add_scalar)
        except Exception as error:
            if not sink._survive(error, "add_hparams", ""):
                raise

    def reopen(self, sink: Sink) -> None:
        """Continue the session in the new file."""
        self._is_ended = False

    def close(self, sink: Sink) -> None:
        """Add the session's end, if there is a session."""
        with sink.lock:
            # Another thread may close the same writer.
            if self.trials is None or sink.is_closed or self._is_ended:
                return
            self._is_ended = True
            for message in self.trials.end(sink.raised()):
                sink.put("value", message, 0, sink.checks.time(None))

    def _find_trials(self, folder: str) -> Trials:
        mark = "" if self._remote is None else self._remote.mark
        if self.trials is None:
            self.trials = Trials(folder, mark)
        elif self.trials.folder != folder and self._remote is not None:
            self.trials.move(folder, mark)
        return self.trials

    def _log_trial(
        self,
        sink: Sink,
        trial: hparams_session.Session,
        settings: Mapping[str, hparams_session.Setting],
        metrics: Mapping[str, float],
        step: int | None,
    ) -> None:
        """Write hparams and metrics to a trial's folder. Raises OSError."""
        with sink.lock:
            messages = trial.add(settings)
            at = trial.take_step(step) if metrics else 0
        if not messages and not metrics:
            return
        try:
            with _open_trial_writer(sink, trial.folder) as writer:
                if messages and self.purged_from is not None:
                    writer.put("session_start", self.purged_from, sink.checks.time(None))
                for message in messages:
                    writer.add_value("", message, 0)
                for tag, number in metrics.items():
                    writer.add_scalar(tag, number, at, sink.checks.default_walltime)
                for message in trial.end() if messages else ():
                    writer.add_value("", message, 0)
        except Exception:
            trial.is_begun = False  # the next call writes the hparams again
            raise


class FirstEvents(Part):
    """The first events of the first file, from the options `purge_step` and `hparams`.

    With on_error="warn", that file may be opened later; with is_lazy, it is opened on the first
    call.
    """

    def __init__(
        self, log: HparamsLog, purge_step: int | None, settings: Mapping[str, Any] | None
    ) -> None:
        self.purge_step = purge_step
        self._settings = settings
        self._log = log

    def reopen(self, sink: Sink) -> None:
        """Add the events, once."""
        purge_step, self.purge_step = self.purge_step, None
        if purge_step is not None:
            self._log.purged_from = purge_step
            sink.put("session_start", purge_step, sink.checks.time(None))
        settings, self._settings = self._settings, None
        if settings is not None:
            self._log.describe_run(sink, settings)


def metric_step(sink: Sink, step: Any) -> int:
    """Return the step of a metric. Default: the last logged step."""
    if step is None and sink.checks.default_step is None:
        return sink.last_step
    return sink.checks.step(step, None)


def _open_trial_writer(sink: Sink, folder: str) -> EventWriter:
    """Return a writer for a trial's folder."""
    file = sink.file
    staged_for = file.staged_for
    if staged_for is not None:
        staged_for = os.path.join(staged_for, os.path.relpath(folder, file.folder))
    # This writer raises errors, so that the run's own call handles them.
    return EventWriter(
        folder,
        suffix=file.suffix,
        flush_secs=sink.flush_secs,
        sync_trackers=file.sync_trackers,
        staged_for=staged_for,
    )
