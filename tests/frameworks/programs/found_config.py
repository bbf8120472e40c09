"""Training runs whose frameworks leave the configuration in a text tag or in a file.

Each framework trains twice, with two learning rates, in a folder named after it.
"""

import json
import os
import sys
from pathlib import Path

import hydra
import lightning
import tensorboardX
import torch
from accelerate import Accelerator
from lightning.pytorch.loggers import TensorBoardLogger
from omegaconf import OmegaConf
from ray.tune.utils.util import SafeFallbackEncoder
from stable_baselines3 import A2C
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

RATES = (0.1, 0.01)


def run_transformers(rate: float, seed: int) -> None:
    """Train a tiny Bert; the training arguments become the text tag `args`."""
    out = f"transformers/lr-{rate}-{seed}"
    os.environ["TENSORBOARD_LOGGING_DIR"] = f"{out}/runs"
    config = BertConfig(
        vocab_size=8,
        hidden_size=4,
        num_hidden_layers=1,
        num_attention_heads=1,
        intermediate_size=4,
        max_position_embeddings=8,
    )
    row = {"input_ids": torch.arange(4), "labels": torch.tensor(1)}
    arguments = TrainingArguments(
        output_dir=out,
        max_steps=4,
        learning_rate=rate,
        seed=seed,
        logging_steps=1,
        save_strategy="no",
        report_to=["tensorboard"],
        hub_token="hf_0123456789",
        use_cpu=True,
        disable_tqdm=True,
    )
    trainer = Trainer(BertForSequenceClassification(config), arguments, train_dataset=[row] * 4)
    trainer.train()
    trainer.save_state()


class Model(lightning.LightningModule):
    """A model whose hyperparameters are a class, a tuple, a mapping and plain values."""

    def __init__(self, lr, activation=torch.nn.ReLU, sizes=(4, 1), optim=None, decay=None):
        super().__init__()
        self.save_hyperparameters()
        self.linear = torch.nn.Linear(*sizes)

    def training_step(self, batch, _):
        loss = self.linear(batch).pow(2).mean()
        self.log("train/loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


def run_lightning(rate: float) -> None:
    """Train with `save_hyperparameters`. Without `hp_metric`, only `hparams.yaml` has them."""
    trainer = lightning.Trainer(
        max_epochs=1,
        accelerator="cpu",
        logger=TensorBoardLogger("lightning", name="", default_hp_metric=False),
        log_every_n_steps=1,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    model = Model(rate, optim={"name": "sgd", "betas": [0.9, 0.99]})
    trainer.fit(model, torch.utils.data.DataLoader(torch.ones(4, 4), 2))


def run_accelerate(rate: float) -> None:
    """Log with the TensorBoard tracker, which also saves `hparams.yml`."""
    accelerator = Accelerator(cpu=True, log_with="tensorboard", project_dir="accelerate")
    accelerator.init_trackers(f"lr-{rate}", config={"lr": rate, "steps": 2, "name": "small"})
    for step in range(2):
        accelerator.log({"loss": rate / (step + 1)}, step=step)
    accelerator.end_training()


def run_ray(rate: float) -> None:
    """Write what the JSON and TBX loggers of Ray Tune write for one trial."""
    folder = Path(f"ray/trial_lr={rate}")
    writer = tensorboardX.SummaryWriter(str(folder), flush_secs=30)
    for step in range(2):
        writer.add_scalar("ray/tune/loss", rate / (step + 1), global_step=step)
    writer.close()
    config = {"lr": rate, "model": {"layers": 2, "activation": torch.nn.ReLU}, "env": "CartPole"}
    with (folder / "params.json").open("w") as file:
        json.dump(config, file, indent=2, sort_keys=True, cls=SafeFallbackEncoder)


@hydra.main(version_base=None, config_path=None, config_name="base")
def run_hydra(config: object) -> None:
    """Train Stable-Baselines3 in the folder of a Hydra job, which saves `.hydra/config.yaml`."""
    folder = hydra.core.hydra_config.HydraConfig.get().runtime.output_dir
    model = A2C(
        "MlpPolicy",
        "CartPole-v1",
        learning_rate=config.optim.lr,
        seed=config.seed,
        n_steps=16,
        tensorboard_log=f"{folder}/tb",
        device="cpu",
    )
    model.learn(64, log_interval=1)


if __name__ == "__main__":
    torch.set_num_threads(1)
    base = {"optim": {"lr": 1.0, "name": "rmsprop"}, "seed": 1, "notes": None}
    hydra.core.config_store.ConfigStore.instance().store("base", OmegaConf.create(base))
    for rate in RATES:
        for seed in (1, 2):
            run_transformers(rate, seed)
        run_lightning(rate)
        run_accelerate(rate)
        run_ray(rate)
        sys.argv[1:] = [f"optim.lr={rate}", "+extra=3", f"hydra.run.dir=hydra/lr-{rate}"]
        run_hydra()
