"""transformers: RunfoldCallback for the Trainer, which is also `report_to="runfold"`."""

from __future__ import annotations

import functools
import glob
import os
import re
import tempfile
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from runfold._log.summary.summary_writer import LOGDIR_VARIABLE, default_folder
from runfold._log.track.config import as_plain
from runfold._storage.url import is_url
from runfold._story.stop_request import interrupt_main
from runfold._warnings import warn_caller
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun, name_series
from runfold.integrations._support.run_owner import RunOwner

with importing("transformers", "transformers", "5.23"):
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK, rewrite_logs
    from transformers.trainer_callback import TrainerCallback

if TYPE_CHECKING:
    from runfold._log.track.tracker import Tracker
    from runfold._story.stop_files import StopRequest

__all__ = ["RunfoldCallback"]

_NAME = "runfold"
_TENSORBOARD = "tensorboard"
_TENSORBOARD_VARIABLE = "TENSORBOARD_LOGGING_DIR"
_RUNS = "runs"
_LOG_MODEL = (False, True, "end", "checkpoint")


class RunfoldCallback(RunOwner, TrainerCallback):
    """A transformers callback that tracks each call to `train` as a run, as `rf.track` does.

    Importing this module registers the callback, so `TrainingArguments(report_to="runfold")` adds
    it to the trainer.

    The tags and steps match those of transformers' `TensorBoardCallback`: `train/loss`, `eval/loss`
    and so on, by global step. `predict` logs its metrics too, as `test/...`. The training arguments
    and the model's configuration, as `model_config`, are logged as hparams. A stop request sets
    `control.should_training_stop`, so training ends after the current step. Outside of training, a
    stop request raises KeyboardInterrupt in the main thread. Only rank zero logs.

    Each call to `train` creates a separate run, and `evaluate` and `predict` continue the latest
    one. Training that resumes from a checkpoint continues the run that saved the checkpoint:
    everything logged after the checkpoint is discarded. Each trial of `hyperparameter_search` is a
    run.

    The Trainer does not report exceptions to callbacks. An exception that ends the program marks
    the run as failed. If your program catches exceptions, use the callback as a context manager
    around `train`.

    Args:
        logdir: the logdir or the run's folder, or a URL such as `s3://bucket/runs`. Default:
            `TENSORBOARD_LOGGING_DIR`, or else `<output_dir>/runs`. Under `runfold run`, the default
            is the folder that `runfold run` created.
        name: the run's folder below `logdir`. Default: the training argument `run_name`. In
            `<output_dir>/runs`, the default without `run_name` is `<time>_<host>`.
        hparams: further hparams, of any type that `rf.track` accepts.
        log_model: "end" saves the model as the artifact `model` after training. "checkpoint" saves
            each of the trainer's checkpoints as an artifact. True means "end".
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run in the folder even if the checkpoint is from another run, and
            `resume=False` never continues a run.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from transformers import Trainer
        >>> from runfold.integrations.transformers import RunfoldCallback
        >>> trainer = Trainer(model, args, train_dataset=data, callbacks=[RunfoldCallback("runs")])
        >>> trainer.train()
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        hparams: Any = None,
        log_model: bool | Literal["end", "checkpoint"] = False,
        **options: Any,
    ) -> None:
        super().__init__()
        if log_model not in _LOG_MODEL:
            raise ValueError(
                f"log_model: expected False, True, 'end' or 'checkpoint', got {log_model!r}"
            )
        self._logdir = logdir
        self._name = name
        self._hparams = hparams
        self._log_model = log_model
        self._resume = options.pop("resume", None)
        self._options = {"is_main": True, "on_stop": self._receive_stop, **options}
        self._is_training = False
        self._has_trained = False
        # Name of the folder for runs without a name, and the number of trials so far.
        self._default_name = ""
        self._trial_count = 0
        self._run = self._make_run()

    def _leave(self, error: BaseException | None) -> None:
        self._is_training = False
        self._run.finish(error)

    def on_train_begin(
        self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
    ) -> None:
        """Start the run, or continue the run of the checkpoint that training resumes from."""
        self._is_training = True
        if not state.is_world_process_zero:
            return
        if self._has_trained:
            # If a value logged after training has continued the run, the run has not failed.
            is_unfinished = self._run.is_training
            self._run.finish(RuntimeError("Training did not finish.") if is_unfinished else None)
            self._run = self._make_run()
        elif state.global_step and self._run.folder is not None:
            # An evaluation started a run, but training continues a different one.
            self._run.finish()
            self._run = self._make_run()
        elif not self._run.is_open:
            self._run.stop_request = None
        self._has_trained = True
        if self._run.folder is None:
            self._choose_folder(args, state)
            self._continue_at_checkpoint(state)
        self._open(args, state, model)
        self._run.is_training = True
        self._record_folder(state)

    def on_log(
        self,
        args: Any,
        state: Any,
        control: Any,
        logs: Mapping[str, Any] | None = None,
        model: Any = None,
        **kwargs: Any,
    ) -> None:
        """Log numbers as scalars, and strings as text."""
        if not state.is_world_process_zero or not logs:
            return
        run = self._open(args, state, model)
        metrics = {_rename(name): value for name, value in logs.items()}
        if self._run.log_plain(metrics, state.global_step):
            return
        for tag, value in name_series(metrics):
            if isinstance(value, str):
                run.add_text(tag, value, state.global_step)
            else:
                run.add_scalar(tag, value, state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop training if the run has been asked to stop."""
        # All ranks must stop after the same step, and agreeing takes time.
        if args.world_size == 1 or control.should_log:
            self._stop_if_requested(args, control)

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Stop training if the run has been asked to stop."""
        self._stop_if_requested(args, control)

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Write all pending events, and save the checkpoint as an artifact if requested."""
        if not state.is_world_process_zero:
            return
        self._run.flush()
        if self._log_model == "checkpoint" and (path := _find_checkpoint(args, state)):
            self._run.save(path)

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """End the run if the evaluation is not part of training."""
        self._end_stage()

    def on_predict(
        self,
        args: Any,
        state: Any,
        control: Any,
        metrics: Mapping[str, Any] | None = None,
        model: Any = None,
        **kwargs: Any,
    ) -> None:
        """Log the metrics of `predict`."""
        self.on_log(args, state, control, metrics, model)
        self._end_stage()

    def on_train_end(
        self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
    ) -> None:
        """Save the model if requested, and end the run."""
        self._is_training = False
        if not state.is_world_process_zero:
            return
        if self._log_model in (True, "end") and model is not None:
            self._save_model(model)
        self._run.finish()

    def _make_run(self) -> FrameworkRun:
        self._has_folder = self._has_config = False
        options = dict(self._options)
        if self._resume is not None:
            options["resume"] = self._resume
        return FrameworkRun(self._logdir, self._name, **options)

    def _open(self, args: Any, state: Any, model: Any) -> Tracker:
        """Return the tracker; for a new run, first choose its folder and log its configuration."""
        run = self._run
        if run.folder is None and not self._has_folder:
            self._choose_folder(args, state)
        if not self._has_config:
            self._has_config = True
            run.log_config({**_describe(args, model), **_as_config(self._hparams)})
        return run.tracker

    def _choose_folder(self, args: Any, state: Any) -> None:
        """Choose the folder of a run that has not started, as transformers does by default."""
        run = self._run
        self._has_folder = True
        if self._logdir is None and os.environ.get(LOGDIR_VARIABLE):
            return
        run_name = getattr(args, "run_name", None)
        if run_name == args.output_dir:  # the default of some versions
            run_name = None
        logdir, name = self._logdir, self._name or run_name
        if logdir is None and _TENSORBOARD not in (args.report_to or []):
            logdir = os.environ.get(_TENSORBOARD_VARIABLE) or getattr(args, "logging_dir", None)
            logdir = os.path.expanduser(logdir) if logdir else None
        if logdir is None:
            logdir = os.path.join(args.output_dir, _RUNS)
            self._default_name = self._default_name or os.path.basename(default_folder())
            name = name or self._default_name
        if state.is_hyper_param_search and self._is_training:
            trial = getattr(state, "trial_name", None) or f"trial-{self._trial_count}"
            self._trial_count += 1
            name = os.path.join(name or "", trial)
        run.logdir, run.name = logdir, name

    def _continue_at_checkpoint(self, state: Any) -> None:
        """If training resumes from a checkpoint, continue the run that saved it."""
        run = self._run
        first_step = state.global_step + 1 if state.global_step else 0
        if self._resume is True:
            run.options["resume"] = first_step
            return
        recorded = _read_record(state)
        if self._resume is not None or not first_step or recorded is None:
            return
        folder, logdir = recorded
        requested = os.path.abspath(os.path.join(run.logdir or "", run.name or ""))
        # The folder may have a suffix, because it already contained a run.
        is_requested = re.fullmatch(rf"{re.escape(requested)}(-\d+)?", folder)
        if self._logdir is not None and not is_requested:
            return
        if self._logdir is None and os.environ.get(LOGDIR_VARIABLE):
            return
        run.logdir, run.name = logdir, os.path.relpath(folder, logdir)
        if is_url(folder) or run.name == os.curdir:
            run.logdir, run.name = folder, None
        run.options["resume"] = first_step

    def _record_folder(self, state: Any) -> None:
        """Record the run's folder in the trainer's state, which each checkpoint contains."""
        if isinstance(getattr(state, "stateful_callbacks", None), dict):
            folder, logdir = self._run.folder or "", os.fspath(self._run.logdir or "")
            if not is_url(folder):
                folder, logdir = os.path.abspath(folder), os.path.abspath(logdir)
            paths = {"folder": folder, "logdir": logdir}
            state.stateful_callbacks[_NAME] = {"args": {}, "attributes": paths}

    def _stop_if_requested(self, args: Any, control: Any) -> None:
        should_stop = self.should_stop
        if args.world_size > 1:
            should_stop = _is_any(should_stop, args.device)
        if should_stop:
            control.should_training_stop = True

    def _receive_stop(self, request: StopRequest) -> None:
        self._run.stop_request = request
        if not self._is_training:
            interrupt_main()

    def _end_stage(self) -> None:
        if not self._is_training:
            self._run.finish()

    def _save_model(self, model: Any) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model")
            try:
                model.save_pretrained(path)
            except Exception as error:  # a full disk, or a model of another library
                warn_caller(f"The model was not saved: {type(error).__name__}: {error}")
                return
            self._run.save(path)


INTEGRATION_TO_CALLBACK.setdefault(_NAME, RunfoldCallback)


def _rename(name: Any) -> str:
    return _rewrite(name if name.__class__ is str else str(name))


@functools.lru_cache(1000)
def _rewrite(name: str) -> str:
    """Return the tag of a metric, as transformers' own callbacks name it."""
    (tag,) = rewrite_logs({name: None})
    return str(tag)


def _as_config(given: Any) -> dict[str, Any]:
    plain = as_plain(given if given is not None else {})
    return plain if isinstance(plain, dict) else {"hparams": plain}


def _describe(args: Any, model: Any) -> dict[str, Any]:
    """Return the training arguments and the model's configuration, without empty values."""
    config: dict[str, Any] = {}
    for name, value in args.to_dict().items():
        is_empty = value is None or (isinstance(value, str | list | dict) and not value)
        if not is_empty and not name.endswith("_token"):
            config[name] = value
    described = getattr(model, "config", None)
    # Leave out values that are defaults, as transformers does.
    read = getattr(described, "to_diff_dict", None) or getattr(described, "to_dict", None)
    if callable(read):
        config["model_config"] = read()
    return config


def _read_record(state: Any) -> tuple[str, str] | None:
    """Return the folder and the logdir of the run that saved a checkpoint; None if unknown."""
    record = getattr(state, "stateful_callbacks", None)
    for key in (_NAME, "attributes"):
        record = record.get(key) if isinstance(record, dict) else None
    if not isinstance(record, dict):
        return None
    folder, logdir = str(record.get("folder", "")), str(record.get("logdir", ""))
    return (folder, logdir) if is_url(folder) or os.path.isdir(folder) else None


def _find_checkpoint(args: Any, state: Any) -> str | None:
    """Return the folder of the checkpoint that was just saved; None if it is not found."""
    name = f"checkpoint-{state.global_step}"
    parent = glob.escape(args.output_dir)
    paths = glob.glob(os.path.join(parent, name))
    if state.is_hyper_param_search:
        paths = glob.glob(os.path.join(parent, "*", name))
    return max(paths, key=os.path.getmtime, default=None)


def _is_any(value: bool, device: Any) -> bool:
    """Return whether the value is true in any process of the distributed job."""
    import torch

    if not torch.distributed.is_initialized():
        return value
    flag = torch.tensor(int(value), device=device)
    torch.distributed.all_reduce(flag, torch.distributed.ReduceOp.MAX)
    return bool(flag.item())
