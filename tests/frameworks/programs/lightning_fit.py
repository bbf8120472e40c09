"""Lightning: train, and log by step, by epoch and the graph; `test` also tests and validates."""

import sys

import lightning
import torch
from lightning.pytorch.loggers import TensorBoardLogger
from torch.utils.data import DataLoader, TensorDataset


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
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
        writer = self.logger.experiment
        writer.add_histogram("weights", self.layer.weight, self.current_epoch)
        writer.add_image("picture", torch.rand(3, 8, 8), self.current_epoch)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05)


def make_loader():
    inputs = torch.randn(32, 4)
    return DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=4)


if __name__ == "__main__":
    lightning.seed_everything(1)
    trainer = lightning.Trainer(
        max_epochs=3,
        accelerator="cpu",
        logger=TensorBoardLogger("logs", log_graph=True),
        log_every_n_steps=2,
        callbacks=[lightning.pytorch.callbacks.LearningRateMonitor()],
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    model, loader = Model(), make_loader()
    trainer.fit(model, loader, make_loader())
    if "test" in sys.argv:
        trainer.test(model, loader)
        trainer.validate(model, loader)
