"""Lightning: two processes that train together; only the first logs."""

import lightning
from lightning.pytorch.loggers import TensorBoardLogger
from lightning_fit import Model, make_loader

if __name__ == "__main__":
    lightning.seed_everything(1)
    trainer = lightning.Trainer(
        max_epochs=2,
        accelerator="cpu",
        strategy="ddp_fork",
        devices=2,
        logger=TensorBoardLogger("logs"),
        log_every_n_steps=2,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Model(), make_loader(), make_loader())
