"""JAX: RunfoldWriter, a `clu.metric_writers.MetricWriter` that does not need TensorFlow."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun
from runfold.integrations._support.run_owner import RunOwner
from runfold.integrations._support.tensor_values import (
    log_audio_clips,
    log_histogram,
    log_images,
    log_tensor,
    log_text,
)

with importing("CLU", "clu", "0.0.12"):
    # `clu.metric_writers` imports TensorFlow, and cannot be imported without it.
    import clu  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._log.track.tracker import Tracker

__all__ = ["RunfoldWriter", "create_default_writer"]

_INTERFACE = "clu.metric_writers.interface"
_logger = logging.getLogger(__name__)


class RunfoldWriter(RunOwner):
    """A clu `MetricWriter` that tracks a run, as `rf.track` does.

    It has all methods of clu's interface, and logs the tags, steps and values that clu's
    `SummaryWriter` logs with TensorFlow. It also logs videos, as animated GIFs. It can be part of
    clu's `MultiWriter` and `AsyncMultiWriter`. The writer is an instance of clu's `MetricWriter` if
    the program imported `clu.metric_writers` before creating the writer.

    The first write starts the run, and `close` ends it. A stop request raises KeyboardInterrupt
    in the main thread, as in `rf.track`. In a distributed job, only rank zero logs.

    Args:
        logdir: the logdir or the run's folder, or a URL such as `s3://bucket/runs`. Default:
            `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        name: the run's folder below `logdir`.
        asynchronous: write in a thread, so that the program does not wait for arrays that JAX is
            still computing. Do not donate these arrays. An error that would stop the program is
            raised by the next call, as in clu's `AsyncWriter`.
        log_scalars: whether to also log scalars with Python's `logging` module, at level INFO.
        options: options of `rf.track`, such as `storage=` or `system=False`. With `resume=True`,
            everything at or after the first step that the writer logs is discarded.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from runfold.integrations.clu import RunfoldWriter
        >>> with RunfoldWriter("runs/seed-1") as writer:
        ...     writer.write_hparams({"learning_rate": 0.1})
        ...     writer.write_scalars(1, {"train/loss": 0.5})
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        asynchronous: bool = False,
        log_scalars: bool = False,
        **options: Any,
    ) -> None:
        self._run = FrameworkRun(logdir, name, **{"on_stop": None, **options})
        self._run.resumes_at_first_step = True
        self._logs_scalars = log_scalars
        self._pool: Any = None
        if asynchronous:
            from clu import asynclib

            self._pool = asynclib.Pool(thread_name_prefix="RunfoldWriter", max_workers=1)
        if interface := sys.modules.get(_INTERFACE):
            interface.MetricWriter.register(RunfoldWriter)

    def _leave(self, error: BaseException | None) -> None:
        self._wait()
        self._run.finish(error)

    def write_summaries(
        self, step: int, values: Mapping[str, Any], metadata: Mapping[str, Any] | None = None
    ) -> None:
        """Log arrays of any shape, with the `SummaryMetadata` of a TensorBoard plugin.

        Args:
            step: the step.
            values: arrays by tag.
            metadata: messages or their bytes by tag.
        """
        for tag, value in values.items():
            self._log(log_tensor, tag, value, step, (metadata or {}).get(tag))

    def write_scalars(self, step: int, scalars: Mapping[str, Any]) -> None:
        """Log numbers by tag; a value that is a mapping becomes one series per key: `tag/key`."""
        if self._pool is None:
            self._run.log(scalars, step)
        else:
            # The program may change the original.
            scalars = dict(scalars)
            self._call(self._run.log, scalars, step)
        if self._logs_scalars:
            self._call(_print_scalars, step, scalars)

    def write_images(self, step: int, images: Mapping[str, Any]) -> None:
        """Log images by tag: shape (images, height, width, channels), or a single image.

        uint8 values range from 0 to 255, all others from 0 to 1.
        """
        for tag, value in images.items():
            self._log(log_images, tag, _as_batch(value, 4), step)

    def write_videos(self, step: int, videos: Mapping[str, Any]) -> None:
        """Log videos by tag: shape (videos, frames, height, width, channels), or a single video."""
        for tag, value in videos.items():
            self._log(_log_video, tag, _as_batch(value, 5), step)

    def write_audios(self, step: int, audios: Mapping[str, Any], *, sample_rate: int) -> None:
        """Log audio clips by tag, as arrays (clips, frames, channels) with values from -1 to 1."""
        for tag, value in audios.items():
            self._log(log_audio_clips, tag, value, step, sample_rate)

    def write_texts(self, step: int, texts: Mapping[str, str]) -> None:
        """Log strings by tag, with secrets replaced by `***`."""
        for tag, text in texts.items():
            self._log(log_text, tag, text, step)

    def write_histograms(
        self, step: int, arrays: Mapping[str, Any], num_buckets: Mapping[str, int] | None = None
    ) -> None:
        """Log histograms of arrays by tag. `num_buckets` maps tags to numbers of buckets."""
        for tag, value in arrays.items():
            self._log(log_histogram, tag, value, step, (num_buckets or {}).get(tag))

    def write_pointcloud(
        self,
        step: int,
        point_clouds: Mapping[str, Any],
        *,
        point_colors: Mapping[str, Any] | None = None,
        configs: Mapping[str, Any] | None = None,
    ) -> None:
        """Log point clouds by tag: shape (clouds, points, 3).

        Args:
            step: the step.
            point_clouds: coordinates by tag.
            point_colors: RGB colors by tag, from 0 to 255, with the shape of the coordinates.
            configs: three.js classes and their settings by tag.
        """
        for tag, vertices in point_clouds.items():
            colors, config = (point_colors or {}).get(tag), (configs or {}).get(tag)
            self._log(_log_points, tag, vertices, step, colors, config)

    def write_hparams(self, hparams: Mapping[str, Any]) -> None:
        """Log hparams, with secrets replaced by `***`. Later calls add to earlier ones.

        Nested names and the indices of lists are joined by dots.
        """
        self._call(self._run.log_config, dict(_number_lists(hparams)))

    def flush(self) -> None:
        """Write all pending events."""
        self._wait()
        self._run.flush()

    def close(self) -> None:
        """Write all pending events, record how the run ended, and close the event file.

        Further writes continue the run.
        """
        self._wait()
        if self._run.is_open:
            self._run.tracker.close()

    def _log(self, log: Callable[..., object], *args: Any) -> None:
        """Call a function with the open run, at once or in the thread."""
        self._call(lambda: log(self._run.tracker, *args))

    def _call(self, function: Callable[..., object], *args: Any) -> None:
        if self._pool is None:
            function(*args)
        else:
            self._pool(function)(*args)

    def _wait(self) -> None:
        """Wait for all earlier writes."""
        if self._pool is not None:
            self._pool.join()


def create_default_writer(
    logdir: str | os.PathLike[str] | None = None,
    *,
    just_logging: bool = False,
    asynchronous: bool = True,
    collection: str | None = None,
    **options: Any,
) -> RunfoldWriter:
    """Return a writer that also logs scalars with the `logging` module, as clu's function does.

    Args:
        logdir: the logdir or the run's folder. Without it, only scalars are logged, with `logging`.
        just_logging: write no event file. Use this on all hosts except the first.
        asynchronous: write in a thread.
        collection: the run's folder below `logdir`.
        options: options of `rf.track`.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.
    """
    if just_logging or logdir is None:
        options["is_main"] = False
    return RunfoldWriter(logdir, collection, asynchronous=asynchronous, log_scalars=True, **options)


def _print_scalars(step: int, scalars: Mapping[str, Any]) -> None:
    numbers = ", ".join(f"{name}={value}" for name, value in scalars.items())
    _logger.info("[%s] %s", step, numbers)


def _log_video(run: Tracker, tag: str, video: Any, step: int) -> None:
    run.add_video(tag, video, step, dataformats="NTHWC")


def _log_points(run: Tracker, tag: str, vertices: Any, step: int, colors: Any, config: Any) -> None:
    run.add_mesh(tag, vertices, colors, None, config, step)


def _as_batch(value: Any, axes: int) -> Any:
    """Return a single image or video as a batch of one."""
    return value[None] if getattr(value, "ndim", axes) == axes - 1 else value


def _number_lists(hparams: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Flatten hparams into names and values as clu's writers do: `layers.0`, and "" for None."""
    flat: list[tuple[str, Any]] = []
    for name, value in hparams.items():
        if isinstance(value, list | tuple):
            value = {str(index): item for index, item in enumerate(value)}
        if hasattr(value, "items"):  # `ml_collections.ConfigDict` is not a Mapping
            flat += _number_lists(value, f"{prefix}{name}.")
        else:
            flat.append((f"{prefix}{name}", "" if value is None else value))
    return flat
