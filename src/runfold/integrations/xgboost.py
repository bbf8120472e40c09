"""XGBoost: RunfoldCallback, a callback that tracks training as a run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold.integrations._support.boosting_run import BoostingRun, log_latest
from runfold.integrations._support.framework_import import importing

with importing("XGBoost", "xgboost", "3.2"):
    from xgboost import Booster, collective
    from xgboost.callback import TrainingCallback

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

__all__ = ["RunfoldCallback"]


class RunfoldCallback(BoostingRun, TrainingCallback):
    """An XGBoost callback that tracks training as a run, as `rf.track` does.

    Logs the metrics of each round as `<dataset>/<metric>`, and those of `xgboost.cv` as
    `<dataset>/<metric>-mean` and `-std`. The step is the number of the round, from 0, as XGBoost
    prints it. With `xgb_model=`, the count continues from that model. The parameters of the booster
    are logged as hparams. A stop request ends training after the current round. In a distributed
    job, only rank zero logs.

    Each time you train with the same callback, a new run starts, unless training
    continues an existing model.

    XGBoost does not report exceptions to callbacks. If the program catches them, use the callback
    in a `with` block: an exception that leaves the block marks the run as failed.

    Args:
        logdir: the logdir or the run's folder, or a URL such as `s3://bucket/runs`. Default:
            `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        name: the run's folder below `logdir`.
        hparams: further hparams, of any type that `rf.track` accepts.
        log_learning_rate: whether to log the learning rate of each round, which a scheduler can
            change.
        save_model: whether to save the trained model as the artifact `model.ubj`.
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run at the round where training continues, and discards everything at or
            after that round.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> import xgboost as xgb
        >>> from runfold.integrations.xgboost import RunfoldCallback
        >>> callback = RunfoldCallback("runs", name="seed-1")
        >>> model = xgb.train({"eta": 0.1}, data, evals=[(data, "train")], callbacks=[callback])
        >>> rf.open("runs")["seed-1"]["train/rmse"].values[-1]
        0.1875
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        hparams: Any = None,
        log_learning_rate: bool = False,
        save_model: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(logdir, name, hparams=hparams, **options)
        self._logs_learning_rate = log_learning_rate
        self._saves_model = save_model
        self._first_round = 0

    def before_training(self, model: Any) -> Any:
        """Start the run and log the booster's parameters as hparams."""
        if collective.is_distributed():
            self._run.options["is_main"] = collective.get_rank() == 0
        self._first_round = model.num_boosted_rounds()
        is_continued = self._first_round > 0
        self._start_training(self._first_round, read_params(model), continues=is_continued)
        return model

    def after_iteration(self, model: Any, epoch: int, evals_log: Mapping[str, Any]) -> bool:
        """Log the metrics of a round; return whether the run has been asked to stop."""
        # `epoch` starts at 0 again if training continues a model.
        step = self._first_round + epoch
        run = self._run
        log_latest(run.tracker, evals_log, step)
        if self._logs_learning_rate and "learning_rate" in (params := read_params(model)):
            run.tracker.add_scalar("learning_rate", params["learning_rate"], step)
        return run.should_stop

    def after_training(self, model: Any) -> Any:
        """Save the model if requested, and end the run."""
        if self._saves_model and isinstance(model, Booster):
            self._run.save_as("model.ubj", model.save_model)
        self._end_training()
        return model


def read_params(model: Any) -> dict[str, Any]:
    """Return the parameters of a booster, or of the first booster of `xgboost.cv`, by name."""
    booster = model if isinstance(model, Booster) else model.cvfolds[0].bst
    learner = json.loads(booster.save_config())["learner"]
    params = {name: _as_value(text) for name, text in _find_params(learner) if text != ""}
    if metrics := [metric["name"] for metric in learner.get("metrics", [])]:
        params["eval_metric"] = metrics
    return params


def _find_params(config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the name and value (as text) of each parameter, but not the model's properties."""
    for section, content in config.items():
        if not isinstance(content, dict) or section.endswith("_model_param"):
            continue
        if section.endswith("_param"):
            yield from content.items()
        else:
            yield from _find_params(content)


def _as_value(text: Any) -> Any:
    """Convert a string to a number, if it is one. XGBoost prints 0.1 as 0.100000001."""
    for convert in (int, np.float32):
        try:
            number = convert(text)
        except (TypeError, ValueError):
            continue
        return number if isinstance(number, int) else float(str(number))
    return text
