"""Stable-Baselines3: RunfoldCallback tracks training; RunfoldOutput is a logger output."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._log.track.config import as_plain
from runfold._storage.url import is_url
from runfold._story.stop_request import interrupt_main
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun, name_series
from runfold.integrations._support.run_owner import WithBlock

with importing("Stable-Baselines3", "stable-baselines3", "2.9.2"):
    import numpy as np
    import torch
    from stable_baselines3.common.callbacks import BaseCallback
    from stable_baselines3.common.logger import Figure, HParam, Image, KVWriter, Video

if TYPE_CHECKING:
    from runfold._log.track.tracker import Tracker
    from runfold._story.stop_files import StopRequest

__all__ = ["RunfoldCallback", "RunfoldOutput"]

# Parameters of an algorithm that do not describe training.
_NOT_HPARAMS = ("self", "policy", "env", "tensorboard_log", "verbose", "device")


class RunfoldOutput(KVWriter):
    """An output of Stable-Baselines3's logger that tracks a run, as `rf.track` does.

    It logs everything that SB3's TensorBoard output logs: numbers, text, histograms, `Figure`,
    `Image`, `Video` and `HParam`. Keys recorded with `exclude="tensorboard"` are skipped.

    SB3's logger cannot stop training, so a stop request raises KeyboardInterrupt in the main
    thread. Add a `RunfoldCallback` to end training normally and to log the hyperparameters.

    Args:
        logdir: the run's folder, or the logdir if `name` is set. Default: `runs/<time>_<host>` or,
            under `runfold run`, the folder that it created.
        name: the run's folder below `logdir`.
        options: options of `rf.track`, such as `storage=` or `system=False`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from stable_baselines3.common.logger import Logger
        >>> from runfold.integrations.stable_baselines3 import RunfoldOutput
        >>> model.set_logger(Logger("runs", [RunfoldOutput("runs/seed-1")]))
        >>> model.learn(10_000)
        >>> model.logger.close()
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self.framework_run = FrameworkRun(logdir, name, **{"on_stop": self._on_stop, **options})
        self.interrupts = True

    @property
    def run(self) -> Tracker:
        """The tracked run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        return self.framework_run.tracker

    def write(
        self, key_values: dict[str, Any], key_excluded: dict[str, tuple[str, ...]], step: int = 0
    ) -> None:
        """Log the values that SB3's logger has collected, and write them to the file."""
        values: dict[str, Any] = {}
        for key in sorted(key_values):
            excluded = key_excluded.get(key)
            if not excluded or ("tensorboard" not in excluded and "runfold" not in excluded):
                values[key] = key_values[key]
        run = self.framework_run
        if not run.log_plain(values, step):
            for key, value in values.items():
                _log_value(run, key, value, step)
        # SB3 logs before checkpoints are saved, and the log must not be older than a checkpoint.
        run.flush()

    def close(self) -> None:
        """End the run. Values written later continue it."""
        self.framework_run.finish(sys.exception())

    def _on_stop(self, request: StopRequest) -> None:
        self.framework_run.stop_request = request
        if self.interrupts:
            interrupt_main()


class RunfoldCallback(WithBlock, BaseCallback):
    """A Stable-Baselines3 callback that tracks each call to `learn` as a run.

    The run contains the hyperparameters of the algorithm, and everything that SB3's logger records,
    with the same tags and steps as with `tensorboard_log=`. A stop request ends training after
    the current step.

    The run's folder is `<logdir>/<tb_log_name>_<number>`, such as `runs/PPO_1`. `learn` with
    `reset_num_timesteps=False` continues the run; otherwise, each call to `learn` starts a new one.

    SB3 does not report exceptions to callbacks. If the program catches them, use the callback in
    a `with` block: an exception that leaves the block marks the run as failed.

    If SB3's logger has a `RunfoldOutput`, the callback logs to the run of that output.

    Args:
        logdir: the logdir, or a URL such as `s3://bucket/runs`. Default: `runs`, or the run's
            folder itself under `runfold run`.
        name: the run's folder below `logdir`. "" logs to `logdir` itself. Default: the
            `tb_log_name` of `learn` (by default, the algorithm's name), followed by the next free
            number, or by the highest existing number if `resume` is set.
        hparams: further hparams, of any type that `rf.track` accepts.
        save_model: whether to save the model as the artifact `model.zip` after training.
        verbose: the verbosity of the callback, as in SB3.
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run and discards everything after the model's current time step.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from stable_baselines3 import PPO
        >>> from runfold.integrations.stable_baselines3 import RunfoldCallback
        >>> model = PPO("MlpPolicy", "CartPole-v1", seed=1)
        >>> model.learn(10_000, callback=RunfoldCallback("runs"))
        >>> rf.open("runs")["PPO_1"].config["n_steps"]
        2048
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        hparams: Any = None,
        save_model: bool = False,
        verbose: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(verbose)
        is_guest = logdir is None and LOGDIR_VARIABLE in os.environ
        self._logdir = logdir if logdir is not None or is_guest else "runs"
        self._is_unnamed = name is None and not is_guest
        self._name = name or None
        self._hparams = hparams
        self._save_model = save_model
        self._options = options
        self._is_training = False
        self._has_trained = False
        self._has_added = False
        self._output = RunfoldOutput(self._logdir, self._name, **options)

    @property
    def run(self) -> Tracker:
        """The tracked run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run. A run that starts before training is
        named `run_<number>`.

        Examples:
            >>> callback.run.add_text("note", "a new reward", model.num_timesteps)
        """
        if self._output.framework_run.folder is None and self._is_unnamed:
            self._name_run("run")
        return self._output.run

    def _leave(self, error: BaseException | None) -> None:
        self._end(error)

    def _on_training_start(self) -> None:
        if self._is_training:
            self._end(RuntimeError("Training did not finish."))
        self._choose_run()
        self._is_training = True
        run = self._output.framework_run
        run.stop_request = None
        more = as_plain(self._hparams if self._hparams is not None else {})
        more = more if isinstance(more, dict) else {"hparams": more}
        run.log_config({**collect_hparams(self.model), **more})

    def _on_step(self) -> bool:
        return not self._output.framework_run.should_stop

    def _on_training_end(self) -> None:
        if self._save_model:
            self._output.framework_run.save_as("model.zip", self.model.save)
        self._end(None)

    def _choose_run(self) -> None:
        """Choose the run for the call to `learn` that starts now, and add it to SB3's logger."""
        formats = self.logger.output_formats
        output = next((form for form in formats if isinstance(form, RunfoldOutput)), None)
        if output is None:
            if self._has_trained and self.num_timesteps == 0:
                # The steps start again, so this is a new run.
                options = {**self._options, "resume": False}
                self._output = RunfoldOutput(self._logdir, self._name, **options)
            formats.append(self._output)
            self._has_added = True
        else:
            self._output = output
        self._output.interrupts = False
        self._has_trained = True
        run = self._output.framework_run
        if run.folder is None:
            if self._is_unnamed and output is None:
                self._name_run(self.locals.get("tb_log_name") or type(self.model).__name__)
            if run.options.get("resume") is True:
                run.options["resume"] = self.num_timesteps + 1

    def _name_run(self, name: str) -> None:
        run = self._output.framework_run
        is_resumed = run.options.get("resume", False) is not False
        run.name = _number_name(os.fspath(self._logdir or ""), name, is_resumed)

    def _end(self, error: BaseException | None) -> None:
        """End the run, and remove its output from SB3's logger."""
        self._is_training = False
        if self._has_added and self._output in self.logger.output_formats:
            self.logger.output_formats.remove(self._output)
        self._has_added = False
        self._output.framework_run.finish(error)


def _log_value(run: FrameworkRun, key: str, value: Any, step: int) -> None:
    """Log one value as SB3's TensorBoard output does."""
    if isinstance(value, int | float | np.number):
        run.tracker.add_scalar(key, value, step)
    elif isinstance(value, str):
        run.tracker.add_text(key, value, step)
    elif isinstance(value, torch.Tensor | np.ndarray):
        run.tracker.add_histogram(key, value, step)
    elif isinstance(value, Video):
        run.tracker.add_video(key, value.frames, step, value.fps)
    elif isinstance(value, Figure):
        run.tracker.add_figure(key, value.figure, step, close=value.close)
    elif isinstance(value, Image):
        run.tracker.add_image(key, value.image, step, dataformats=value.dataformats)
    elif isinstance(value, HParam):
        # SB3 names the metrics for the HPARAMS page, and does not log their values.
        run.log_config(value.hparam_dict, dict.fromkeys(value.metric_dict))
    elif isinstance(value, Mapping):
        for tag, part in name_series(value, f"{key}/"):
            if isinstance(part, Mapping):  # nested too deeply, or contains itself
                run.tracker.add_scalar(tag, part, step)  # warns
            else:
                _log_value(run, tag, part, step)
    elif value is not None:
        run.tracker.add_scalar(key, value, step)


def collect_hparams(model: Any) -> dict[str, Any]:
    """Return an algorithm's hyperparameters: the arguments that it was created with, by name."""
    hparams: dict[str, Any] = {"algorithm": type(model).__name__}
    policy = getattr(model, "policy_class", None)
    hparams["policy"] = getattr(policy, "__name__", policy)
    hparams["env"] = _name_environment(model)
    hparams["n_envs"] = getattr(model, "n_envs", None)
    for name in inspect.signature(type(model).__init__).parameters:
        if name not in _NOT_HPARAMS and not name.startswith("_") and hasattr(model, name):
            hparams[name] = _find_constant(getattr(model, name))
    return {name: value for name, value in hparams.items() if value is not None}


def _name_environment(model: Any) -> str | None:
    """Return the id of a model's environment; None if it has no id."""
    try:
        spec = model.get_env().get_attr("spec", indices=[0])[0]
        return None if spec is None else str(spec.id)
    except Exception:  # environments may raise anything
        return None


def _find_constant(value: Any) -> Any:
    """Return the number in a constant schedule, the name of a class, or the value itself."""
    # SB3 turns numbers such as PPO's clip_range into schedules.
    schedule = getattr(value, "value_schedule", value)
    if hasattr(schedule, "val"):
        return schedule.val
    return value.__name__ if isinstance(value, type) else value


def _number_name(logdir: str, name: str, is_resumed: bool) -> str:
    """Return `<name>_<number>` with the next free number.

    To resume a run, the number is the highest existing one.
    """
    folder, base = os.path.split(name)
    try:
        names = [] if is_url(logdir) else os.listdir(os.path.join(logdir, folder) or os.curdir)
    except OSError:
        names = []
    # `PPO_1-2` is a second run with the number 1.
    pattern = re.compile(re.escape(base) + r"_(\d+)(-\d+)?")
    numbers = [int(match[1]) for other in names if (match := pattern.fullmatch(other))]
    highest = max(numbers, default=0)
    return f"{name}_{max(highest, 1) if is_resumed else highest + 1}"
