"""Stable-Baselines3: learn twice, the second time in the same run."""

import torch
from stable_baselines3 import A2C

torch.set_num_threads(1)
model = A2C("MlpPolicy", "CartPole-v1", seed=1, n_steps=16, tensorboard_log="logs", device="cpu")
model.learn(320, log_interval=2, tb_log_name="a2c")
model.learn(160, log_interval=2, tb_log_name="a2c", reset_num_timesteps=False)
