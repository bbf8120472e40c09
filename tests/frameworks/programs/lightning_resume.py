"""Lightning: train, then continue from the checkpoint into the same version."""

import lightning
from lightning.pytorch.loggers import TensorBoardLogger
from lightning_fit import Model, make_loader


def fit(max_epochs, checkpoint):
    trainer = lightning.Trainer(
        max_epochs=max_epochs,
        accelerator="cpu",
        logger=TensorBoardLogger("logs", version="resumed"),
        log_every_n_steps=2,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Model(), make_loader(), make_loader(), ckpt_path=checkpoint)
    return trainer.checkpoint_callback.best_model_path


if __name__ == "__main__":
    lightning.seed_everything(1)
    fit(4, fit(2, None))
