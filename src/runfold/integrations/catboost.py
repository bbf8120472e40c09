"""CatBoost: RunfoldCallback, a callback that tracks training as a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from runfold.integrations._support.boosting_run import BoostingRun, log_latest
from runfold.integrations._support.framework_import import importing

with importing("CatBoost", "catboost", "1.2.10"):
    from catboost import CatBoost

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

__all__ = ["RunfoldCallback"]

_ITERATIONS = ("iterations", "num_boost_round", "n_estimators", "num_trees")
_DEFAULT_ITERATIONS = 1000


class RunfoldCallback(BoostingRun):
    """A CatBoost callback that tracks training as a run, as `rf.track` does.

    Logs the metrics of each iteration as `<dataset>/<metric>`, such as `learn/RMSE` and
    `validation/RMSE`. The step is the number of the iteration, from 0, as CatBoost prints it. If
    training continues from a snapshot, the count continues, too. A stop request ends training
    after the current iteration.

    Each time you train with the same callback, a new run starts, unless training
    continues from a snapshot.

    CatBoost does not notify callbacks when the overfitting detector or an exception ends
    training. Use the callback in a `with` block, so that the run ends when the block does.
    Otherwise, the run stays open until the program exits. CatBoost supports callbacks
    only on the CPU.

    Args:
        logdir: the logdir or the run's folder, or a URL such as `s3://bucket/runs`. Default:
            `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        name: the run's folder below `logdir`.
        model: the model that is trained. Its parameters are logged as hparams, and the run ends
            after the model's last iteration. CatBoost does not pass the model to callbacks. Omit
            this argument if a copy is trained instead, as in a grid search.
        hparams: further hparams, of any type that `rf.track` accepts.
        options: options of `rf.track`, such as `storage=` or `system=False`. `resume=True`
            continues the run at the iteration where training continues, and discards everything
            at or after that iteration.

    Raises:
        TypeError: an option is unknown or has the wrong type, or the model is not a CatBoost
            model.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from catboost import CatBoostRegressor
        >>> from runfold.integrations.catboost import RunfoldCallback
        >>> model = CatBoostRegressor(iterations=100, learning_rate=0.1)
        >>> with RunfoldCallback("runs", name="seed-1", model=model) as callback:
        ...     model.fit(inputs, targets, callbacks=[callback])
        >>> rf.open("runs")["seed-1"]["learn/RMSE"].values[-1]
        0.1875
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        model: Any = None,
        hparams: Any = None,
        **options: Any,
    ) -> None:
        if model is not None and not isinstance(model, CatBoost):
            raise TypeError(f"model: expected a CatBoost model, got {type(model).__name__}")
        super().__init__(logdir, name, hparams=hparams, **options)
        self._model = model
        self._period: int | None = None
        self._next_iteration: int | None = None
        self._last_iteration: int | None = None
        self._counts: dict[tuple[str, str], int] = {}

    def after_iteration(self, info: Any) -> bool:
        """Log the metrics of an iteration; return whether to continue training."""
        # CatBoost counts iterations from 1 here, and from 0 in its own output and logs.
        step = info.iteration - 1
        if info.iteration != self._next_iteration:
            params = {} if self._model is None else self._model.get_params()
            self._start_training(step, params, continues=step > 0)
            self._counts = {}
            if self._model is not None:
                self._period = params.get("metric_period") or 1
                self._last_iteration = _count_iterations(params)
        self._next_iteration = info.iteration + 1
        run = self._run
        log_latest(run.tracker, self._select_new(info.metrics, info.iteration), step)
        should_stop = run.should_stop
        if should_stop or info.iteration == self._last_iteration:
            self._end_training()
        return not should_stop

    def _select_new(self, metrics: Mapping[str, Any], iteration: int) -> dict[str, Any]:
        """Return the metrics that were computed in this iteration, by dataset.

        With `metric_period=2`, CatBoost computes metrics only in every second iteration.
        """
        selected: dict[str, dict[str, Any]] = {}
        for dataset, histories in metrics.items():
            for metric, values in histories.items():
                count = len(values)
                earlier = self._counts.get((dataset, metric))
                self._counts[dataset, metric] = count
                if earlier is not None:
                    is_new = count > earlier
                else:  # the first iteration, or the first after a snapshot
                    is_due = self._period is not None and (iteration - 1) % self._period == 0
                    is_new = count == iteration or is_due
                if is_new:
                    selected.setdefault(dataset, {})[metric] = values
        return selected

    def _find_failure(self) -> BaseException | None:
        # The overfitting detector may have ended training, after which the model is complete.
        if self._model is None or self._model.is_fitted():
            return None
        return super()._find_failure()


def _count_iterations(params: Mapping[str, Any]) -> Any:
    """Return the number of iterations that a model's parameters set."""
    return next((params[name] for name in _ITERATIONS if name in params), _DEFAULT_ITERATIONS)
