"""LightGBM with RunfoldCallback: all training runs that the tests read."""

import contextlib
import json
from types import SimpleNamespace

import lightgbm as lgb
import torch
from boosting_data import OPTIONS, make_data
from child_process import kill_and_resume, kill_self
from stop_requests import Stopper

from runfold.integrations.lightgbm import RunfoldCallback

PARAMS = {
    "verbosity": -1,
    "num_threads": 1,
    "num_leaves": 4,
    "min_data_in_leaf": 5,
    "metric": ["l1", "l2"],
    "deterministic": True,
}


def at(iteration, function, order):
    """Return a callback that calls a function in one iteration."""

    def call(env):
        if env.iteration + 1 == iteration:
            function(env)

    call.order = order
    return call


def train(callbacks, rounds=5, rate=0.1, seed=0, **options):
    data = lgb.Dataset(*make_data(seed), free_raw_data=False)
    test = lgb.Dataset(*make_data(seed + 1), reference=data)
    return lgb.train(
        {**PARAMS, "learning_rate": rate, "seed": seed},
        data,
        rounds,
        valid_sets=[data, test],
        valid_names=["train", "test"],
        callbacks=callbacks,
        **options,
    )


def log(name, **options):
    return RunfoldCallback("logs", name=name, **OPTIONS, **options)


def train_until_killed():
    """Save the model after 4 iterations, and kill this process after 7."""
    callback = log("killed")
    save = at(4, lambda env: env.model.save_model("checkpoint.txt"), 26)
    train([callback, save, at(7, lambda env: kill_self(callback.tracker), 27)], rounds=20)


def resume():
    train([log("killed", resume=True)], rounds=6, init_model="checkpoint.txt")


def raise_error(env):
    raise ValueError("the data is gone")


def stop_early(callbacks):
    """Train with a learning rate that makes the loss grow."""
    return train([*callbacks, lgb.early_stopping(2, verbose=False)], rounds=50, rate=2.5)


def log_bad_values():
    callback = log("bad")
    callback.tracker.add_scalar("before", 1.0, 0)
    train([callback], rounds=1)
    results = [
        ("train", "nan", float("nan"), False),
        ("train", "text", "bad", False),
        ("train", "none", None, False),
        ("train", "nested", {"deep": 1}, False),
        ("train", "tensor", torch.tensor(0.5), False),
        ("cv_agg", "valid l2", 0.5, False, 0.25),
    ]
    env = SimpleNamespace(
        iteration=1,
        begin_iteration=0,
        end_iteration=9,
        params={"learning_rate": "auto"},
        model=None,
        evaluation_result_list=results,
    )
    callback(env)
    callback(SimpleNamespace(**{**vars(env), "iteration": 2, "evaluation_result_list": None}))
    callback(SimpleNamespace(**{**vars(env), "iteration": 3, "evaluation_result_list": results}))
    callback.tracker.add_scalar("after", 1.0, 9)
    callback.__exit__(None, None, None)
    callback.__exit__(None, None, None)


def main():
    kill_and_resume(train_until_killed, resume)

    results = {}
    callbacks = [log("fit", save_model=True, hparams={"fold": 3}), lgb.record_evaluation(results)]
    train(callbacks)
    with open("results.json", "w") as file:
        json.dump(results, file)

    scores = lgb.cv(
        PARAMS,
        lgb.Dataset(*make_data()),
        3,
        nfold=2,
        stratified=False,
        callbacks=[log("cv")],
        eval_train_metric=True,
    )
    with open("cv.json", "w") as file:
        json.dump(scores, file)

    for rate in (0.1, 0.3):
        for seed in (0, 1):
            train([log(f"sweep/rate-{rate}-seed-{seed}")], rate=rate, seed=seed)

    with contextlib.suppress(ValueError), log("failed") as callback:
        train([callback, at(3, raise_error, 26)])

    callback = log("stopped")
    stopper = Stopper(callback._run)
    model = train([at(3, lambda env: stopper.stop(), 24), callback], rounds=50)
    assert model.num_trees() == 3

    with log("early", save_model=True) as callback:
        model = stop_early([callback])
    with open("early.json", "w") as file:
        json.dump(model.best_iteration, file)

    # With the same callback, training again starts a second run, and continuing a model
    # continues that run.
    callback = log("again")
    stop_early([callback])
    with contextlib.suppress(ValueError):
        train([callback, at(3, raise_error, 26)])
    model = train([callback, lgb.reset_parameter(learning_rate=[0.5, 0.25])], rounds=2)
    train([callback], rounds=2, init_model=model)

    estimator = lgb.LGBMRegressor(n_estimators=3, verbose=-1, min_child_samples=5, n_jobs=1)
    inputs, targets = make_data()
    estimator.fit(inputs, targets, eval_set=[(inputs, targets)], callbacks=[log("sklearn")])

    log_bad_values()


if __name__ == "__main__":
    main()
