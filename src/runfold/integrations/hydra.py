"""Hydra: RunfoldCallback, a callback that tracks each job as a run in its output folder."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._log.track.config import as_plain
from runfold._log.track.tracker import Tracker
from runfold._log.writer.convert import as_number
from runfold._warnings import warn_caller
from runfold.integrations._support.framework_import import importing

with importing("Hydra", "hydra-core", "1.3"):
    from hydra.core.utils import JobReturn, JobStatus
    from hydra.experimental.callback import Callback
    from omegaconf import DictConfig, OmegaConf, open_dict, read_write

if TYPE_CHECKING:
    from runfold._story.stop_files import StopRequest

__all__ = ["RunfoldCallback", "current_run"]

_current: list[Tracker] = []


class RunfoldCallback(Callback):
    """A Hydra callback that tracks each job as a run in the job's output folder.

    The run records the composed configuration, with interpolations resolved and secrets replaced
    by `***`, and Hydra's overrides as `hydra.overrides`. All values are hparams. It also records
    the code, the machine, and how the job ended, as `rf.track` does. A number that the job returns
    is logged as `return_value`.

    In the job, `current_run()` returns the run. `rf.SummaryWriter()` and `rf.track()` without a
    folder also log to it.

    A stop request interrupts the job as Ctrl-C does, which also ends a multirun. If the output
    folder already contains a run, the job continues that run.

    Args:
        interrupt: whether a stop request interrupts the job. If not, check
            `current_run().should_stop` in the job, and end it yourself.
        options: options of `rf.track`, such as `system=False`. With `resume=False`, if the output
            folder already contains a run, a new run starts in a folder next to it.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        In `config.yaml`:

            hydra:
              callbacks:
                runfold:
                  _target_: runfold.integrations.hydra.RunfoldCallback

        >>> rf.open("multirun").table()
    """

    def __init__(self, interrupt: bool = True, **options: Any) -> None:
        on_stop = None if interrupt else _ignore
        self._options: dict[str, Any] = {"resume": True, "on_stop": on_stop, **options}
        self._run: Tracker | None = None
        self._variable: str | None = None
        # Report wrong options here, not when a job starts. A tracker is lazy.
        Tracker("runs", **self._options)

    def on_job_start(self, config: DictConfig, **kwargs: Any) -> None:
        """Start the run of a job."""
        # Hydra does not call `on_job_end` after a KeyboardInterrupt, so a run may still be open.
        self._finish(KeyboardInterrupt())
        folder = os.path.abspath(config.hydra.runtime.output_dir)
        self._run = self._start(folder, describe_job(config))
        _current.append(self._run)
        self._variable = os.environ.get(LOGDIR_VARIABLE)
        os.environ[LOGDIR_VARIABLE] = os.path.abspath(self._run.log_dir)

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **kwargs: Any) -> None:
        """Record how the job ended, with its exception, and close the run's file."""
        # The property `return_value` prints and raises the exception of a failed job.
        value = getattr(job_return, "_return_value", None)
        error = value if isinstance(value, BaseException) else None
        if job_return.status != JobStatus.COMPLETED:
            error = error or RuntimeError(f"Hydra reported the status {job_return.status.name}.")
        elif self._run is not None and (number := find_number(value)) is not None:
            self._run.add_scalar("return_value", number)
        self._finish(error)

    def _start(self, folder: str, config: dict[str, Any]) -> Tracker:
        try:
            return Tracker(folder, config=config, **self._options).__enter__()
        except OSError as error:
            # The job may call `current_run()`, so return a run that logs nothing.
            warn_caller(f"The job continues without a log: {error}")
            return Tracker(folder, is_main=False).__enter__()

    def _finish(self, error: BaseException | None) -> None:
        run, self._run = self._run, None
        if run is None:
            return
        _current.remove(run)
        if self._variable is None:
            os.environ.pop(LOGDIR_VARIABLE, None)
        else:
            os.environ[LOGDIR_VARIABLE] = self._variable
        if error is None and run.should_stop:
            run.fail(0, "stopped")
        run.__exit__(type(error), error, None)


def current_run() -> Tracker:
    """Return the run of the current job, with all methods of `SummaryWriter`.

    Raises:
        RuntimeError: no job with a `RunfoldCallback` is running in this process.

    Examples:
        >>> from runfold.integrations.hydra import current_run
        >>> @hydra.main(version_base=None, config_path=".", config_name="config")
        ... def main(config):
        ...     current_run().log({"train/loss": 0.5}, step=1)
    """
    if not _current:
        raise RuntimeError(
            "There is no current run. Add "
            "`hydra.callbacks.runfold._target_=runfold.integrations.hydra.RunfoldCallback` to the "
            "configuration, and call current_run() in the job."
        )
    return _current[-1]


def _ignore(request: StopRequest) -> None:
    """Do not interrupt the job."""


def find_number(value: Any) -> float | None:
    """Return the number that a job returned, for example as a tensor; None for other types."""
    if value is None or isinstance(value, bool):
        return None
    try:
        return float(as_number(value, "return_value", "value"))
    except Exception:  # jobs may return anything
        return None


def describe_job(config: DictConfig) -> dict[str, Any]:
    """Return a job's configuration and overrides, without Hydra's own configuration."""
    overrides = OmegaConf.to_container(config.hydra.overrides.task)
    task = config.copy()
    with read_write(task), open_dict(task):
        del task["hydra"]
    return {**as_plain(task), "hydra": {"overrides": overrides}}
