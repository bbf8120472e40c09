"""Lightning with RunfoldLogger, in the mode that the first argument names.

fit: train twice with the same seed, with RunfoldLogger and with Lightning's own logger.

test: like fit, then test twice and validate.

pytorch_lightning: like fit, but only the package pytorch_lightning can be imported.

resume: train, then train for two more epochs from the checkpoint, with a new logger.

raise, interrupt: an exception, or Ctrl-C, ends the training.

fast_dev_run: train for one batch, without logs.

ddp: train in two processes.

hparams: log hparams of several types, and values that cannot be logged.
"""

import contextlib
import pickle
import sys
from argparse import Namespace
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, TensorDataset

MODE = sys.argv[1]
if MODE == "pytorch_lightning":
    sys.modules["lightning"] = None  # importing it raises ModuleNotFoundError
    import pytorch_lightning as pl
    from pytorch_lightning.callbacks import ModelCheckpoint
    from pytorch_lightning.loggers import TensorBoardLogger

    from runfold.integrations.lightning import RunfoldLogger
else:
    import lightning.pytorch as pl
    from lightning.pytorch.callbacks import ModelCheckpoint
    from lightning.pytorch.loggers import TensorBoardLogger

    from runfold.integrations.lightning import RunfoldLogger


class Model(pl.LightningModule):
    def __init__(self, lr=0.05, layers=None, name="small", is_wide=False):
        super().__init__()
        self.save_hyperparameters()
        self.layer = torch.nn.Linear(4, 1)

    def loss(self, batch):
        inputs, targets = batch
        return torch.nn.functional.mse_loss(self.layer(inputs), targets)

    def training_step(self, batch, index):
        if self.current_epoch == 1 and MODE == "raise":
            raise ValueError("the loss is NaN")
        if self.current_epoch == 1 and MODE == "interrupt":
            raise KeyboardInterrupt
        loss = self.loss(batch)
        self.log("train/loss", loss, on_step=True, on_epoch=True)
        return loss

    def validation_step(self, batch, index):
        self.log_dict({"val/loss": self.loss(batch), "val/count": float(index)})

    def test_step(self, batch, index):
        self.log("test/loss", self.loss(batch))

    def on_validation_epoch_end(self):
        writer = self.logger.experiment
        writer.add_histogram("weights", self.layer.weight, self.current_epoch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


def make_loader():
    inputs = torch.randn(32, 4)
    return DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=4)


def train(logger, max_epochs=2, checkpoint=None, **options):
    pl.seed_everything(1)
    trainer = pl.Trainer(
        max_epochs=max_epochs,
        accelerator="cpu",
        logger=logger,
        log_every_n_steps=2,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=[ModelCheckpoint(monitor="val/loss")],
        **options,
    )
    model = Model(layers={"width": 4, "sizes": [4, 1]})
    trainer.fit(model, make_loader(), make_loader(), ckpt_path=checkpoint)
    if MODE == "test":
        trainer.test(model, make_loader(), verbose=False)
        trainer.validate(model, make_loader(), verbose=False)
        trainer.test(model, make_loader(), verbose=False)
    return trainer.checkpoint_callback.best_model_path


@dataclass
class Data:
    path: str = "data"
    api_key: str = "sk-1234567890abcdef"


def log_hparams():
    logger = RunfoldLogger("logs", name="", version="one")
    logger.log_hyperparams(Namespace(lr=0.1, data=Data()), {"hp/loss": 0.5}, seed=1)
    logger.log_metrics({"loss": torch.tensor(0.5), "losses": {"a": 1, "b": 2}}, step=1)
    logger.log_metrics({"loss": "not a number"}, step=2)
    logger.finalize("success")
    logger = pickle.loads(pickle.dumps(logger))
    logger.log_metrics({"loss": 0.25}, step=0)  # continues the run, and hides nothing
    logger.finalize("aborted")
    again = RunfoldLogger("logs", name="", version="one", code=False)
    again.experiment.add_scalar("loss", 1.0, 1)
    print(again.version, again.log_dir, RunfoldLogger("logs").version)


if __name__ == "__main__":
    if MODE in ("fit", "test", "pytorch_lightning"):
        train(RunfoldLogger("logs", name="runfold"))
        train(TensorBoardLogger("logs", name="lightning", default_hp_metric=False))
    elif MODE == "resume":
        checkpoint = train(RunfoldLogger("logs"))
        logger = RunfoldLogger("logs", version=0, resume=True)
        train(logger, max_epochs=4, checkpoint=checkpoint)
    elif MODE == "raise":
        with contextlib.suppress(ValueError):
            train(RunfoldLogger("logs"))
    elif MODE == "interrupt":
        with contextlib.suppress(SystemExit):
            train(RunfoldLogger("logs"))
    elif MODE == "fast_dev_run":
        train(RunfoldLogger("logs"), fast_dev_run=True)
    elif MODE == "ddp":
        train(RunfoldLogger("logs"), strategy="ddp_fork", devices=2)
    elif MODE == "hparams":
        log_hparams()
