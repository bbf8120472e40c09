"""Composer: trainers with TensorboardLogger and RunfoldLogger, in every mode."""

import os
import sys
import time

import torch
from composer import Callback, Trainer
from composer.loggers import TensorboardLogger
from composer.models import ComposerModel
from torch.utils.data import DataLoader, TensorDataset

import runfold as rf
from runfold.integrations.composer import RunfoldLogger

OPTIONS = {"system": False, "code": False}


class Model(ComposerModel):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)

    def forward(self, batch):
        return self.layer(batch[0])

    def loss(self, outputs, batch):
        return torch.nn.functional.mse_loss(outputs, batch[1])


class Act(Callback):
    """Logs values of every kind after the first batch, and calls a function after another batch."""

    def __init__(self, batch, function):
        self.batch, self.function = batch, function

    def batch_end(self, state, logger):
        if int(state.timestamp.batch) == 1:
            logger.log_images(torch.full((3, 4, 5), 0.5), name="image", step=1)
            logger.log_table(["a", "b"], [[1, "x|y"]], name="table", step=1)
            logger.log_metrics({"nested": {"a": 1.0}, "text": "skipped"}, step=1)
        if int(state.timestamp.batch) == self.batch:
            self.function()


def make_loader():
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(32, 4, generator=generator)
    return DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=4)


def train(name, rate=0.05, act=None, epochs=2, load=None, **options):
    torch.manual_seed(1)
    model = Model()
    logger = RunfoldLogger("logs", hparams={"lr": rate}, **OPTIONS, **options)
    batch, function = act or (0, None)
    trainer = Trainer(
        model=model,
        train_dataloader=make_loader(),
        max_duration=f"{epochs}ep",
        optimizers=torch.optim.SGD(model.parameters(), lr=rate),
        loggers=[logger, TensorboardLogger("tensorboard")],
        callbacks=[Act(batch, lambda: function(logger))],
        run_name=name,
        progress_bar=False,
        device="cpu",
        save_folder=f"checkpoints/{name}",
        save_overwrite=True,
        load_path=load,
    )
    try:
        trainer.fit()
    finally:
        trainer.close()


def kill(logger):
    logger.writer.flush()
    os.kill(os.getpid(), 9)


def stop(logger):
    rf.stop(logger.writer.folder, wait=False)
    while not logger._run.should_stop:
        time.sleep(0.01)


def fail(logger):
    raise ValueError("the data is gone")


child = os.fork()
if child == 0:
    train("killed", act=(11, kill))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
train("fit", save_files=True)
# Composer's checkpoint after batch 8, whose steps are 0 to 7.
train("killed", epochs=3, load="checkpoints/killed/latest-rank0.pt", resume=8)
train("lr-0.1", rate=0.1)
train("stopped", act=(3, stop))
# Data that cannot be logged, such as invalid images and a missing file, does not affect other data.
bad = RunfoldLogger("logs", "bad", save_files=True, **OPTIONS)
for images in ("text", [torch.zeros(3, 4, 5), torch.zeros(3, 2, 2)], None):
    bad.log_images(images, name="bad", step=1)
bad.upload_file(None, "lost.pt", "no-such-file.pt", overwrite=True)
bad.log_metrics({"after": 1.0}, step=2)
bad.close(None, None)
try:
    train("failed", act=(3, fail))
except ValueError:
    print("failed", file=sys.stdout)
