"""Stable-Baselines3: figures, images, videos, histograms and text from a callback."""

import numpy as np
import torch
from matplotlib import pyplot
from stable_baselines3 import A2C
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.logger import Figure, Image, TensorBoardOutputFormat, Video

torch.set_num_threads(1)
NO_TEXT_FILES = ("stdout", "log", "json", "csv")


class MediaCallback(BaseCallback):
    def _on_step(self):
        return True

    def _on_rollout_end(self):
        random = np.random.default_rng(self.num_timesteps)
        figure = pyplot.figure(figsize=(1, 1))
        figure.add_subplot().plot(random.random(4))
        self.logger.record("figure", Figure(figure, close=True), exclude=NO_TEXT_FILES)
        pyplot.close()
        picture = random.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        self.logger.record("image", Image(picture, "HWC"), exclude=NO_TEXT_FILES)
        frames = random.integers(0, 255, (1, 3, 3, 8, 8), dtype=np.uint8)
        np.save(f"video-{self.num_timesteps}.npy", frames)
        self.logger.record("video", Video(torch.as_tensor(frames), fps=10), exclude=NO_TEXT_FILES)
        weights = next(self.model.policy.parameters()).detach()
        self.logger.record("histogram", weights, exclude=NO_TEXT_FILES)
        self.logger.record("array", weights.numpy(), exclude=NO_TEXT_FILES)
        self.logger.record("text", f"at step {self.num_timesteps}", exclude=NO_TEXT_FILES)
        formats = self.logger.output_formats
        output = next(form for form in formats if isinstance(form, TensorBoardOutputFormat))
        output.writer.add_text("direct", "written by the callback", self.num_timesteps)
        output.writer.flush()


model = A2C("MlpPolicy", "CartPole-v1", seed=1, n_steps=16, tensorboard_log="logs", device="cpu")
model.learn(160, log_interval=2, callback=MediaCallback())
