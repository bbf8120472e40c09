"""skorch with RunfoldCallback: all training runs that the tests read."""

import contextlib
import os
import pickle

import numpy as np
import torch
from child_process import kill_and_resume, kill_self
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetRegressor
from skorch.callbacks import (
    Callback,
    Checkpoint,
    EarlyStopping,
    LoadInitState,
    LRScheduler,
    TensorBoard,
    TrainEndCheckpoint,
)
from stop_requests import Stopper
from torch.utils.tensorboard import SummaryWriter

from runfold.integrations.skorch import RunfoldCallback

OPTIONS = {"system": False, "code": False}
RANDOM = np.random.default_rng(1)
INPUTS = RANDOM.normal(size=(40, 4)).astype("float32")
TARGETS = INPUTS.sum(1, keepdims=True)


class At(Callback):
    """Calls a function at the end of one epoch, or in one of its batches."""

    def __init__(self, epoch, function, in_batch=False):
        self.epoch = epoch
        self.function = function
        self.in_batch = in_batch

    def on_epoch_end(self, net, **kwargs):
        if not self.in_batch and len(net.history) == self.epoch:
            self.function()

    def on_batch_end(self, net, **kwargs):
        if self.in_batch and len(net.history) == self.epoch:
            self.function()


def make_net(callbacks, **params):
    torch.manual_seed(1)
    params = {"max_epochs": 3, "lr": 0.05, "batch_size": 8, **params}
    return NeuralNetRegressor(
        torch.nn.Linear,
        module__in_features=4,
        module__out_features=1,
        callbacks=callbacks,
        verbose=0,
        **params,
    )


def log(name, **options):
    return RunfoldCallback("logs", name=name, **OPTIONS, **options)


def raise_error():
    raise ValueError("the data is gone")


def interrupt():
    raise KeyboardInterrupt


def checkpoint():
    return Checkpoint(monitor=lambda net: len(net.history) <= 4, dirname="checkpoint")


def train_until_killed():
    """Save the net after each of the first 4 epochs, and die after 6."""
    callback = log("killed")
    die = At(6, lambda: kill_self(callback.tracker))
    make_net([checkpoint(), callback, die], max_epochs=20).fit(INPUTS, TARGETS)


def resume():
    load = LoadInitState(checkpoint())
    make_net([load, log("killed", resume=True)], max_epochs=4).fit(INPUTS, TARGETS)


class Notes(Callback):
    """Records values of many types in the history."""

    def on_epoch_end(self, net, **kwargs):
        net.history.record("nan", float("nan"))
        net.history.record("none", None)
        net.history.record("text", "good")
        net.history.record("nested", {"deep": {"er": 1.0}})
        net.history.record("tensor", torch.tensor(0.5, requires_grad=True))
        net.history.record("changes", 0.5 if len(net.history) == 1 else "text")


def main():
    kill_and_resume(train_until_killed, resume)

    # fit, then partial_fit, compared with skorch's own callback.
    board = TensorBoard(SummaryWriter("original"), close_after_train=False)
    schedule = LRScheduler("StepLR", step_size=2, gamma=0.5)
    callback = log("fit", hparams={"fold": 3}, log_batches=True)
    net = make_net([schedule, callback, board])
    net.fit(INPUTS, TARGETS)
    net.partial_fit(INPUTS, TARGETS)
    board.writer.close()
    net.fit(INPUTS, TARGETS)
    net = pickle.loads(pickle.dumps(make_net([log("pickled")], max_epochs=1).fit(INPUTS, TARGETS)))
    net.partial_fit(INPUTS, TARGETS)

    search = GridSearchCV(
        make_net([("runfold", log("search/trial"))], max_epochs=1),
        {"lr": [0.05, 0.1], "callbacks__runfold__keys_ignored": ["dur"]},
        cv=2,
        scoring="neg_mean_squared_error",
        n_jobs=1,
    )
    search.fit(INPUTS, TARGETS)

    with contextlib.suppress(ValueError), log("failed") as callback:
        make_net([callback, At(2, raise_error)]).fit(INPUTS, TARGETS)
    callback = log("failed-again")
    net = make_net([callback, ("at", At(2, raise_error))])
    with contextlib.suppress(ValueError):
        net.fit(INPUTS, TARGETS)
    net.set_params(callbacks__at=None)
    net.fit(INPUTS, TARGETS)

    # The program handles the exception, and does not train again.
    failed_last = make_net([log("failed-last"), At(2, raise_error)])
    with contextlib.suppress(ValueError):
        failed_last.fit(INPUTS, TARGETS)

    callback = log("stopped")
    stopper = Stopper(callback.run_)
    net = make_net([At(2, stopper.stop), callback], max_epochs=50).fit(INPUTS, TARGETS)
    assert len(net.history) == 2
    make_net([log("interrupted"), At(2, interrupt, in_batch=True)]).fit(INPUTS, TARGETS)
    stop_early = EarlyStopping(patience=2, threshold=10.0)
    make_net([stop_early, log("early")], max_epochs=50).fit(INPUTS, TARGETS)

    keep = [Checkpoint(dirname="files"), TrainEndCheckpoint(dirname="files")]
    make_net([*keep, log("saved", save_checkpoints=True)]).fit(INPUTS, TARGETS)
    assert os.path.exists("files/train_end_params.pt")

    callback = log("bad")
    callback.tracker.add_scalar("before", 1.0, 0)
    make_net([Notes(), callback], max_epochs=2).fit(INPUTS, TARGETS)
    callback.tracker.add_scalar("after", 1.0, 9)
    callback.run_.finish()
    callback.on_train_end(make_net([]).initialize())
    first, second = log("two/a"), log("two/b")
    inner = make_net([second])
    make_net([first, At(2, lambda: inner.fit(INPUTS, TARGETS))]).fit(INPUTS, TARGETS)


if __name__ == "__main__":
    main()
