"""fastai with RunfoldCallback: all training runs that the tests read."""

import contextlib

import torch
from child_process import kill_and_resume, kill_self
from fastai.callback.core import Callback
from fastai.callback.schedule import *  # noqa: F403  # adds methods to Learner
from fastai.callback.tensorboard import TensorBoardCallback
from fastai.callback.tracker import EarlyStoppingCallback, SaveModelCallback
from fastai.data.core import DataLoaders
from fastai.data.load import DataLoader
from fastai.learner import Learner, ValueMetric
from fastai.metrics import mae, mse
from fastai.optimizer import SGD
from stop_requests import Stopper

from runfold.integrations.fastai import RunfoldCallback

OPTIONS = {"system": False, "code": False}
INPUTS = torch.randn(32, 4, generator=torch.Generator().manual_seed(1))
ITEMS = list(zip(INPUTS, INPUTS.sum(1, keepdim=True), strict=True))


class At(Callback):
    """Calls a function after one training batch."""

    order = 63
    run_valid = False

    def __init__(self, batch, function):
        self.batch = batch
        self.function = function

    def after_batch(self):
        if self.train_iter == self.batch:
            self.function()


def make_learner(cbs=None, metrics=mae, **options):
    torch.manual_seed(1)
    train = DataLoader(ITEMS, bs=8, shuffle=False)
    valid = DataLoader(ITEMS, bs=16)
    return Learner(
        DataLoaders(train, valid),
        torch.nn.Linear(4, 1),
        loss_func=torch.nn.MSELoss(),
        opt_func=SGD,
        metrics=metrics,
        cbs=cbs,
        **options,
    )


def fit(learner, epochs, callbacks, lr=0.05, **options):
    with learner.no_bar(), learner.no_logging():
        learner.fit(epochs, lr, cbs=callbacks, **options)
    return learner


def log(name, **options):
    return RunfoldCallback("logs", name=name, **OPTIONS, **options)


def train_until_killed():
    """Save the model after each of 2 epochs, and die in the third one."""
    callback = log("killed")
    save = SaveModelCallback(every_epoch=True, fname="killed", with_opt=True)
    fit(make_learner(), 4, [callback, save, At(10, lambda: kill_self(callback.tracker))])


def resume():
    learner = make_learner()
    learner.load("killed_1")
    fit(learner, 4, log("killed", resume=True), start_epoch=2)


def raise_error():
    raise ValueError("the data is gone")


def interrupt():
    raise KeyboardInterrupt


def log_bad_values():
    values = [float("nan"), None, "text", {"deep": {"er": 1.0}}, torch.tensor(0.5)]
    names = ["nan", "none", "text", "nested", "tensor"]
    metrics = [
        ValueMetric(lambda value=value: value, name)
        for name, value in zip(names, values, strict=True)
    ]
    callback = log("bad")
    callback.tracker.add_scalar("before", 1.0, 0)
    fit(make_learner(metrics=metrics), 2, callback)
    callback.tracker.add_scalar("after", 1.0, 9)
    callback.after_fit()
    callback._run.finish()


def main():
    kill_and_resume(train_until_killed, resume)

    original = TensorBoardCallback("original", trace_model=False, log_preds=False)
    callback = log("fit", hparams={"fold": 3}, save_model=True)
    save = SaveModelCallback(fname="best", at_end=True)
    learner = make_learner()
    with learner.no_bar(), learner.no_logging():
        learner.fit_one_cycle(2, 0.05, cbs=[original, callback, save])
        learner.lr_find(num_it=6, show_plot=False, suggest_funcs=None)

    # The callback of a learner: `lr_find`, `validate` and `get_preds` do not start its run.
    learner = make_learner([log("fine-tuned")])
    with learner.no_bar(), learner.no_logging():
        learner.lr_find(num_it=6, show_plot=False, suggest_funcs=None)
        learner.validate()
        assert learner.runfold.folder is None
        learner.fine_tune(2)
        learner.validate()
        learner.get_preds()

    for lr in (0.01, 0.1):
        for seed in (0, 1):
            fit(make_learner(), 1, log(f"sweep/lr-{lr}-seed-{seed}"), lr)
    callback = log("learners")
    for lr in (0.1, 0.2):
        fit(make_learner(), 1, callback, lr)

    with contextlib.suppress(ValueError):
        fit(make_learner(), 2, [log("failed"), At(3, raise_error)])
    callback = log("failed-again")
    learner = make_learner([callback])
    with contextlib.suppress(ValueError), callback:
        fit(learner, 2, At(3, raise_error))
    with contextlib.suppress(KeyboardInterrupt):
        fit(make_learner(), 2, [log("interrupted"), At(3, interrupt)])

    callback = log("stopped")
    stopper = Stopper(callback._run)
    fit(make_learner(), 50, [At(6, stopper.stop), callback])
    callback = log("early")
    fit(make_learner(), 50, [callback, EarlyStoppingCallback(min_delta=1e9, patience=2)])

    log_bad_values()
    first, second = log("two/a"), log("two/b", log_graph=True)
    inner = make_learner(metrics=[mae, mse])
    fit(make_learner(), 1, [first, At(2, lambda: fit(inner, 1, second))])


if __name__ == "__main__":
    main()
