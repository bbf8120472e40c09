"""fastai: RunfoldCallback, a callback that tracks the training of a learner as a run."""

from __future__ import annotations

import sys
import uuid
import weakref
from functools import partial
from typing import TYPE_CHECKING, Any

from runfold._log.track.config import as_plain
from runfold._warnings import warn_caller
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun
from runfold.integrations._support.run_owner import RunOwner

with importing("fastai", "fastai", "2.8"):
    from fastai.callback.core import Callback, CancelFitException
    from fastai.torch_core import num_distrib, rank_distrib

if TYPE_CHECKING:
    import os


__all__ = ["RunfoldCallback"]

# The ids of trained learners. A pickled callback identifies its learner by the id.
_learner_ids: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()

# Columns of the recorder that are not metrics of an epoch.
_NOT_METRICS = ("epoch", "train_loss", "time")


class RunfoldCallback(RunOwner, Callback):
    """A fastai callback that tracks the training of a learner as a run, as `rf.track` does.

    Logs what fastai's own `TensorBoardCallback` logs, with the same tags and steps: `train_loss`
    and the optimizer's settings, such as `lr_0` and `mom_0`, after each training batch, and
    `valid_loss` and the metrics after each epoch. The step is the number of the training batch,
    from 1. The settings of the learner are logged as hparams. A stop request ends training
    after the current batch. `lr_find`, `validate` and `get_preds` log nothing. In a distributed
    job, only rank zero logs, and a stop request is ignored.

    All training of a learner with the same callback, such as both phases of `fine_tune`, is logged
    to one run, and the steps continue. A different learner gets a separate run.

    fastai does not report exceptions to a learner's callbacks. If the program handles them,
    pass the callback to `fit(cbs=...)`, or use it in a `with` block.

    Args:
        logdir: the logdir or the run's folder, or a URL such as `s3://bucket/runs`. Default:
            `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        name: the run's folder below `logdir`. If this folder already contains a run, the
            new run's folder gets the suffix `-2`.
        hparams: further hparams, of any type that `rf.track` accepts.
        log_graph: whether to log the graph of the model. This uses a batch of the training data.
        save_model: whether to save the last model from `SaveModelCallback` as an artifact.
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run at the `start_epoch` of `fit`, and discards everything
            logged after the skipped epochs.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from fastai.vision.all import *
        >>> from runfold.integrations.fastai import RunfoldCallback
        >>> learn = vision_learner(dls, resnet18, metrics=accuracy)
        >>> learn.fit_one_cycle(5, cbs=RunfoldCallback("runs", name="seed-1"))
        >>> rf.open("runs")["seed-1"]["valid_loss"].values[-1]
        0.1875
    """

    # Run after the callbacks that save the model or stop training.
    order = 64
    run_valid = False

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        hparams: Any = None,
        log_graph: bool = False,
        save_model: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self._hparams = hparams
        self._logs_graph = log_graph
        self._saves_model = save_model
        if num_distrib() > 1:
            options.setdefault("is_main", rank_distrib() == 0)
        self._run = FrameworkRun(logdir, name, **options)
        self._is_training = False
        self._has_trained = False
        self._learner_id: str | None = None
        # The numbers of the last batch and of the last batch before this `fit`.
        self._batch_count = self._first_step = 0
        self._logged_epochs = 0

    def __setattr__(self, name: str, value: Any) -> None:
        # `fit` removes its callbacks when it ends. This is the only sign of an exception.
        if name == "learn" and value is None and (error := sys.exception()) is not None:
            self._end(error)
        super().__setattr__(name, value)

    def _leave(self, error: BaseException | None) -> None:
        self._is_training = False
        self._run.finish(error)

    def before_fit(self) -> None:
        """End the run if an exception ended the last `fit`. The next epoch continues it."""
        self._end(RuntimeError("Training did not finish."))

    def before_train(self) -> None:
        """Start or continue the run, and log the learner's settings as hparams."""
        # `lr_find` trains too. `validate` and `get_preds` do not.
        if self._is_training or hasattr(self.learn, "lr_finder"):
            return
        learner_id = _learner_ids.setdefault(self.learn, uuid.uuid4().hex)
        if self._learner_id not in (None, learner_id):
            run = self._run
            self._run = FrameworkRun(run.logdir, run.name, **{**run.options, "resume": False})
            self._has_trained, self._batch_count = False, 0
        self._learner_id = learner_id
        # `fit(start_epoch=2)` skips epochs, and fastai does not count their batches.
        skipped = self.epoch * len(self.dls.train)
        self._first_step = max(self._batch_count, skipped)
        if self._has_trained:
            self._run.continue_at(self._first_step + 1)
        elif self._run.options.get("resume") is True:
            self._run.options["resume"] = self._first_step + 1
        self._is_training = self._has_trained = True
        self._logged_epochs = 0
        plain = as_plain(self._hparams if self._hparams is not None else {})
        hparams = plain if isinstance(plain, dict) else {"hparams": plain}
        self._run.log_config({**read_params(self.learn), **hparams})
        self._run.is_training = True
        if self._logs_graph:
            self._log_graph()

    def after_batch(self) -> None:
        """Log the loss and the optimizer's settings.

        Raises:
            CancelFitException: the run has been asked to stop. fastai handles this exception.
        """
        if not self._is_training:
            return
        self._batch_count = step = self._first_step + self.train_iter
        values = {
            f"{name}_{index}": value
            for index, group in enumerate(self.opt.hypers)
            for name, value in group.items()
        }
        self._run.log({"train_loss": getattr(self.learn, "smooth_loss", None), **values}, step)
        if self._run.should_stop and num_distrib() <= 1:
            raise CancelFitException

    def after_epoch(self) -> None:
        """Log the metrics of the epoch."""
        recorder = getattr(self.learn, "recorder", None)
        if not self._is_training or recorder is None:
            return
        metrics = zip(recorder.metric_names, recorder.log, strict=False)
        values = {name: value for name, value in metrics if name not in _NOT_METRICS}
        self._run.log(values, self._batch_count)
        self._logged_epochs = len(recorder.values)

    def after_fit(self) -> None:
        """Save the model if requested, and end the run."""
        if not self._is_training:
            return
        recorder = getattr(self.learn, "recorder", None)
        if recorder is not None and len(recorder.values) > self._logged_epochs:
            # An earlier callback, such as EarlyStoppingCallback, stopped training after the epoch.
            self.after_epoch()
        path = getattr(getattr(self.learn, "save_model", None), "last_saved_path", None)
        if self._saves_model and path is not None:
            self._run.save(path)
        self._end(None)

    def _end(self, error: BaseException | None) -> None:
        """End the current run, if there is one."""
        # fastai calls `__setattr__` before the run exists.
        if self.__dict__.get("_is_training"):
            self._is_training = False
            self._run.finish(error)

    def _log_graph(self) -> None:
        try:
            self.learn._split(self.learn._set_device(self.dls.one_batch()))
            self.tracker.add_graph(self.learn.model, list(self.learn.xb))
        except Exception as error:  # the model cannot be traced, or there is no batch
            warn_caller(f"The graph was not logged: {type(error).__name__}: {error}")


def read_params(learn: Any) -> dict[str, Any]:
    """Return the settings of a learner and of its current `fit`, by name."""
    optimizer = learn.opt
    params = {
        "lr": find_learning_rate(learn),
        "epochs": learn.n_epoch,
        "batch_size": getattr(learn.dls, "bs", None),
        "batches_per_epoch": len(learn.dls.train),
        "model": type(learn.model).__name__,
        "parameters": sum(parameter.numel() for parameter in learn.model.parameters()),
        "frozen_groups": getattr(optimizer, "frozen_idx", None),
        "opt_func": _name_function(learn.opt_func),
        "loss_func": _name_function(learn.loss_func),
        "metrics": [metric.name for metric in learn.metrics],
        "callbacks": [str(callback) for callback in learn.cbs],
    }
    params |= {
        name: getattr(learn, name, None) for name in ("wd", "wd_bn_bias", "train_bn", "moms")
    }
    return {name: value for name, value in params.items() if value is not None}


def find_learning_rate(learn: Any) -> float | None:
    """Return the last parameter group's learning rate, or the maximum of its schedule, if any."""
    schedules = getattr(getattr(learn, "param_scheduler", None), "scheds", {})
    try:
        if "lr" in schedules:
            rates = (schedules["lr"](percent / 100) for percent in range(101))
            return max(float(rate[-1] if hasattr(rate, "__len__") else rate) for rate in rates)
        return float(learn.opt.hypers[-1]["lr"])
    except (ArithmeticError, IndexError, KeyError, TypeError, ValueError):
        return None  # a user-defined schedule


def _name_function(function: Any) -> str:
    """Return the name of a function, of the function of a `partial`, or of an object's class."""
    if isinstance(function, partial):
        function = function.func
    return getattr(function, "__name__", type(function).__name__)
