"""Stable-Baselines3 with RunfoldOutput or RunfoldCallback.

`train` uses the callback, the output and SB3's own TensorBoard logger in every way that the test
reads. `kill STEPS` trains from a checkpoint if there is one, and prints the step after each
rollout.
"""

import contextlib
import sys
from pathlib import Path

import numpy as np
import torch
from matplotlib import pyplot
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.callbacks import BaseCallback, CheckpointCallback
from stable_baselines3.common.logger import Figure, HParam, Image, Logger, Video

import runfold as rf
from runfold.integrations.stable_baselines3 import RunfoldCallback, RunfoldOutput

OPTIONS = {"system": False, "code": False}
torch.set_num_threads(1)


class Media(BaseCallback):
    """Records every type of value that SB3's TensorBoard output supports."""

    def _on_step(self):
        return True

    def _on_rollout_end(self):
        random = np.random.default_rng(self.num_timesteps)
        figure = pyplot.figure(figsize=(1, 1))
        figure.add_subplot().plot(random.random(4))
        record = self.logger.record
        record("media/figure", Figure(figure, close=True))
        picture = random.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        record("media/image", Image(picture, "HWC"))
        weights = next(self.model.policy.parameters()).detach()
        record("media/histogram", weights)
        record("media/array", weights.numpy())
        record("media/text", f"at step {self.num_timesteps}")
        record("media/nan", float("nan"))
        record("media/excluded", 1.0, exclude="tensorboard")


class Trouble(BaseCallback):
    def _on_step(self):
        if self.num_timesteps >= 40:
            raise ValueError("the reward is NaN")
        return True


class Report(BaseCallback):
    """Prints the step after each rollout, for the test that kills this program."""

    def _on_step(self):
        return True

    def _on_rollout_start(self):
        print(self.num_timesteps, flush=True)


def make(algorithm=A2C, **options):
    options = {"n_steps": 16, "seed": 1, "device": "cpu", **options}
    return algorithm("MlpPolicy", "CartPole-v1", **options)


def compare():
    make(tensorboard_log="logs/sb3").learn(160, Media(), log_interval=2)
    callback = RunfoldCallback("logs/callback", save_model=True, hparams={"team": "a"}, **OPTIONS)
    make().learn(160, [Media(), callback], log_interval=2)
    model = make()
    model.set_logger(Logger("logs/output", [RunfoldOutput("logs/output", **OPTIONS)]))
    model.learn(160, Media(), log_interval=2)
    model.logger.close()
    for lr in (0.01, 0.02):
        for seed in (1, 2):
            options = {"learning_rate": lr, "seed": seed, "n_steps": 64, "n_epochs": 1}
            make(PPO, **options).learn(128, RunfoldCallback("logs/sweep", **OPTIONS))
    model = make(PPO, batch_size=16, n_epochs=1)
    callback = RunfoldCallback("logs/twice", **OPTIONS)
    model.learn(32, callback)
    model.learn(32, callback, reset_num_timesteps=False)
    model.learn(32, callback)
    options = {"learning_starts": 10, "seed": 1, "device": "cpu"}
    model = DQN("MlpPolicy", "CartPole-v1", **options)
    model.learn(60, RunfoldCallback("logs/dqn", **OPTIONS), tb_log_name="small")


def endings():
    with (
        contextlib.suppress(ValueError),
        RunfoldCallback("logs/endings/with", **OPTIONS) as callback,
    ):
        make().learn(64, [callback, Trouble()])
    again = RunfoldCallback("logs/endings/again", **OPTIONS)
    with contextlib.suppress(ValueError):
        make().learn(64, [again, Trouble()])
    make().learn(32, again)


def bad():
    output = RunfoldOutput("logs/bad", **OPTIONS)
    logger = Logger("logs/bad", [output])
    logger.record("before", 1)
    logger.dump(0)
    endless = {}
    endless["again"] = endless
    for name, value in {
        "object": object(),
        "endless": endless,
        "nested": {"a": {"b": 2.0}, "none": None},
        "none": None,
        "nan": float("nan"),
        "changing": 1.0,
        "empty": torch.zeros(0),
        "video": Video(torch.zeros(1, 2, 3, 8, 8, dtype=torch.uint8), fps=10),
        "grad": torch.ones(3, requires_grad=True),
        "half": torch.ones(3, dtype=torch.bfloat16),
        "number": np.float32(2.5),
        "hparams": HParam({"lr": 0.1}, {"nan": 0}),
    }.items():
        logger.record(name, value)
    logger.dump(1)
    logger.record("object", object())
    logger.record("changing", "text now")
    logger.dump(2)
    logger.close()
    logger.record("after", 1.0)
    logger.dump(3)
    logger.close()
    first, second = RunfoldCallback("logs/two", **OPTIONS), RunfoldCallback("logs/two", **OPTIONS)

    class Inner(BaseCallback):
        def _on_step(self):
            if self.n_calls == 1:
                make().learn(32, second, log_interval=1)
            return True

    make().learn(32, [first, Inner()], log_interval=1)
    early = RunfoldCallback("logs/early", **OPTIONS)
    early.run.add_scalar("before", 1.0, 0)
    make().learn(32, early, log_interval=1)
    early.run.add_scalar("after", 1.0, 40)
    early.run.close()
    model = make()
    model.set_logger(Logger("logs/both", [RunfoldOutput("logs/both", **OPTIONS)]))
    model.learn(32, RunfoldCallback(), log_interval=1)


class StopRequest(BaseCallback):
    """Asks the run to stop, and waits until the run has seen the request."""

    def __init__(self, tracked):
        super().__init__()
        self.tracked = tracked

    def _on_step(self):
        if self.n_calls == 20:  # in the second rollout
            run = self.tracked.run
            rf.stop(run.log_dir, reason="enough", wait=False)
            run._tracked.control._look()
        return True


def stop():
    tracked = RunfoldCallback("logs/stop", **OPTIONS)
    model = make()
    model.learn(100_000, [StopRequest(tracked), tracked], log_interval=1)


def kill():
    checkpoints = sorted(
        Path("checkpoints").glob("*.zip"), key=lambda path: path.stat().st_mtime_ns
    )
    total = int(sys.argv[2])
    callbacks = [
        CheckpointCallback(48, "checkpoints"),
        RunfoldCallback("logs", resume=bool(checkpoints), **OPTIONS),
        Report(),
    ]
    if checkpoints:
        model = A2C.load(checkpoints[-1], env=make().get_env(), device="cpu")
        print("resumed at", model.num_timesteps, flush=True)
        left = total - model.num_timesteps
        model.learn(left, callbacks, log_interval=1, reset_num_timesteps=False)
    else:
        make().learn(total, callbacks, log_interval=1)


if __name__ == "__main__":
    if sys.argv[1] == "kill":
        kill()
    else:
        compare()
        endings()
        bad()
        stop()
