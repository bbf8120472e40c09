"""Lightning and Fabric: RunfoldLogger, and RunfoldCallback for programs without a logger."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold._log.track.config import as_plain
from runfold._storage.url import is_url
from runfold._story.stop_request import interrupt_main
from runfold._warnings import warn_caller
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun


def _uses_pytorch_lightning() -> bool:
    """Whether the program uses the `pytorch_lightning` package instead of `lightning`."""
    if sys.modules.get("lightning") is not None:
        return False
    if sys.modules.get("pytorch_lightning") is not None:
        return True
    found = [importlib.util.find_spec(name) for name in ("lightning", "pytorch_lightning")]
    return found[0] is None and found[1] is not None


with importing("Lightning", "lightning", "2.6.6"):
    if _uses_pytorch_lightning():
        from pytorch_lightning.callbacks import Callback
        from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
        from pytorch_lightning.utilities import rank_zero_only
    else:
        from lightning.pytorch.callbacks import Callback
        from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
        from lightning.pytorch.utilities import rank_zero_only

if TYPE_CHECKING:
    from argparse import Namespace

    from runfold._log.track.tracker import Tracker
    from runfold._story.stop_files import StopRequest

__all__ = ["RunfoldCallback", "RunfoldLogger"]

# The statuses of a run without errors. A Slurm job that will be requeued has "finished".
_FINISHED = ("success", "finished")
_VERSION = "version_"
# Lightning's loggers join a prefix and a tag with this character.
_AFTER_PREFIX = "-"


class RunfoldLogger(Logger):
    """A logger for Lightning's Trainer and Fabric that tracks a run, as `rf.track` does.

    The run's folder is `<save_dir>/<name>/version_<number>`, as with Lightning's own loggers, and
    `ModelCheckpoint` saves to `checkpoints` in it. The first call to `fit`, `validate`,
    `test` or `predict` starts the run. Each call ends the run as finished, failed or interrupted,
    and the next call continues it. In a distributed job, only rank zero logs. `fast_dev_run=True`
    logs nothing.

    A stop request sets `trainer.should_stop`, so `fit` ends after the current batch. In `validate`,
    `test` and `predict`, and in Fabric's loops, it raises KeyboardInterrupt in the main thread.
    In a program with its own Fabric loop, call `finalize("success")` after the loop.

    Works with both the `lightning` and the `pytorch-lightning` package.

    Args:
        save_dir: the logdir, or a URL such as `s3://bucket/runs`. Default: `runs` or, under
            `runfold run`, the folder that it created.
        name: the folder of the experiment below `save_dir`. "" for none.
        version: number of the run, or name of its folder. "" logs to the experiment's folder.
            Default: the next free number, or the highest existing number if `resume` is set. If
            the folder already contains a run, the new run's folder gets the suffix `-2`, unless
            `resume` is set.
        log_model: True saves, as artifacts, the checkpoints that `ModelCheckpoint` has kept when
            `fit`, `validate`, `test` or `predict` ends. "all" saves each checkpoint as soon as
            it is written, and so does True with `save_top_k=-1`.
        log_graph: whether to log the model's graph. The model needs `example_input_array`.
        prefix: text before each tag, followed by `-`.
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run. If `fit` then continues from a checkpoint, everything logged after
            the checkpoint is discarded. In Fabric, nothing is discarded: pass a step to discard
            everything at or after that step.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from lightning import Trainer
        >>> from runfold.integrations.lightning import RunfoldLogger
        >>> trainer = Trainer(logger=RunfoldLogger("runs", name="mnist"))
        >>> trainer.fit(model)
        >>> rf.open("runs")["mnist/version_0"].status.state
        'finished'
    """

    def __init__(
        self,
        save_dir: str | os.PathLike[str] | None = None,
        name: str | None = "lightning_logs",
        version: int | str | None = None,
        *,
        log_model: bool | Literal["all"] = False,
        log_graph: bool = False,
        prefix: str = "",
        **options: Any,
    ) -> None:
        super().__init__()
        if save_dir is None and (folder := os.environ.get(LOGDIR_VARIABLE)):
            save_dir, name, version = folder, "", ""
        if log_model not in (True, False, "all"):
            raise ValueError(f"log_model: expected True, False or 'all', got {log_model!r}")
        self._save_dir = os.fspath(save_dir if save_dir is not None else "runs")
        self._name = name or ""
        self._version = version
        self._log_model = log_model
        self._log_graph = log_graph
        self._prefix = f"{prefix}{_AFTER_PREFIX}" if prefix else ""
        self._is_fitting = False
        # Whether the next `fit` may continue a run of another process.
        self._is_resuming = options.get("resume") is True
        # The callbacks with checkpoints to save at the end, and the times of the checkpoints that
        # are already saved.
        self._checkpoint_callbacks: list[Any] = []
        self._saved_checkpoints: dict[str, float] = {}
        options = {"is_main": True, "on_stop": self._receive_stop, **options}
        self._run = FrameworkRun(self._save_dir, self._name or None, **options)

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without references to the trainer's callbacks."""
        return {**vars(self), "_checkpoint_callbacks": []}

    @property
    def save_dir(self) -> str:
        """The logdir."""
        return self._save_dir

    @property
    def name(self) -> str:
        """The folder of the experiment below `save_dir`."""
        return self._name

    @property
    def version(self) -> int | str:
        """Number of the run, or name of its folder."""
        if self._version is None:
            version = _find_next_version(self.root_dir)
            is_resumed = self._run.options.get("resume", False) is not False
            self._version = max(version - 1, 0) if is_resumed else version
        return self._version

    @property
    def root_dir(self) -> str:
        """The folder of all versions."""
        return os.path.join(self.save_dir, self.name) if self.name else self.save_dir

    @property
    def log_dir(self) -> str:
        """The run's folder."""
        folder = _name_folder(self.version)
        return os.path.join(self.root_dir, folder) if folder else self.root_dir

    @property
    @rank_zero_experiment
    def experiment(self) -> Tracker:
        """The tracked run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run. On ranks other than zero,
        it is an object that accepts all calls and does nothing.

        Examples:
            >>> self.logger.experiment.add_histogram("weights", self.layer.weight, step)
        """
        if self._run.folder is None:
            self._start()
        return self._run.tracker

    @property
    def should_stop(self) -> bool:
        """Whether the run has been asked to stop. False on ranks other than zero."""
        return self._run.should_stop

    @rank_zero_only
    def log_hyperparams(
        self,
        params: Mapping[str, Any] | Namespace | Any = None,
        metrics: Mapping[str, Any] | float | None = None,
        step: int | None = None,
        **more: Any,
    ) -> None:
        """Log hparams, with secrets replaced by `***`. Later calls add to earlier ones.

        Args:
            params: a mapping, a namespace, a dataclass, or a Hydra or pydantic configuration.
                Nested names are joined by dots.
            metrics: metrics for TensorBoard's HPARAMS page. A number is logged as `hp_metric`.
            step: the step of the metrics. Default: the last logged step.
            more: further hparams by name.

        Examples:
            >>> logger.log_hyperparams({"lr": 0.1, "model": {"width": 64}}, seed=1)
        """
        plain = as_plain(params if params is not None else {})
        config = {**(plain if isinstance(plain, dict) else {"params": plain}), **as_plain(more)}
        if metrics is not None and not isinstance(metrics, Mapping):
            metrics = {"hp_metric": metrics}
        self._open().log_config(config, metrics, step)

    @rank_zero_only
    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log numbers by tag. A value that is a mapping becomes one series per key: `tag/key`.

        A value that cannot be logged causes one warning per tag and does not stop training.
        """
        if not self._run.log_plain(metrics, step, self._prefix):
            self._open().log(metrics, step, self._prefix)

    def log_graph(self, model: Any, input_array: Any = None) -> None:
        """Log the model's graph, if the logger was created with `log_graph=True`.

        Lightning calls this when `fit`, `validate`, `test` or `predict` starts.

        Args:
            model: the module.
            input_array: input of `forward`. Default: `model.example_input_array`.
        """
        self._follow(model)
        if self._log_graph:
            self._add_graph(model, input_array)

    def save(self) -> None:
        """Do nothing: a background thread writes the log at least every two seconds.

        Lightning calls this after each `log_metrics`.
        """

    @rank_zero_only
    def after_save_checkpoint(self, checkpoint_callback: Any) -> None:
        """Write all pending events, so that the log is not older than the checkpoint.

        Saves the checkpoint as an artifact if `log_model` requests it.
        """
        self._run.flush()
        keeps_all = getattr(checkpoint_callback, "save_top_k", None) == -1
        if self._log_model == "all" or (self._log_model and keeps_all):
            self._save_checkpoints(checkpoint_callback)
        elif self._log_model and checkpoint_callback not in self._checkpoint_callbacks:
            self._checkpoint_callbacks.append(checkpoint_callback)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        """Record how the run ended, with the exception that ended it, and close its file.

        Args:
            status: "success" or "finished"; any other status is a failure.
        """
        callbacks, self._checkpoint_callbacks = self._checkpoint_callbacks, []
        for callback in callbacks:
            self._save_checkpoints(callback)
        self._is_fitting = False
        reason = f"Lightning reported the status '{status}'."
        self._run.finish_as(status in _FINISHED, reason)

    def _open(self) -> FrameworkRun:
        """Start the run if needed, and return it. Only rank zero may call this. Raises OSError."""
        # Do not use the property `experiment`: it takes longer than logging a number.
        if self._run.folder is None:
            self._start()
        return self._run

    def _start(self) -> None:
        """Start the run in the folder of its version. Raises OSError."""
        requested = self.log_dir
        name = os.path.join(self.name, _name_folder(self.version)).rstrip("/")
        self._run.name = name or None
        # The folder's name has a suffix if that folder already contained a run.
        suffix = os.fspath(self._run.tracker.log_dir).removeprefix(requested)
        if suffix.startswith("-"):
            self._add_suffix(suffix)

    def _add_suffix(self, suffix: str) -> None:
        """Add a suffix to the name of the run's folder."""
        if self.version != "":
            self._version = _name_folder(self.version) + suffix
        elif self.name:
            self._name += suffix
        else:
            self._save_dir += suffix

    def _receive_stop(self, request: StopRequest) -> None:
        self._run.stop_request = request
        if not self._is_fitting:
            interrupt_main()

    def _follow(self, model: Any) -> None:
        """Make a stop request stop the module's trainer, but only in `fit`."""
        try:
            trainer = model.trainer
        except (AttributeError, RuntimeError):  # a module without a trainer, as in Fabric
            return
        if not isinstance(getattr(trainer, "callbacks", None), list):
            return
        self._is_fitting = trainer.state.fn == "fit"
        if self._is_fitting and not (self._run.is_open and self._run.tracker.should_stop):
            self._run.stop_request = None  # a request made during an earlier `fit`
        if not any(isinstance(callback, _StopCallback) for callback in trainer.callbacks):
            trainer.callbacks.insert(0, _StopCallback())

    @rank_zero_only
    def _continue_at(self, step: int) -> None:
        """Discard what the resumed run logged at or after the step of the checkpoint, if any."""
        is_resuming, self._is_resuming = self._is_resuming, False
        if is_resuming and step:
            self._open().discard_from(step)

    @rank_zero_only
    def _add_graph(self, model: Any, inputs: Any) -> None:
        inputs = getattr(model, "example_input_array", None) if inputs is None else inputs
        if inputs is None:
            warn_caller(
                "log_graph=True: the graph was not logged, because the model has no "
                "`example_input_array`."
            )
            return
        try:
            inputs = model._on_before_batch_transfer(inputs)
            inputs = model._apply_batch_transfer_handler(inputs)
        except AttributeError:  # a plain torch module
            pass
        except Exception as error:  # a hook of the model that needs a whole batch
            warn_caller(f"The graph was not logged: {type(error).__name__}: {error}")
            return
        self.experiment.add_graph(model, inputs)

    def _save_checkpoints(self, callback: Any) -> None:
        """Save as artifacts the new checkpoints that a `ModelCheckpoint` has kept."""
        try:
            paths = _list_checkpoints(callback)
        except ReferenceError:  # the trainer is gone
            return
        for path in paths:
            try:
                modified = os.stat(path).st_mtime
            except OSError:  # removed, or at a URL
                continue
            if self._saved_checkpoints.get(path) != modified:
                self._saved_checkpoints[path] = modified
                self._open().save(path)


class _StopCallback(Callback):
    """Stops the trainer when the run of one of its loggers is asked to stop.

    It also tells the loggers at which step training starts, which Lightning does not.
    """

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        loop = getattr(trainer.fit_loop, "epoch_loop", None)
        # Lightning's own count of the steps that it logs. With several optimizers, `global_step`
        # is a multiple of it.
        step = getattr(loop, "_batches_that_stepped", trainer.global_step)
        for logger in trainer.loggers:
            if isinstance(logger, RunfoldLogger):
                logger._continue_at(step)

    def on_train_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        # All ranks must stop after the same batch, and agreeing takes time.
        if trainer.world_size == 1 or batch_idx % max(trainer.log_every_n_steps, 1) == 0:
            self._stop_if_requested(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        self._stop_if_requested(trainer)

    def _stop_if_requested(self, trainer: Any) -> None:
        should_stop = any(
            logger.should_stop for logger in trainer.loggers if isinstance(logger, RunfoldLogger)
        )
        if trainer.world_size > 1:
            should_stop = trainer.strategy.reduce_boolean_decision(should_stop, all=False)
        if should_stop:
            trainer.should_stop = True


class RunfoldCallback(_StopCallback):
    """A Lightning callback that adds a `RunfoldLogger` to a trainer without one.

    With the environment variable `RUNFOLD_LIGHTNING=1`, each Trainer has this callback, without a
    change to the program. The variable can also contain the logdir. In a distributed job, set it
    for all processes.

    The trainer keeps its own loggers. If it has none, `ModelCheckpoint` saves to the run's folder.

    Args:
        save_dir: the logdir, or a URL such as `s3://bucket/runs`. Default: `runs` in the trainer's
            `default_root_dir` or, under `runfold run`, the folder that it created.
        options: options of `RunfoldLogger`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> trainer = Trainer(callbacks=[RunfoldCallback("runs")])
    """

    def __init__(self, save_dir: str | os.PathLike[str] | None = None, **options: Any) -> None:
        super().__init__()
        self._save_dir = save_dir
        self._options = options
        # Report wrong options here, not when training starts.
        RunfoldLogger(save_dir, **options)

    def setup(self, trainer: Any, pl_module: Any, stage: str | None = None) -> None:
        """Add the logger, except with `fast_dev_run` or `barebones`."""
        if trainer.fast_dev_run or getattr(trainer, "barebones", False):
            return
        if any(isinstance(logger, RunfoldLogger) for logger in trainer.loggers):
            return
        save_dir = self._save_dir
        if save_dir is None and not os.environ.get(LOGDIR_VARIABLE):
            save_dir = os.path.join(trainer.default_root_dir, "runs")
        trainer.loggers = [*trainer.loggers, RunfoldLogger(save_dir, **self._options)]


def _list_checkpoints(callback: Any) -> list[str]:
    """Return the paths of the checkpoints that a `ModelCheckpoint` kept."""
    paths = [*(getattr(callback, "best_k_models", None) or {})]
    paths += [getattr(callback, name, "") for name in ("best_model_path", "last_model_path")]
    return [path for path in dict.fromkeys(paths) if path]


def _name_folder(version: int | str) -> str:
    """Return the folder of a version, as Lightning names it."""
    return version if isinstance(version, str) else f"{_VERSION}{version}"


def _find_next_version(folder: str) -> int:
    """Return the number after the highest version in a folder; 0 if there is none.

    Folders at a URL are not listed: the tracker gives a second run there a different name.
    """
    try:
        names = [] if is_url(folder) else os.listdir(folder)
    except OSError:
        names = []
    numbers = [name.removeprefix(_VERSION) for name in names if name.startswith(_VERSION)]
    # `version_1-2` is a second run with the same version.
    numbers = [number.partition("-")[0] for number in numbers]
    return max((int(number) + 1 for number in numbers if number.isdecimal()), default=0)
