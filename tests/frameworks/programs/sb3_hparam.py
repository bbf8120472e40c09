"""Stable-Baselines3: its documented callback that logs hparams with their metrics."""

import torch
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import HParam

torch.set_num_threads(1)


class HParamCallback(BaseCallback):
    """Saves the hyperparameters and metrics at the start of training."""

    def _on_training_start(self):
        hparam_dict = {
            "algorithm": self.model.__class__.__name__,
            "learning rate": self.model.learning_rate,
            "gamma": self.model.gamma,
            "normalized": self.model.normalize_advantage,
        }
        metric_dict = {"rollout/ep_len_mean": 0, "train/value_loss": 0.0}
        self.logger.record(
            "hparams",
            HParam(hparam_dict, metric_dict),
            exclude=("stdout", "log", "json", "csv"),
        )

    def _on_step(self):
        return True


model = A2C("MlpPolicy", "CartPole-v1", seed=1, n_steps=16, tensorboard_log="logs", device="cpu")
model.learn(320, log_interval=2, callback=HParamCallback())
