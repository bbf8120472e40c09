"""Ray Tune: RunfoldLoggerCallback, a callback that tracks each trial as a run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runfold._files import list_event_files
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import (
    FrameworkRun,
    name_series,
    warn_unsaved,
)

with importing("Ray Tune", "ray[tune]", "2.60.0"):
    import numpy as np
    from ray import cloudpickle
    from ray.air.constants import TRAINING_ITERATION
    from ray.tune.logger import TBXLoggerCallback
    from ray.tune.result import TIME_TOTAL_S, TIMESTEPS_TOTAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._log.track.tracker import Tracker
    from runfold._story.stop_files import StopRequest

__all__ = ["RunfoldLoggerCallback"]

# The keys of a result that Ray's own logger skips.
_SKIPPED = ("config", "pid", "timestamp", TIME_TOTAL_S, TRAINING_ITERATION)


class RunfoldLoggerCallback(TBXLoggerCallback):
    """A Ray Tune callback that tracks each trial as a run, as `rf.track` does.

    It replaces Ray's own TensorBoard logger, which Ray then does not add, and logs the
    same tags at the same steps: results as `ray/tune/<key>`. The step is `timesteps_total` if the
    trial reports it, otherwise the training iteration. The trial's configuration is logged as
    hparams; nested names are joined by dots. Ray's callbacks run in the process that calls
    `Tuner.fit`. System metrics would describe that process, so they are off by default.

    A stop request stops the trial at its next result, as Ray's stopping criteria do. Other trials
    continue. A trial that is restored, retried or unpaused continues its run; results after the
    checkpoint are discarded, because they will be logged again.

    Args:
        logdir: the logdir, or a URL such as `s3://bucket/runs`. The run's folder is
            `<logdir>/<experiment>/<trial>`. Default: the trial's own folder, in which Ray stores
            its results. If this folder is not on a local or shared disk, Ray uploads the log with
            its own files.
        save_checkpoints: whether to save each checkpoint of a trial as an artifact.
        options: options of `rf.track`, such as `storage=` or `code=False`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from ray import tune
        >>> from runfold.integrations.ray_tune import RunfoldLoggerCallback
        >>> config = tune.RunConfig(name="sweep", callbacks=[RunfoldLoggerCallback()])
        >>> tune.Tuner(train, param_space={"lr": tune.grid_search([0.1, 0.2])}, run_config=config)
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        *,
        save_checkpoints: bool = False,
        **options: Any,
    ) -> None:
        # The constructor of Ray's logger needs tensorboardX, so it is not called.
        self._logdir = None if logdir is None else os.fspath(logdir)
        self._save_checkpoints = save_checkpoints
        self._options = {"system": False, **options}
        self._runs: dict[str, _TrialRun] = {}
        # Report wrong options here, not when the first trial starts.
        FrameworkRun(self._logdir, **self._options)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes except the open runs. A restored experiment continues those."""
        return {**vars(self), "_runs": {}}

    def log_trial_start(self, trial: Any) -> None:
        """Start the run of a trial, or continue it at the trial's checkpoint."""
        self._finish(trial)
        trial.init_local_path()
        run = _TrialRun(trial, *self._find_folder(trial), **self._options)
        step = _find_checkpoint_step(trial)
        if step is not None or _has_run(run):
            run.options["resume"] = 0 if step is None else step + 1
        self._runs[trial.trial_id] = run
        run.log_config(trial.config)

    def log_trial_result(self, iteration: int, trial: Any, result: dict[str, Any]) -> None:
        """Log the numbers, arrays and images of a result."""
        if trial.trial_id not in self._runs:
            self.log_trial_start(trial)
        run = self._runs[trial.trial_id]
        step = _find_step(result)
        tracker = run.tracker
        add_scalar = tracker.add_scalar
        kept = {key: value for key, value in result.items() if key not in _SKIPPED}
        for tag, value in name_series(kept, "ray/tune/"):
            if isinstance(value, float | int):  # most values are numbers
                add_scalar(tag, value, step)
            else:
                _log_value(tracker, tag, value, step)
        tracker.flush()

    def log_trial_end(self, trial: Any, failed: bool = False) -> None:
        """Record how a trial ended."""
        self._finish(trial, _read_error(trial) if failed else None)

    def on_trial_recover(
        self, iteration: int, trials: Sequence[Any], trial: Any, **info: Any
    ) -> None:
        """Record the error of a trial that Ray retries."""
        self._finish(trial, _read_error(trial))

    def on_checkpoint(
        self, iteration: int, trials: Sequence[Any], trial: Any, checkpoint: Any, **info: Any
    ) -> None:
        """Save a checkpoint as an artifact, if requested."""
        run = self._runs.get(trial.trial_id)
        if self._save_checkpoints and run is not None:
            name = os.path.basename(str(checkpoint.path))
            try:
                with checkpoint.as_directory() as folder:
                    run.save(folder, name)
            except Exception as error:  # the storage cannot be reached
                warn_unsaved(name, error)

    def on_experiment_end(self, trials: Sequence[Any], **info: Any) -> None:
        """Mark the runs of incomplete trials as stopped, for example after Ctrl-C."""
        for trial in trials:
            run = self._runs.get(trial.trial_id)
            if run is not None and run.is_open:
                run.tracker.fail(0, "stopped")
            self._finish(trial)

    def _finish(self, trial: Any, error: BaseException | None = None) -> None:
        run = self._runs.pop(trial.trial_id, None)
        if run is not None:
            run.finish(error)

    def _find_folder(self, trial: Any) -> tuple[str, str | None]:
        """Return the logdir, and the run's folder below it."""
        storage = trial.storage
        logdir = self._logdir
        if logdir is None:
            if storage.storage_filesystem.type_name != "local":
                return trial.local_path, None
            logdir = storage.storage_fs_path
        return logdir, f"{storage.experiment_dir_name}/{storage.trial_dir_name}"


class _TrialRun(FrameworkRun):
    """The run of a trial. A stop request sets the trial's stopping criteria."""

    def __init__(self, trial: Any, logdir: str, name: str | None, **options: Any) -> None:
        super().__init__(logdir, name, **options)
        self.trial = trial

    def _note_stop(self, request: StopRequest) -> None:
        super()._note_stop(request)
        # The trial stops at the next result, because every result reaches this criterion. Trials
        # share the dictionary, so replace it.
        self.trial.stopping_criterion = {**self.trial.stopping_criterion, TRAINING_ITERATION: 0}


def _find_step(result: dict[str, Any]) -> int:
    """Return the step of a result, as Ray's TensorBoard logger chooses it."""
    step: int = result.get(TIMESTEPS_TOTAL) or result.get(TRAINING_ITERATION) or 0
    return step


def _find_checkpoint_step(trial: Any) -> int | None:
    """Return the step of a trial's last checkpoint; None if the trial starts from the beginning."""
    saved = trial.latest_checkpoint_result
    if saved is None or saved.checkpoint is None:
        return None
    return _find_step(saved.metrics or {})


def _has_run(run: FrameworkRun) -> bool:
    folder = os.path.join(os.fspath(run.logdir or ""), run.name or "")
    try:
        return bool(list_event_files(folder))
    except OSError:  # a new folder, or a URL
        return False


def _read_error(trial: Any) -> BaseException:
    """Return the exception of a trial, which Ray keeps in a file."""
    try:
        with open(trial.pickled_error_file, "rb") as file:
            error = cloudpickle.load(file)
        if isinstance(error, BaseException):
            return error
    except Exception:  # it cannot be pickled, or its class cannot be imported here
        pass
    return RuntimeError(f"Ray reported an error in trial {trial}.")


def _log_value(run: Tracker, tag: str, value: Any, step: int) -> None:
    """Log a value as Ray's TensorBoard logger does: strings and empty arrays are skipped."""
    if isinstance(value, str):
        return
    if isinstance(value, list):
        if value:
            run.add_histogram(tag, value, step)
    elif not isinstance(value, np.ndarray) or not value.ndim:
        run.add_scalar(tag, value, step)
    elif not value.size:
        return
    elif value.ndim == 3:
        run.add_image(tag, value, step)
    elif value.ndim == 4:
        run.add_images(tag, value, step)
    elif value.ndim == 5:
        run.add_video(tag, value, step, fps=20)
    else:
        run.add_histogram(tag, value, step)
