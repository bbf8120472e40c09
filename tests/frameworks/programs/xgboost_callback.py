"""XGBoost with RunfoldCallback: all training runs that the tests read."""

import contextlib
import json

import numpy as np
import torch
import xgboost as xgb
from boosting_data import OPTIONS, make_data
from child_process import kill_and_resume, kill_self
from stop_requests import Stopper

from runfold.integrations.xgboost import RunfoldCallback

PARAMS = {"max_depth": 2, "nthread": 1, "eval_metric": ["rmse", "mae"], "verbosity": 0}


class At(xgb.callback.TrainingCallback):
    """Calls a function after one round."""

    def __init__(self, number, function):
        self.number = number
        self.function = function

    def after_iteration(self, model, epoch, evals_log):
        if model.num_boosted_rounds() == self.number:
            self.function(model)
        return False


def train(callbacks, rounds=5, eta=0.1, seed=0, **options):
    data = xgb.DMatrix(*make_data(seed))
    test = xgb.DMatrix(*make_data(seed + 1))
    return xgb.train(
        {**PARAMS, "eta": eta, "seed": seed},
        data,
        rounds,
        evals=[(data, "train"), (test, "test")],
        callbacks=callbacks,
        verbose_eval=False,
        **options,
    )


def log(name, **options):
    return RunfoldCallback("logs", name=name, **OPTIONS, **options)


def train_until_killed():
    """Save the model after 4 rounds, and kill this process after 7."""
    callback = log("killed")
    save = At(4, lambda model: model.save_model("checkpoint.ubj"))
    train([callback, save, At(7, lambda model: kill_self(callback.tracker))], rounds=20)


def resume():
    train([log("killed", resume=True)], rounds=6, xgb_model="checkpoint.ubj")


def raise_error(model):
    raise ValueError("the data is gone")


def log_bad_values():
    callback = log("bad")
    callback.tracker.add_scalar("before", 1.0, 0)
    train([callback], rounds=1)
    model = xgb.Booster(PARAMS)
    metrics = {"nan": [float("nan")], "none": [], "text": ["bad"], "nested": [{"deep": 1}]}
    metrics["tensor"] = [torch.tensor(0.5)]
    callback.after_iteration(model, 1, {"train": metrics})
    callback.after_iteration(model, 1, {"train": {"tensor": [np.float32(2)], "text": ["bad"]}})
    callback.after_training(model)
    callback.tracker.add_scalar("after", 1.0, 9)
    callback.after_training(model)


def main():
    kill_and_resume(train_until_killed, resume)

    results = {}
    train([log("fit", save_model=True, hparams={"fold": 3})], evals_result=results)
    with open("results.json", "w") as file:
        json.dump(results, file)

    scores = xgb.cv(
        {**PARAMS, "eta": 0.1}, xgb.DMatrix(*make_data()), 3, nfold=2, callbacks=[log("cv")]
    )
    with open("cv.json", "w") as file:
        json.dump(scores.to_dict("list"), file)

    for eta in (0.1, 0.3):
        for seed in (0, 1):
            train([log(f"sweep/eta-{eta}-seed-{seed}")], eta=eta, seed=seed)

    with contextlib.suppress(ValueError), log("failed") as callback:
        train([callback, At(3, raise_error)])

    callback = log("stopped")
    stopper = Stopper(callback._run)
    train([At(3, lambda model: stopper.stop()), callback], rounds=50)

    # With the same callback, training again starts a second run, and continuing a model
    # continues that run.
    callback = log("again", log_learning_rate=True)
    train([callback], rounds=2)
    model = train([callback, xgb.callback.LearningRateScheduler([0.5, 0.25])], rounds=2)
    train([callback], rounds=2, xgb_model=model)

    first, second = log("two/a"), log("two/b")
    train([first, At(2, lambda model: train([second], rounds=3))], rounds=3)

    estimator = xgb.XGBRegressor(n_estimators=3, callbacks=[log("sklearn")], n_jobs=1)
    inputs, targets = make_data()
    estimator.fit(inputs, targets, eval_set=[(inputs, targets)], verbose=False)
    xgb.train({"booster": "gblinear"}, xgb.DMatrix(*make_data()), 2, callbacks=[log("linear")])

    log_bad_values()


if __name__ == "__main__":
    main()
