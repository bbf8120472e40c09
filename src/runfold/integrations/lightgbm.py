"""LightGBM: RunfoldCallback, a callback that tracks training as a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold.integrations._support.boosting_run import BoostingRun
from runfold.integrations._support.framework_import import importing

with importing("LightGBM", "lightgbm", "4.7"):
    from lightgbm import Booster
    from lightgbm.callback import EarlyStopException

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = ["RunfoldCallback"]


class RunfoldCallback(BoostingRun):
    """A LightGBM callback that tracks training as a run, as `rf.track` does.

    Logs the metrics of each iteration as `<dataset>/<metric>`, those of `lightgbm.cv` as
    `<dataset>/<metric>-mean` and `-stdv`, and the learning rate if it is a parameter. The step is
    the number of the iteration, from 1, as LightGBM prints it. With `init_model=`, the count
    continues from that model. The parameters are logged as hparams. A stop request ends training
    after the current iteration, as early stopping does.

    Each time you train with the same callback, a new run starts, unless training
    continues an existing model.

    LightGBM does not notify callbacks when early stopping or an exception ends training. Use the
    callback in a `with` block, so that the run ends when the block does. Otherwise, the run stays
    open until the program exits.

    Args:
        logdir: the logdir or the run's folder, or a URL such as `s3://bucket/runs`. Default:
            `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        name: the run's folder below `logdir`.
        hparams: further hparams, of any type that `rf.track` accepts.
        save_model: whether to save the trained model as the artifact `model.txt`. After early
            stopping, this needs the `with` block.
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run at the iteration where training continues, and discards everything
            at or after that iteration.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> import lightgbm as lgb
        >>> from runfold.integrations.lightgbm import RunfoldCallback
        >>> with RunfoldCallback("runs", name="seed-1") as callback:
        ...     lgb.train({"learning_rate": 0.1}, data, valid_sets=[test], callbacks=[callback])
        >>> rf.open("runs")["seed-1"]["valid_0/l2"].values[-1]
        0.1875
    """

    before_iteration = False

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        hparams: Any = None,
        save_model: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(logdir, name, hparams=hparams, **options)
        # After LightGBM's own logging (10, 20), and before early stopping (30), which may raise.
        # LightGBM ignores the order if it is an attribute of the class.
        self.order = 25
        self._saves_model = save_model
        self._model: Any = None
        self._next_iteration: int | None = None

    def __call__(self, env: Any) -> None:
        """Log the metrics of an iteration.

        Raises:
            EarlyStopException: the run has been asked to stop. LightGBM handles it.
        """
        if env.iteration == env.begin_iteration or env.iteration != self._next_iteration:
            step = env.iteration + 1
            self._start_training(step, env.params, continues=env.begin_iteration > 0)
        self._model = env.model
        self._next_iteration = step = env.iteration + 1
        run = self._run
        add_scalar = run.tracker.add_scalar
        for result in env.evaluation_result_list or ():
            for tag, value in _name_result(result):
                add_scalar(tag, value, step)
        if isinstance(rate := env.params.get("learning_rate"), (int, float)):
            add_scalar("learning_rate", rate, step)
        is_last = step == env.end_iteration
        if is_last or run.should_stop:
            self._end_training()
            if not is_last:
                raise EarlyStopException(env.iteration, env.evaluation_result_list or [])

    def _end_training(self, error: BaseException | None = None) -> None:
        """Save the model if requested, and end the run."""
        model, self._model = self._model, None
        if self._saves_model and isinstance(model, Booster) and error is None:
            self._run.save_as("model.txt", model.save_model)
        super()._end_training(error)

    def _find_failure(self) -> BaseException | None:
        # LightGBM sets the best iteration when early stopping ends training.
        is_stopped_early = getattr(self._model, "best_iteration", 0) > 0
        return None if is_stopped_early else super()._find_failure()


def _name_result(result: Sequence[Any]) -> tuple[tuple[str, Any], ...]:
    """Return the tag and value of a result, or those of its mean and standard deviation."""
    dataset, metric, value = result[0], result[1], result[2]
    # In older versions, the results of `cv` are `("cv_agg", "valid l2", ...)`.
    tag = f"{dataset}/{metric}" if dataset != "cv_agg" else metric.replace(" ", "/", 1)
    deviation = result[4] if len(result) > 4 else None
    if deviation is None:
        return ((tag, value),)
    return (f"{tag}-mean", value), (f"{tag}-stdv", deviation)
