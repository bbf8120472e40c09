"""Training loops with the wrappers for Gymnasium, in every way that the test reads.

Everything that the test compares is logged with torch's writer too, from the statistics of
Gymnasium's own wrappers.
"""

import contextlib
import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import torch
from child_process import kill_and_resume, kill_self
from gymnasium.wrappers import RecordEpisodeStatistics
from gymnasium.wrappers import vector as vector_wrappers
from torch.utils.tensorboard import SummaryWriter

import runfold as rf
from runfold.integrations.gymnasium import LogEpisodeStatistics, LogVectorEpisodeStatistics

OPTIONS = {"system": False, "code": False}


def log_statistics(writer, episode, queues, step):
    """Log what the wrappers log, except the episode number."""
    for name, key in (("return", "r"), ("length", "l"), ("time", "t")):
        writer.add_scalar(f"episode/{name}", episode[key], step)
    if queues is not None:
        writer.add_scalar("episode/return_mean", np.mean(queues.return_queue), step)
        writer.add_scalar("episode/length_mean", np.mean(queues.length_queue), step)


def play(env, steps, each=lambda step, info: None):
    env.reset(seed=1)
    env.action_space.seed(1)
    for step in range(1, steps + 1):
        _, _, terminated, truncated, info = env.step(env.action_space.sample())
        each(step, info)
        if terminated or truncated:
            env.reset()


def single():
    writer = SummaryWriter("logs/single/gymnasium")
    env = gym.make("CartPole-v1", sutton_barto_reward=False)
    logged = LogEpisodeStatistics(env, "logs/single", "runfold", buffer_length=5, **OPTIONS)
    env = RecordEpisodeStatistics(logged, buffer_length=5)

    def each(step, info):
        if "episode" in info:
            log_statistics(writer, info["episode"], env, step)

    play(env, 400, each)
    assert not hasattr(env.spec, "missing")
    env.close()
    writer.close()


def vector(mode):
    """Log all episodes of three environments, in a loop such as CleanRL's."""
    name = mode.name.lower()
    writer = SummaryWriter(f"logs/vector/{name}-gymnasium")
    run = rf.SummaryWriter(f"logs/vector/{name}-runfold")
    envs = gym.make_vec(
        "CartPole-v1",
        num_envs=3,
        vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": mode},
    )
    envs = vector_wrappers.RecordEpisodeStatistics(LogVectorEpisodeStatistics(envs, run))
    envs.reset(seed=1)
    envs.action_space.seed(1)
    global_step = 0
    for _ in range(150):
        _, _, terminations, truncations, infos = envs.step(envs.action_space.sample())
        global_step += envs.num_envs
        done = terminations | truncations
        ended = np.flatnonzero(infos.get("_episode", []))
        for index in ended:
            episode = {key: values[index] for key, values in infos["episode"].items()}
            log_statistics(writer, episode, envs if index == ended[-1] else None, global_step)
        if mode is gym.vector.AutoresetMode.DISABLED and done.any():
            envs.reset(options={"reset_mask": done})
    envs.close()
    run.close()
    writer.close()


class Drawn(gym.Env):
    """Has episodes of five steps, and shows the step in each frame."""

    observation_space = action_space = gym.spaces.Discrete(2)
    render_mode = "rgb_array"

    def reset(self, *, seed=None, options=None):
        self.count = 0
        return 0, {}

    def step(self, action):
        self.count += 1
        return 0, 1.0, self.count == 5, False, {}

    def render(self):
        return np.full((4, 6, 3), 20 * self.count, np.uint8)


def videos():
    env = LogEpisodeStatistics(
        Drawn(),
        "logs/video",
        episode_trigger=lambda episode: episode in (1, 3),
        video_length=4,
        **OPTIONS,
    )
    play(env, 25)
    env.close()


def stable_baselines3():
    from stable_baselines3 import A2C

    with rf.track("logs/sb3", **OPTIONS) as run:
        env = LogEpisodeStatistics(gym.make("CartPole-v1"), run)
        model = A2C("MlpPolicy", env, seed=1, device="cpu").learn(200)
    episodes = [(episode["r"], episode["l"]) for episode in model.ep_info_buffer]
    Path("sb3.json").write_text(json.dumps(episodes))


def train_in_parts(is_killed):
    """Train 200 steps; if training was killed, continue from the checkpoint of step 100."""
    state = {"step_count": 0, "episode_count": 0}
    checkpoint = Path("checkpoint.json")
    if checkpoint.exists():
        state = json.loads(checkpoint.read_text())
    env = LogEpisodeStatistics(
        gym.make("CartPole-v1"),
        "logs/killed",
        first_step=state["step_count"],
        first_episode=state["episode_count"],
        resume=state["step_count"] + 1 if state["step_count"] else False,
        **OPTIONS,
    )

    def each(step, info):
        if env.step_count == 100:
            state = {"step_count": env.step_count, "episode_count": env.episode_count}
            checkpoint.write_text(json.dumps(state))
        if is_killed and env.step_count == 160:
            kill_self(env.run)

    play(env, 200 - state["step_count"], each)
    env.close()


def stop():
    env = LogEpisodeStatistics(gym.make("CartPole-v1"), "logs/stopped", **OPTIONS)

    def each(step, info):
        if step == 50:
            rf.stop(env.run.log_dir, reason="enough", wait=False)

    with contextlib.suppress(KeyboardInterrupt), env:
        play(env, 10**9, each)


def sweep():
    for gravity in (5.0, 9.8):
        for seed in (1, 2):
            env = gym.make("CartPole-v1")
            env.unwrapped.gravity = gravity
            with rf.track(f"logs/sweep/{gravity}-{seed}", hparams={"gravity": gravity}) as run:
                play(LogEpisodeStatistics(env, run), 100)


class OddRewards(gym.Env):
    """Has episodes of one step, each with a different type of reward."""

    observation_space = action_space = gym.spaces.Discrete(2)
    render_mode = "rgb_array"
    rewards = (
        1,
        float("nan"),
        torch.tensor(2.0),
        np.float16(3),
        np.ones(2),
        torch.ones(2),
        np.full(1, 4),
    )

    def reset(self, *, seed=None, options=None):
        return 0, {}

    def step(self, action):
        self.count = getattr(self, "count", -1) + 1
        return 0, self.rewards[self.count], True, False, {}

    def render(self):
        raise RuntimeError("there is no display")


def bad():
    from stable_baselines3.common.monitor import Monitor

    env = LogEpisodeStatistics(
        OddRewards(), "logs/bad/rewards", episode_trigger=lambda _: True, **OPTIONS
    )
    play(env, len(OddRewards.rewards))
    env.close()
    # Nested wrappers, the inner one with the program's writer, and steps after the end.
    with rf.SummaryWriter("logs/bad/nested") as writer:
        env = RecordEpisodeStatistics(gym.make("CartPole-v1"))
        env = LogEpisodeStatistics(env, writer, prefix="inner")
        env = LogEpisodeStatistics(Monitor(env), "logs/bad/outer", prefix="outer", **OPTIONS)
        play(env, 50)
        env.close()
        play(env, 50)
        env.close()
    for arguments in ({"interval": 1}, {"episode_trigger": bool}):
        try:
            LogEpisodeStatistics(gym.make("CartPole-v1"), "logs/bad/never", **arguments)
        except (TypeError, ValueError) as error:
            print(type(error).__name__, error)
    try:
        LogVectorEpisodeStatistics(gym.make_vec("CartPole-v1"), writer, "seed-1")
    except TypeError as error:
        print(error)
    env = LogEpisodeStatistics(gym.make("CartPole-v1"), "logs/bad/failed", **OPTIONS)
    with contextlib.suppress(ValueError), env:
        play(env, 50)
        raise ValueError("the loss is NaN")


if __name__ == "__main__":
    kill_and_resume(lambda: train_in_parts(True), lambda: train_in_parts(False))
    single()
    for mode in gym.vector.AutoresetMode:
        vector(mode)
    videos()
    stable_baselines3()
    stop()
    sweep()
    bad()
