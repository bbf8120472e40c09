"""Composer: RunfoldLogger, a logger that tracks training as a run.

Written against mosaicml 0.32.1, which requires torch 2.7 or older.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import is_event_file
from runfold._log.track.config import as_plain
from runfold._log.writer.convert import as_array
from runfold._log.writer.exit_reason import raised_last
from runfold._log.writer.guard import guarded
from runfold.integrations._support.framework_import import importing
from runfold.integrations._support.framework_run import FrameworkRun

with importing("Composer", "mosaicml", "0.32.1"):
    from composer.loggers import LoggerDestination
    from composer.utils import dist

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from runfold._log.track.tracker import Tracker

__all__ = ["RunfoldLogger"]


class RunfoldLogger(LoggerDestination):
    """A Composer logger that tracks training as a run, as `rf.track` does.

    The run's folder is `<logdir>/<run_name>`, as with Composer's `TensorboardLogger`, and tags
    and steps are the same. `Trainer.close` ends the run. If the program does not call it, the run
    ends when the program exits. A stop request stops training after the current batch or, in a
    distributed job, after the current epoch. Only rank zero logs.

    Args:
        logdir: the logdir, or a URL such as `s3://bucket/runs`. Default: `runs` or, under
            `runfold run`, the folder that it created.
        name: the run's folder below `logdir`. Default: the trainer's `run_name`.
        hparams: hparams in addition to Composer's, of any type that `rf.track` accepts.
        save_files: whether files that Composer uploads, such as checkpoints, are saved as
            artifacts of the run.
        options: options of `rf.track`, such as `system=False`. `resume=True` continues the run and
            discards nothing; pass a batch number instead of True to discard everything at or after
            that batch.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from composer import Trainer
        >>> from runfold.integrations.composer import RunfoldLogger
        >>> trainer = Trainer(model, train_dataloader=data, loggers=[RunfoldLogger("runs")])
        >>> trainer.fit()
        >>> trainer.close()
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        name: str | None = None,
        *,
        hparams: Any = None,
        save_files: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self._saves_files = save_files
        self._run = FrameworkRun(logdir, name, **options)
        self._is_named = name is not None or self._run.logdir != logdir
        # The hparams from before the first metrics, to be logged in one call. TensorBoard shows
        # only those of the first call.
        self._early: dict[str, Any] | None = as_plain({} if hparams is None else hparams)

    @property
    def writer(self) -> Tracker:
        """The tracked run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        return self._run.tracker

    def init(self, state: Any, logger: Any) -> None:
        """Name the run."""
        self._run.options.setdefault("is_main", dist.get_global_rank() == 0)
        if not self._is_named:
            self._run.logdir = "runs" if self._run.logdir is None else self._run.logdir
            self._run.name = state.run_name

    def fit_start(self, state: Any, logger: Any) -> None:
        """Start the run with the hparams that Composer has logged so far."""
        self._log_hparams()

    def _log_hparams(self) -> None:
        hparams, self._early = self._early, None
        if hparams:
            self._run.log_config(hparams)

    def log_hyperparameters(self, hyperparameters: Mapping[str, Any]) -> None:
        """Log hparams, with secrets replaced by `***`. Later calls add to earlier ones."""
        if self._early is not None:
            self._early.update(hyperparameters)
        else:
            self._run.log_config(hyperparameters)

    def log_metrics(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Log numbers by tag. Strings are skipped, as in Composer's `TensorboardLogger`."""
        self._log_hparams()
        numbers = {tag: value for tag, value in metrics.items() if not isinstance(value, str)}
        self._run.log(numbers, step)

    def log_table(
        self,
        columns: list[str],
        rows: list[list[Any]],
        name: str = "Table",
        step: int | None = None,
    ) -> None:
        """Log a table as text in Markdown."""
        lines = [columns, ["---"] * len(columns), *rows]
        text = "\n".join("| " + " | ".join(map(_as_cell, line)) + " |" for line in lines)
        self._run.tracker.add_text(name, text, step)

    def log_images(
        self,
        images: Any,
        name: str = "Images",
        channels_last: bool = False,
        step: int | None = None,
        masks: Any = None,
        mask_class_labels: Any = None,
        use_table: bool = False,
    ) -> None:
        """Log one or more images, without masks."""
        _log_images(self._run.tracker, name, images, step, channels_last)

    def can_upload_files(self) -> bool:
        """Return whether files become artifacts of the run."""
        return self._saves_files

    def upload_file(
        self, state: Any, remote_file_name: str, file_path: Any, *, overwrite: bool
    ) -> None:
        """Save a file as an artifact of the run, unless it is another logger's event file."""
        if self._saves_files and not is_event_file(remote_file_name):
            self._run.save(file_path, remote_file_name)

    def batch_end(self, state: Any, logger: Any) -> None:
        """Stop training if the run has been asked to stop."""
        if self._run.should_stop and dist.get_world_size() == 1:
            state.stop_training()

    def epoch_end(self, state: Any, logger: Any) -> None:
        """Stop training on all ranks if the run has been asked to stop."""
        if dist.get_world_size() > 1:
            # Only rank zero knows about the request, and all ranks must stop together.
            requests = [self._run.should_stop]
            dist.broadcast_object_list(requests, src=0)
            if requests[0]:
                state.stop_training()

    def close(self, state: Any, logger: Any) -> None:
        """End the run: as failed if an exception ended training, otherwise as finished."""
        self._log_hparams()
        self._run.finish(sys.exception() or raised_last())


# The first parameter is named `self` because `guarded` reports errors to it, as for a method.
@guarded
def _log_images(self: Tracker, tag: str, images: Any, step: Any, channels_last: bool) -> None:
    if isinstance(images, list | tuple):
        pixels = np.array([as_array(image, tag, "images") for image in images])
    else:
        pixels = as_array(images, tag, "images")
    if pixels.ndim == 2:
        self.add_image(tag, pixels, step, dataformats="HW")
    elif pixels.ndim == 3:
        self.add_image(tag, pixels, step, dataformats="HWC" if channels_last else "CHW")
    else:
        self.add_images(tag, pixels, step, dataformats="NHWC" if channels_last else "NCHW")


def _as_cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
