"""CatBoost with RunfoldCallback: all training runs that the tests read."""

import contextlib
import json
from types import SimpleNamespace

import torch
from boosting_data import OPTIONS, make_data
from catboost import CatBoostError, CatBoostRegressor
from child_process import kill_and_resume, kill_self
from stop_requests import Stopper

from runfold.integrations.catboost import RunfoldCallback

PARAMS = {"depth": 2, "thread_count": 1, "verbose": False}


class At:
    """Calls a function after one iteration."""

    def __init__(self, number, function):
        self.number = number
        self.function = function

    def after_iteration(self, info):
        if info.iteration == self.number:
            self.function()
        return True


def make_model(iterations=5, **params):
    params = {"allow_writing_files": False, "learning_rate": 0.1, **PARAMS, **params}
    return CatBoostRegressor(iterations=iterations, **params)


def log(name, model=None, **options):
    return RunfoldCallback("logs", name=name, model=model, **OPTIONS, **options)


def fit(model, callbacks, **options):
    model.fit(*make_data(), eval_set=make_data(1), callbacks=callbacks, **options)
    return model


def fit_with_snapshots(callbacks, model):
    """Train with a snapshot after each iteration."""
    fit(model, callbacks, save_snapshot=True, snapshot_file="snapshot", snapshot_interval=0)


def make_model_with_files():
    return make_model(10, allow_writing_files=True, train_dir="snapshots")


def train_until_killed():
    """Kill this process after 7 iterations. The snapshot contains the first 6."""
    model = make_model_with_files()
    callback = log("killed", model)
    callback.tracker.add_scalar("note", 1.0, 20)  # later than the snapshot
    fit_with_snapshots([callback, At(7, lambda: kill_self(callback.tracker))], model)


def resume():
    model = make_model_with_files()
    fit_with_snapshots([log("killed", model, resume=True)], model)


def raise_error():
    raise ValueError("the data is gone")


def log_bad_values():
    callback = log("bad")
    callback.tracker.add_scalar("before", 1.0, 0)
    metrics = {"nan": [float("nan")], "none": [], "text": ["bad"], "nested": [{"deep": 1}]}
    metrics["tensor"] = [torch.tensor(0.5)]
    for iteration in (1, 2):
        repeated = {metric: values * iteration for metric, values in metrics.items()}
        callback.after_iteration(SimpleNamespace(iteration=iteration, metrics={"learn": repeated}))
    callback.__exit__(None, None, None)
    callback.tracker.add_scalar("after", 1.0, 9)
    callback.__exit__(None, None, None)


def main():
    kill_and_resume(train_until_killed, resume)

    model = make_model(allow_writing_files=True, train_dir="original", eval_metric="MAE")
    fit(model, [log("fit", model, hparams={"fold": 3})])
    with open("results.json", "w") as file:
        json.dump(model.evals_result_, file)

    model = make_model(allow_writing_files=True, train_dir="every-second", metric_period=2)
    fit(model, [log("every-second", model)])

    for rate in (0.1, 0.3):
        for seed in (0, 1):
            model = make_model(learning_rate=rate, random_seed=seed)
            fit(model, [log(f"sweep/rate-{rate}-seed-{seed}", model)])

    with contextlib.suppress(CatBoostError), log("failed") as callback:
        fit(make_model(), [callback, At(3, raise_error)])

    callback = log("stopped")
    stopper = Stopper(callback._run)
    model = fit(make_model(50), [At(3, stopper.stop), callback])
    assert model.tree_count_ == 3

    # The overfitting detector ends both training runs of `again`, and an exception ends the first
    # one of `failed-again`.
    model = make_model(50, od_type="Iter", od_wait=2, learning_rate=3.0)
    callback = log("again", model)
    fit(model, [callback])
    fit(model, [callback])
    model = make_model()
    callback = log("failed-again", model)
    with contextlib.suppress(CatBoostError):
        fit(model, [callback, At(3, raise_error)])
    fit(model, [callback])

    log_bad_values()


if __name__ == "__main__":
    main()
