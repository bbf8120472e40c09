"""Gymnasium: LogEpisodeStatistics and LogVectorEpisodeStatistics, wrappers that log episodes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from runfold._story.stop_request import interrupt_main
from runfold._warnings import warn_caller
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun

with importing("Gymnasium", "gymnasium", "1.4.0"):
    import numpy as np
    from gymnasium.wrappers import RecordEpisodeStatistics
    from gymnasium.wrappers import vector as vector_wrappers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from runfold._story.stop_files import StopRequest

__all__ = ["LogEpisodeStatistics", "LogVectorEpisodeStatistics"]

# The temporary key of the statistics in `info`. `step` removes it. It is not "episode", the key
# that other wrappers use.
_KEY = "runfold_episode"


class LogEpisodeStatistics(RecordEpisodeStatistics):
    """A Gymnasium wrapper that logs each episode's return, length and time.

    The step of every value is the number of steps taken in this environment. The values are those
    of `gymnasium.wrappers.RecordEpisodeStatistics`. `info` is unchanged, so you can also add that
    wrapper, SB3's `Monitor` and others, in any order.

    | tag | value |
    |---|---|
    | `episode/return`, `episode/length` | sum of the rewards and number of steps in the episode |
    | `episode/time` | duration of the episode in seconds |
    | `episode/return_mean`, `episode/length_mean` | mean over the last `buffer_length` episodes |
    | `episode/number` | number of the episode, from 1 |
    | `episode/video` | videos of the episodes chosen by `episode_trigger` |

    Args:
        env: the environment.
        run: an `rf.track` run, another `SummaryWriter`, or the logdir of a new run, which `close`
            ends. A stop request raises KeyboardInterrupt, as in `rf.track`. Default:
            `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        name: the new run's folder below the logdir.
        prefix: the first part of the tags.
        buffer_length: number of episodes to average over.
        episode_trigger: a function that returns whether to log a video of the episode with the
            given index (from 0). The environment's render mode must create images, as "rgb_array"
            does.
        video_length: maximum number of frames of a video; 0 for the whole episode.
        first_step: number of earlier steps, if training is resumed.
        first_episode: number of earlier episodes, if training is resumed.
        options: options of `rf.track` for the new run, such as `storage=` or `resume=True`.

    Raises:
        TypeError: an option is unknown or has the wrong type, or options are
            passed together with a writer.
        ValueError: an option has an invalid value, or videos are requested but the render mode
            does not create images.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> import gymnasium as gym
        >>> from runfold.integrations.gymnasium import LogEpisodeStatistics
        >>> env = LogEpisodeStatistics(gym.make("CartPole-v1"), "runs", name="seed-1")
    """

    def __init__(
        self,
        env: Any,
        run: Any = None,
        name: str | None = None,
        *,
        prefix: str = "episode",
        buffer_length: int = 100,
        episode_trigger: Callable[[int], bool] | None = None,
        video_length: int = 0,
        first_step: int = 0,
        first_episode: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(env, buffer_length=buffer_length, stats_key=_KEY)
        if episode_trigger is not None and env.render_mode in (None, "human", "ansi"):
            raise ValueError(
                f"Videos need images, but the environment's render mode is {env.render_mode!r}. "
                'Create the environment with render_mode="rgb_array".'
            )
        self.step_count = first_step
        self.episode_count = first_episode
        self._log = _EpisodeLog(run, name, prefix, options)
        self._episode_trigger = episode_trigger
        self._video_length = video_length or sys.maxsize
        self._frames: list[Any] | None = None

    @property
    def run(self) -> Any:
        """The run or writer to which the wrapper logs.

        Reading this attribute starts or continues the run.
        """
        return self._log.writer

    @property
    def spec(self) -> Any:
        """The spec of the environment without this wrapper, whose run cannot be copied."""
        return self.env.spec

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        """Reset the environment, and start an episode."""
        result: tuple[Any, dict[str, Any]] = super().reset(**options)
        self._log.start(self.env)
        self._frames = None
        if self._episode_trigger is not None and self._episode_trigger(self.episode_count):
            self._frames = []
            self._capture()
        return result

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Step the environment; log the episode if it ends."""
        result: tuple[Any, Any, bool, bool, dict[str, Any]] = super().step(action)
        self.step_count += 1
        if self._frames is not None:
            self._capture()
        episode = result[4].pop(_KEY, None)
        if episode is not None:
            log, step = self._log, self.step_count
            log.log_episode(episode, self.episode_count, step)
            log.log_means(self.return_queue, self.length_queue, step)
            if self._frames:
                log.log_video(self._frames, step, self.metadata.get("render_fps", 30))
            self._frames = None
        return result

    def close(self) -> None:
        """Close the environment, and end the run that the wrapper started."""
        try:
            super().close()
        finally:
            self._log.finish()

    def _capture(self) -> None:
        if self._frames is None or len(self._frames) >= self._video_length:
            return
        try:
            frame = self.env.render()
        except Exception as error:  # a renderer may raise anything
            warn_caller(f"The environment cannot be rendered: {error}. No video is logged.")
            self._episode_trigger = self._frames = None
            return
        if isinstance(frame, list):
            frame = frame[-1] if frame else None
        if frame is not None:
            self._frames.append(frame)


class LogVectorEpisodeStatistics(vector_wrappers.RecordEpisodeStatistics):
    """A wrapper for vector environments that logs each episode's return, length and time.

    The step of every value is the total number of steps of all sub-environments, as in most
    training loops. Episodes that end at the same time have the same step, so `return_mean` and
    `length_mean` get one point for all of them. The values match those of
    `gymnasium.wrappers.vector.RecordEpisodeStatistics`, in all modes of automatic reset. Tags,
    arguments and errors match those of `LogEpisodeStatistics`, except those for videos.

    Examples:
        >>> import gymnasium as gym
        >>> from runfold.integrations.gymnasium import LogVectorEpisodeStatistics
        >>> with rf.track("runs/seed-1", hparams={"lr": 0.1}) as run:
        ...     envs = LogVectorEpisodeStatistics(gym.make_vec("CartPole-v1", num_envs=4), run)
    """

    def __init__(
        self,
        env: Any,
        run: Any = None,
        name: str | None = None,
        *,
        prefix: str = "episode",
        buffer_length: int = 100,
        first_step: int = 0,
        first_episode: int = 0,
        **options: Any,
    ) -> None:
        super().__init__(env, buffer_length=buffer_length, stats_key=_KEY)
        self.step_count = first_step
        self.episode_count = first_episode
        self._log = _EpisodeLog(run, name, prefix, options)

    @property
    def run(self) -> Any:
        """The run or writer to which the wrapper logs.

        Reading this attribute starts or continues the run.
        """
        return self._log.writer

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Reset the environments, and start their episodes."""
        result: tuple[Any, dict[str, Any]] = super().reset(seed=seed, options=options)
        self._log.start(self.env)
        return result

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        """Step the environments; log each episode that ends."""
        number = self.episode_count
        result: tuple[Any, Any, Any, Any, dict[str, Any]] = super().step(actions)
        self.step_count += self.num_envs
        infos = result[4]
        episodes = infos.pop(_KEY, None)
        if episodes is not None:
            for index in np.flatnonzero(infos.pop(f"_{_KEY}")):
                number += 1
                episode = {key: episodes[key][index] for key in episodes}
                self._log.log_episode(episode, number, self.step_count)
            self._log.log_means(self.return_queue, self.length_queue, self.step_count)
        return result

    def close(self, **options: Any) -> None:
        """Close the environments, and end the run that the wrapper started."""
        try:
            super().close(**options)
        finally:
            self._log.finish()


class _EpisodeLog:
    """Logs episodes to a given writer, or to a new run."""

    def __init__(self, run: Any, name: str | None, prefix: str, options: dict[str, Any]) -> None:
        self._writer = run
        self._own_run: FrameworkRun | None = None
        if run is None or isinstance(run, str | os.PathLike):
            # A wrapper cannot end a loop, so a stop request raises KeyboardInterrupt.
            self._own_run = FrameworkRun(run, name, **{"on_stop": self._interrupt, **options})
        elif name is not None or options:
            unused = ", ".join(["name"] * (name is not None) + list(options))
            raise TypeError(f"{unused}: these options need a logdir, but a writer was passed.")
        self._prefix = prefix

    def _interrupt(self, request: StopRequest) -> None:
        assert self._own_run is not None
        self._own_run.stop_request = request
        interrupt_main()

    @property
    def writer(self) -> Any:
        """The writer, with an open file."""
        return self._writer if self._own_run is None else self._own_run.tracker

    def start(self, env: Any) -> None:
        """Start the new run, unless it is open, with the environment's name and arguments."""
        if self._own_run is not None and not self._own_run.is_open:
            self._own_run.log_config(_describe(env))

    def log_episode(self, episode: Mapping[str, Any], number: int, step: int) -> None:
        """Log the statistics of an episode, which have the keys that Gymnasium uses."""
        self._log("return", episode["r"], step)
        self._log("length", episode["l"], step)
        self._log("time", episode["t"], step)
        self._log("number", number, step)

    def log_means(self, returns: Iterable[Any], lengths: Iterable[Any], step: int) -> None:
        """Log the means over the last episodes."""
        self._log("return_mean", returns, step, _average)
        self._log("length_mean", lengths, step, _average)

    def log_video(self, frames: list[Any], step: int, fps: float) -> None:
        """Log the frames of an episode. A failure causes a warning."""
        try:
            video = np.asarray(frames)[None]
            self.writer.add_video(f"{self._prefix}/video", video, step, fps, dataformats="NTHWC")
        except Exception as error:  # frames of several sizes, or a writer without moviepy
            warn_caller(f"The video of an episode was not logged: {error}")

    def finish(self) -> None:
        """End the new run. A given writer remains open."""
        if self._own_run is not None:
            self._own_run.finish(sys.exception())

    def _log(
        self, name: str, value: Any, step: int, combine: Callable[[Any], Any] | None = None
    ) -> None:
        try:
            combined = value if combine is None else combine(value)
            # `float` rejects a NumPy array of one number that has a dimension.
            number = float(combined.item() if hasattr(combined, "item") else combined)
        except Exception:  # rewards may be of any type, and tensors raise a RuntimeError
            problem = f"expected a number, got {type(value).__name__}"
            if combine is not None:
                problem = "the values cannot be averaged"
            warn_caller(f"{self._prefix}/{name}: {problem}. This point is not logged.")
            return
        self.writer.add_scalar(f"{self._prefix}/{name}", number, step)


def _average(values: Iterable[Any]) -> Any:
    values = list(values)
    return sum(values) / len(values)


def _describe(env: Any) -> dict[str, Any]:
    """Return an environment's id, arguments and number of copies as hparams."""
    described: dict[str, Any] = {}
    try:
        if env.spec is not None:
            described = {"env": env.spec.id, "env_kwargs": dict(env.spec.kwargs)}
            described = {name: value for name, value in described.items() if value}
    except Exception:  # the specification copies all wrappers' arguments, which may fail
        described = {}
    if hasattr(env, "num_envs"):
        described["num_envs"] = env.num_envs
    return described
