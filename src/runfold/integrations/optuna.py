"""Optuna: RunfoldCallback, a callback that logs a study and each of its trials as a run."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import threading
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runfold._conventions import SIDE_FOLDER, STORY_PREFIX, name_temporary
from runfold._files import list_event_files, make_folder, place_new, replace_small
from runfold._humanize import escape
from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._log.track.config import as_plain, flatten
from runfold._log.writer.rank_zero import RankPolicy
from runfold._storage.url import is_url
from runfold._story import story_parts
from runfold._story.side_files import read_aside, write_aside
from runfold._warnings import warn_caller
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun
from runfold.integrations._support.recorded_run import RecordedRun, add_series, place_run
from runfold.integrations._support.run_owner import RunOwner

with importing("Optuna", "optuna", "5.0"):
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, Trial, TrialState

if TYPE_CHECKING:
    from runfold._log.track.tracker import Tracker
    from runfold._story.status import State

__all__ = ["RunfoldCallback"]

# The file that identifies the study of a run's folder.
_STUDY_FILE = "optuna.json"
# The options of `rf.track` that determine which processes of a distributed job log.
_RANKS = ("is_main", "ranks")
_STATES: dict[TrialState, State] = {
    TrialState.COMPLETE: "finished",
    TrialState.PRUNED: "stopped",
    TrialState.FAIL: "failed",
}


class RunfoldCallback(RunOwner):
    """An Optuna callback that logs a study as a run, and each of its trials as a run below it.

    The study's run is in `<logdir>/<name of the study>`, and tracks the study as `rf.track` does.
    It has the series `study/value`, `study/best_value` and `study/duration` (in seconds). The step
    is the number of the trial. Trials that ended before the callback was added are logged, too.

    The run of a trial is in the subfolder `trial-<number>`. Its hparams are the trial's
    parameters. The objective's value is the series `value`, at step 0, and the values from
    `trial.report` are the series `intermediate_value`. A pruned trial has the status stopped. A
    failed trial has the status failed. The run's configuration contains the parameters, their
    distributions and the user attributes.

    A stop request for the study's run ends the study after the current trial. If a study is loaded
    from storage, for example after a crash, its run continues.

    If an exception ends a study, Optuna does not report it to callbacks. If the program handles
    such exceptions, use the callback in a `with` block.

    Args:
        logdir: the logdir. Default: `runs` or, under `runfold run`, the folder that it created.
        name: the folder of the study below `logdir`. Default: the name of the study.
        metric_name: the name of the objective, or the names of several objectives. Default: those
            from `study.set_metric_names`, or else `value`; several objectives are numbered
            (`value_0`).
        options: options of `rf.track` for the study's run, such as `system=False`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value, or `logdir` is a URL.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> import optuna
        >>> from runfold.integrations.optuna import RunfoldCallback
        >>> study = optuna.create_study(study_name="mnist")
        >>> study.optimize(objective, n_trials=20, callbacks=[RunfoldCallback("runs")])
        >>> rf.open("runs/mnist").table()
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        metric_name: str | Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        if logdir is not None and is_url(os.fspath(logdir)):
            raise ValueError(f"logdir: trials need a local folder, got '{escape(str(logdir))}'")
        if logdir is None and (folder := os.environ.get(LOGDIR_VARIABLE)):
            self._logdir, self._name, self._is_guest = folder, "", True
        else:
            self._logdir = os.fspath(logdir if logdir is not None else "runs")
            self._name, self._is_guest = name or "", False
        self._metric_name = metric_name
        self._options = options
        self._run = FrameworkRun(
            self._logdir, None if self._is_guest else name or "study", **options
        )
        self._trial_runs: dict[int, FrameworkRun] = {}
        self._study: Study | None = None
        self._logged: set[int] = set()
        self._best: float | None = None
        self._is_silent = False
        # Optuna calls callbacks from several threads if `n_jobs` is above 1.
        self._lock = threading.RLock()

    def _leave(self, error: BaseException | None) -> None:
        self.finish(error)

    @property
    def tracker(self) -> Tracker:
        """The study's run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        return self._run.tracker

    @property
    def folder(self) -> str | None:
        """The folder of the study's run; None before the run starts."""
        return self._run.folder

    @property
    def should_stop(self) -> bool:
        """Whether the study has been asked to stop. Check this during a long-running objective."""
        return self._run.should_stop

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Log a trial that has ended, and stop the study if it has been asked to stop."""
        with self._lock:
            self._start(study)
            self._log_trial(trial)
            self._run.flush()
            if self.should_stop:
                # Trials in other threads that end later are still logged.
                self._run.finish()
        if self.should_stop:
            study.stop()

    def run(self, trial: Trial) -> Tracker:
        """Return the run of a trial, so that the objective can log to it.

        The callback ends the run after the trial. Do not close it.

        Examples:
            >>> callback = RunfoldCallback("runs")
            >>> def objective(trial):
            ...     lr = trial.suggest_float("lr", 0.001, 0.1, log=True)
            ...     run = callback.run(trial)
            ...     for step in range(100):
            ...         run.log({"train/loss": train(lr)}, step)
            ...     return evaluate()
        """
        with self._lock:
            self._start(trial.study)
            run = self._trial_runs.get(trial.number)
            if run is None:
                folder = self._name_folder(trial.number)
                run = FrameworkRun(folder, code=False, system=False)
                self._trial_runs[trial.number] = run
            return run.tracker

    def log_study(self, study: Study) -> None:
        """Log all trials of a study that have ended and have no run yet.

        Call this method for a study that ran without the callback.

        Examples:
            >>> study = optuna.load_study(study_name="mnist", storage="sqlite:///mnist.db")
            >>> RunfoldCallback("runs").log_study(study)
        """
        with self._lock:
            self._start(study)
            self._log_missing_trials(None)

    def finish(self, error: BaseException | None = None) -> None:
        """Record how the study ended, and close its run. Also end the trials' open runs."""
        with self._lock:
            if error is not None and self._study is not None:
                self._log_missing_trials(error)
            for run in self._trial_runs.values():
                run.finish(error)
            self._trial_runs.clear()
            self._run.finish(error)

    def _start(self, study: Study) -> None:
        """Start or continue the study's run, unless it has started. Raises OSError."""
        if self._study is study:
            return
        if self._study is not None:
            # The callback is used for another study.
            self.finish()
            self._study, self._run = None, FrameworkRun(self._logdir, **self._options)
        self._best, self._logged = None, set()
        identity = identify(study)
        # The program may have logged to the run before the study started.
        if not self._is_guest and not self._run.is_open:
            self._run.name = self._name or name_study(study)
            self._run = self._find_run(os.path.join(self._logdir, self._run.name), identity)
        run = self._run.tracker
        self._study, folder = study, self._run.folder or ""
        # In a distributed job, only rank zero logs.
        self._is_silent = run._event_writer.is_silent
        if self._is_silent:
            return
        write_aside(folder, _STUDY_FILE, {"study": identity})
        message = story_parts.encode_story(story_parts.CONFIG, as_plain(describe_study(study)))
        run.add_value(STORY_PREFIX + story_parts.CONFIG, message)
        self._log_missing_trials(None)

    def _find_run(self, folder: str, identity: str) -> FrameworkRun:
        """Return the run of a study, which another process may have started."""
        found, is_new = find_study(folder, identity), False
        options = {name: self._options[name] for name in _RANKS if name in self._options}
        # A storage chooses the folder of a new run itself. Ranks that log nothing create no files.
        if found is None and "storage" not in self._options:
            with contextlib.suppress(OSError):  # creating the event file will fail, too, and warn
                if not RankPolicy(**options).defer(folder):
                    found, is_new = claim_study(folder, identity)
        if found is None:
            return self._run
        options = {**self._options, "resume": True}
        return FrameworkRun(found, **(options if is_new else {**options, "code": False}))

    def _log_missing_trials(self, error: BaseException | None) -> None:
        assert self._study is not None
        for trial in self._study.get_trials(deepcopy=False, states=tuple(_STATES)):
            self._log_trial(trial, error)

    def _log_trial(self, trial: FrozenTrial, error: BaseException | None = None) -> None:
        """Log a trial to its own run and to the study's, unless it has already been logged.

        Never raises.
        """
        if self._is_silent or trial.number in self._logged:
            return
        self._logged.add(trial.number)
        try:
            self._update_best(trial)
            run = self._trial_runs.pop(trial.number, None)
            if run is not None:
                end_run(run, self._record(trial, error), error)
            elif not place_run(self._name_folder(trial.number), self._record(trial, error)):
                return  # another or an earlier process has logged it
            self._log_progress(trial)
        except Exception as failure:
            warn_caller(
                f"Trial {trial.number} was not logged: {type(failure).__name__}: {failure}. "
                "The study continues."
            )

    def _record(self, trial: FrozenTrial, error: BaseException | None) -> RecordedRun:
        """Return the run of a trial that has ended."""
        started = 0.0 if trial.datetime_start is None else trial.datetime_start.timestamp()
        ended = started if trial.datetime_complete is None else trial.datetime_complete.timestamp()
        run = RecordedRun(started or ended, ended, _STATES[trial.state], hparams=trial.params)
        run.config = describe_trial(trial)
        if trial.state == TrialState.FAIL:
            run.traceback = "Optuna reported that the trial failed.\n"
            if error is not None:
                run.traceback = "".join(traceback.format_exception(error))
        reported = sorted(trial.intermediate_values.items())
        steps = [step for step, _ in reported]
        add_series(run, "intermediate_value", [value for _, value in reported], steps)
        for name, value in zip(self._name_values(trial), trial.values or (), strict=False):
            add_series(run, name, [value])
        return run

    def _log_progress(self, trial: FrozenTrial) -> None:
        """Log a trial to the study's run."""
        assert self._study is not None
        add_scalar, step = self._run.tracker.add_scalar, trial.number
        wall_time = trial.datetime_complete and trial.datetime_complete.timestamp()
        if trial.duration is not None:
            add_scalar("study/duration", trial.duration.total_seconds(), step, wall_time)
        if trial.state != TrialState.COMPLETE:
            return
        for name, value in zip(self._name_values(trial), trial.values, strict=False):
            add_scalar(f"study/{name}", value, step, wall_time)
        if self._best is not None:
            add_scalar("study/best_value", self._best, step, wall_time)

    def _update_best(self, trial: FrozenTrial) -> None:
        assert self._study is not None
        directions = self._study.directions
        if trial.state == TrialState.COMPLETE and len(directions) == 1:
            choose = min if directions[0] == StudyDirection.MINIMIZE else max
            value = trial.values[0]
            self._best = value if self._best is None else choose(self._best, value)

    def _name_values(self, trial: FrozenTrial) -> list[str]:
        """Return the names of the objectives."""
        count = len(trial.values or ())
        names = self._metric_name
        if names is None:
            assert self._study is not None
            names = self._study.metric_names or "value"
        if isinstance(names, str):
            return [names] if count == 1 else [f"{names}_{index}" for index in range(count)]
        return [*names, *(f"value_{index}" for index in range(len(names), count))]

    def _name_folder(self, number: int) -> str:
        return os.path.join(self._run.folder or "", f"trial-{number}")


def name_study(study: Study) -> str:
    """Return the name of a study as a valid folder name."""
    return study.study_name.replace(os.sep, "-").lstrip(".") or "study"


def identify(study: Study) -> str:
    """Return a string that distinguishes studies with the same name."""
    started = (trial.datetime_start for trial in study.get_trials(deepcopy=False))
    first = next((time for time in started if time is not None), None)
    return f"{study.study_name} {'' if first is None else first.isoformat()}"


def find_study(folder: str, identity: str) -> str | None:
    """Return the first of `x`, `x-2`, `x-3`, ... that contains the run of a study, or None."""
    candidate, number = folder, 2
    while os.path.isdir(candidate):
        if read_aside(candidate, _STUDY_FILE).get("study") == identity:
            return candidate
        candidate, number = f"{folder}-{number}", number + 1
    return None


def claim_study(folder: str, identity: str) -> tuple[str, bool]:
    """Return the folder for the run of a study, and whether the run is new.

    The folder is the first of `x`, `x-2`, `x-3`, ... that is free or has the study's run.

    The file with the identity claims the folder. Only one process can create it, so all
    processes that start on a study at the same time log to the same folder. Raises OSError.
    """
    for number in itertools.count(2):
        candidate = folder if number == 2 else f"{folder}-{number - 1}"
        is_new = not has_run(candidate) and _place_identity(candidate, identity)
        if is_new or read_aside(candidate, _STUDY_FILE).get("study") == identity:
            break
    if is_new and candidate != folder:
        warn_caller(
            f"There is already a run in {escape(folder)}; this study goes to {escape(candidate)}."
        )
    return candidate, is_new


def has_run(folder: str) -> bool:
    """Return whether a folder contains an event file. Raises OSError."""
    return os.path.isdir(folder) and bool(list_event_files(folder))


def _place_identity(folder: str, identity: str) -> bool:
    """Create the file with a study's identity; return False if it exists. Raises OSError."""
    data = json.dumps({"study": identity}).encode()
    with make_folder(folder, SIDE_FOLDER) as opened:
        draft = name_temporary()
        replace_small(draft, data, dir_fd=opened)
        try:
            return place_new(draft, _STUDY_FILE, dir_fd=opened)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(draft, dir_fd=opened)


def describe_study(study: Study) -> dict[str, Any]:
    """Return the configuration of a study's run."""
    return {
        "study": study.study_name,
        "directions": [direction.name.lower() for direction in study.directions],
        "sampler": type(study.sampler).__name__,
        "pruner": type(study.pruner).__name__,
        "user_attrs": study.user_attrs,
    }


def describe_trial(trial: FrozenTrial) -> dict[str, Any]:
    """Return the configuration of a trial's run."""
    distributions = {name: str(value) for name, value in trial.distributions.items()}
    return {
        **trial.params,
        "trial": {"number": trial.number, "state": trial.state.name.lower()},
        "distributions": distributions,
        "user_attrs": trial.user_attrs,
    }


def end_run(live: FrameworkRun, run: RecordedRun, error: BaseException | None) -> None:
    """Add what Optuna knows about a trial to its open run, and end the run."""
    tracker = live.tracker
    if run.hparams:
        tracker.add_hparams(flatten(run.hparams), run_name=os.curdir)
    message = story_parts.encode_story(story_parts.CONFIG, as_plain(run.config))
    tracker.add_value(STORY_PREFIX + story_parts.CONFIG, message)
    for tag, points in run.scalars.items():
        for step, wall_time, value in points:
            tracker.add_scalar(tag, value, step, wall_time)
    if run.state == "failed":
        live.finish(error or RuntimeError("Optuna reported that the trial failed."))
        return
    if run.state == "stopped":
        tracker.fail(0, "stopped")
    live.finish()
