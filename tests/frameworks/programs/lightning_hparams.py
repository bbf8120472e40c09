"""Lightning: `save_hyperparameters`, with the metric that TensorBoard's page sorts by.

default: Lightning logs `hp_metric` as -1 and the model logs it again.

metrics: the model passes its own metrics to `log_hyperparams`.
"""

import sys

import lightning
from lightning.pytorch.loggers import TensorBoardLogger
from lightning_fit import Model, make_loader

MODE = sys.argv[1]


class ModelWithHparams(Model):
    def __init__(self, lr=0.05, name="small", is_wide=False, sizes=(4, 1), decay=None):
        super().__init__()
        self.save_hyperparameters()

    def on_train_start(self):
        if MODE == "metrics":
            self.logger.log_hyperparams(self.hparams, {"hp/loss": 0.0, "hp/count": 0})

    def on_validation_epoch_end(self):
        super().on_validation_epoch_end()
        loss = self.trainer.callback_metrics["val/loss"]
        if MODE == "metrics":
            self.log_dict({"hp/loss": loss, "hp/count": float(self.current_epoch)})
        else:
            self.log("hp_metric", loss)


if __name__ == "__main__":
    lightning.seed_everything(1)
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        logger=TensorBoardLogger("logs", default_hp_metric=MODE == "default"),
        log_every_n_steps=2,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(ModelWithHparams(), make_loader(), make_loader())
