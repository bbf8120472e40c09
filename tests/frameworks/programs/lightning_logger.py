"""Lightning with RunfoldLogger: all training runs that the tests read.

With the argument `pytorch_lightning`, only that package can be imported, and the program trains
with the callback that the entry point adds.
"""

import contextlib
import json
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from argparse import Namespace
from dataclasses import dataclass

import torch
from stopping import StopRequest
from torch.utils.data import DataLoader, TensorDataset

import runfold as rf
from runfold.integrations._support.lightning_callbacks import VARIABLE

IS_OTHER_PACKAGE = sys.argv[1:] == ["pytorch_lightning"]
if IS_OTHER_PACKAGE:
    sys.modules["lightning"] = None  # importing it raises ModuleNotFoundError
    import pytorch_lightning as pl
    from lightning_fabric import Fabric
    from lightning_fabric.loggers import TensorBoardLogger as FabricLogger
    from pytorch_lightning.callbacks import ModelCheckpoint
    from pytorch_lightning.loggers import TensorBoardLogger

    from runfold.integrations.lightning import RunfoldLogger
else:
    import lightning.pytorch as pl
    from lightning.fabric import Fabric
    from lightning.fabric.loggers import TensorBoardLogger as FabricLogger
    from lightning.pytorch.callbacks import ModelCheckpoint
    from lightning.pytorch.loggers import TensorBoardLogger

    from runfold.integrations.lightning import RunfoldLogger

QUIET = {"system": False, "code": False}
torch.set_num_threads(1)


class Model(pl.LightningModule):
    def __init__(self, lr=0.05, layers=None, name="small", is_wide=False):
        super().__init__()
        self.save_hyperparameters()
        self.example_input_array = torch.zeros(2, 4)
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, inputs):
        return self.layer(inputs)

    def loss(self, batch):
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self(inputs), targets)

    def training_step(self, batch, index):
        loss = self.loss(batch)
        self.log("train/loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log_dict({"val/loss": self.loss(batch), "val/count": float(index)})

    def test_step(self, batch, index):
        self.log("test/loss", self.loss(batch))

    def on_validation_epoch_end(self):
        if self.logger is not None:
            writer = self.logger.experiment
            writer.add_histogram("weights", self.layer.weight, self.current_epoch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


class At(pl.Callback):
    """Calls a function after the batch that makes this many steps."""

    def __init__(self, step, function):
        self.step = step
        self.function = function

    def on_train_batch_end(self, trainer, *_):
        if trainer.global_step == self.step:
            self.function()


def make_loader():
    inputs = torch.randn(32, 4)
    return DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=4)


def train(logger, max_epochs=2, checkpoint=None, callbacks=(), stages=(), lr=0.05, **options):
    """Train for epochs of 8 steps, and return the trainer."""
    pl.seed_everything(options.pop("seed", 1), verbose=False)
    options.setdefault("default_root_dir", "root")
    trainer = pl.Trainer(
        max_epochs=max_epochs,
        accelerator="cpu",
        logger=logger,
        log_every_n_steps=2,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[ModelCheckpoint(monitor="val/loss", save_last=True), *callbacks],
        **options,
    )
    model = Model(lr, layers={"width": 4, "sizes": [4, 1]})
    trainer.fit(model, make_loader(), make_loader(), ckpt_path=checkpoint)
    for stage in stages:
        getattr(trainer, stage)(model, make_loader(), verbose=False)
    return trainer


def log(name, **options):
    return RunfoldLogger("logs", name="", version=name, **{**QUIET, **options})


def train_until_killed():
    """Save a checkpoint after each epoch, and die in the third one."""
    logger = log("killed")

    def kill_self():
        logger.experiment.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    train(logger, max_epochs=4, callbacks=[At(20, kill_self)])


def raise_error():
    raise ValueError("the loss is NaN")


def interrupt():
    raise KeyboardInterrupt


def stop_two_processes():
    logger = log("ddp")
    request = StopRequest(logger._run)

    class Stop(pl.Callback):
        def on_train_batch_end(self, trainer, *_):
            if trainer.global_step == 3 and trainer.is_global_zero:
                request.send()

    # The two ranks agree to stop when `batch_idx` is a multiple of 2.
    train(logger, callbacks=[Stop()], strategy="ddp_fork", devices=2)


@dataclass
class Data:
    path: str = "data"
    api_key: str = "sk-1234567890abcdef"


def log_hparams_and_bad_values():
    logger = log("one", prefix="run")
    logger.log_hyperparams(Namespace(lr=0.1, data=Data()), {"hp/loss": 0.5}, seed=1)
    logger.log_metrics({"loss": torch.tensor(0.5), "losses": {"a": 1, "b": {"c": 2}}}, step=1)
    logger.log_metrics({"loss": "not a number", "nan": float("nan"), "none": None}, step=2)
    logger.log_metrics({"loss": torch.zeros(2), "nan": torch.tensor(1)}, step=3)
    other = log("other")
    other.log_metrics({"loss": 1.0}, step=1)
    logger.finalize("success")
    logger.finalize("success")
    logger = pickle.loads(pickle.dumps(logger))
    logger.log_metrics({"loss": 0.25}, step=0)  # continues the run, and hides nothing
    other.log_metrics({"loss": 0.5}, step=2)
    logger.finalize("aborted")
    other.finalize("finished")
    again = log("one")
    again.experiment.add_scalar("loss", 1.0, 1)
    return [again.version, again.log_dir, RunfoldLogger("logs").version]


def train_with_fabric(loggers, steps=10):
    """Train in a hand-written loop."""
    pl.seed_everything(1, verbose=False)
    fabric = Fabric(accelerator="cpu", loggers=loggers)
    fabric.launch()
    model = torch.nn.Linear(4, 1)
    model, optimizer = fabric.setup(model, torch.optim.SGD(model.parameters(), lr=0.05))
    for logger in loggers:
        logger.log_hyperparams({"lr": 0.05, "name": "small"})
    for step in range(steps):
        inputs = torch.randn(8, 4)
        loss = ((model(inputs) - inputs.sum(1, keepdim=True)) ** 2).mean()
        optimizer.zero_grad()
        fabric.backward(loss)
        optimizer.step()
        fabric.log("loss", loss, step)
        fabric.log_dict({"weight": model.weight.mean(), "bias": model.bias.item()}, step)
    for logger in loggers:
        logger.log_graph(model, torch.zeros(1, 4))
        logger.finalize("success")


def stop_fabric():
    logger = log("fabric-stopped")
    Fabric(accelerator="cpu", loggers=[logger]).log("loss", 1.0, 0)
    try:
        rf.stop(logger.log_dir, wait=False)
        threading.Event().wait(60)
    except KeyboardInterrupt:
        logger.finalize("success")


def list_callbacks(trainer):
    return [type(callback).__name__ for callback in trainer.callbacks]


def train_with_entry_point():
    os.environ[VARIABLE] = "logs/entry"
    trainer = train(True, stages=["test"], enable_checkpointing=True)
    train(log("explicit"))
    with contextlib.suppress(ValueError):
        train(False, max_epochs=1, callbacks=[At(3, raise_error)])
    train(False, fast_dev_run=True)
    os.environ[VARIABLE] = "1"
    train(None, max_epochs=1)
    os.environ[VARIABLE] = "0"
    return list_callbacks(trainer)


def main():
    results = {}
    child = multiprocessing.get_context("fork").Process(target=train_until_killed)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL

    logger = RunfoldLogger("logs", name="runfold", log_graph=True, system=False)
    train(logger, stages=["test", "validate", "test"])
    results["callbacks"] = list_callbacks(train(False))
    logger = TensorBoardLogger("logs", name="lightning", default_hp_metric=False, log_graph=True)
    train(logger, stages=["test", "validate", "test"])

    train(log("kept"), max_epochs=2)
    train(log("kept", resume=16), max_epochs=4, checkpoint="logs/kept/checkpoints/last.ckpt")
    train(log("refitted"), max_epochs=1, stages=["test"])
    train(log("refitted", resume=True), max_epochs=1)
    logger = RunfoldLogger("logs", name="lightning", resume=True)
    results["versions"] = [logger.version, RunfoldLogger("logs", name="lightning").version]

    for lr in (0.05, 0.1):
        for seed in (0, 1):
            train(log(f"sweep/lr-{lr}-seed-{seed}"), max_epochs=1, lr=lr, seed=seed)

    with contextlib.suppress(ValueError):
        train(log("failed", log_model=True), callbacks=[At(12, raise_error)])
    with contextlib.suppress(SystemExit):
        train(log("interrupted"), callbacks=[At(12, interrupt)])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Lightning ignores further signals

    logger = log("stopped")
    request = StopRequest(logger._run)
    trainer = train(logger, callbacks=[At(3, request.send)], stages=["test"])
    results["stopped"] = trainer.global_step
    logger = log("two-fits")
    request = StopRequest(logger._run)
    train(logger, callbacks=[At(3, request.send)])
    train(logger, max_epochs=1)

    train(log("all", log_model="all"))
    train(log("dev"), fast_dev_run=True)
    train_with_fabric(
        [
            log("fabric"),
            FabricLogger("logs", name="", version="fabric-own", default_hp_metric=False),
        ]
    )
    stop_fabric()
    results["entry"] = train_with_entry_point()
    results["again"] = log_hparams_and_bad_values()
    stop_two_processes()
    # The names of event files contain the second of their creation, so do not resume too early.
    checkpoint = "logs/killed/checkpoints/last.ckpt"
    train(log("killed", resume=True), max_epochs=4, checkpoint=checkpoint)
    with open("results.json", "w") as file:
        json.dump(results, file)


if __name__ == "__main__":
    if IS_OTHER_PACKAGE:
        os.environ[VARIABLE] = "logs"
        train(TensorBoardLogger("logs", name="lightning", default_hp_metric=False))
    else:
        main()
