"""Determined: TorchWriter and BatchMetricWriter, which track a trial as a run.

They have the methods of Determined's classes and work without the `determined` package. Written
against determined 0.38.1.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._story.stop_request import interrupt_main
from runfold.integrations._support.framework_run import FrameworkRun

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from runfold._log.track.tracker import Tracker
    from runfold._story.stop_files import StopRequest

__all__ = ["BatchMetricWriter", "TorchWriter"]


class TorchWriter:
    """A writer for Determined's trials that tracks a trial as a run, as `rf.track` does.

    Replaces `determined.tensorboard.metric_writers.pytorch.TorchWriter`. Trials log with the
    `writer` attribute. In a trial, it logs to the folder that Determined uploads.

    Args:
        log_dir: the run's folder, or a URL such as `s3://bucket/run`. Default: Determined's
            TensorBoard folder if the program has imported Determined; otherwise
            `runs/<time>_<host>` or, under `runfold run`, the folder that it created.
        context: the `PyTorchTrialContext`. A stop request then ends the trial after the current
            step, through Determined's own mechanism. Without it, a stop request interrupts the main
            thread, as Ctrl-C does.
        options: options of `rf.track`, such as `system=False`. In Determined's folder, `resume` is
            True by default, because Determined logs there too.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from runfold.integrations.determined import TorchWriter
        >>> class MyTrial(PyTorchTrial):
        ...     def __init__(self, context):
        ...         self.logger = TorchWriter(context=context, hparams=context.get_hparams())
        ...     def train_batch(self, batch, epoch_idx, batch_idx):
        ...         self.logger.writer.add_scalar("my_metric", 0.5, batch_idx)
    """

    def __init__(
        self, log_dir: str | os.PathLike[str] | None = None, *, context: Any = None, **options: Any
    ) -> None:
        if log_dir is None and (tensorboard := sys.modules.get("determined.tensorboard")):
            log_dir = tensorboard.get_base_path({})
            options.setdefault("resume", True)
        self._context = context
        self._run = FrameworkRun(log_dir, **{"on_stop": self._on_stop, **options})

    @property
    def writer(self) -> Tracker:
        """The tracked run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        return self._run.tracker

    @property
    def should_stop(self) -> bool:
        """Whether the run has been asked to stop."""
        return self._run.should_stop

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        """Log a number. A value that cannot be logged causes one warning per tag."""
        self._run.tracker.add_scalar(name, value, step)

    def flush(self) -> None:
        """Write all pending events."""
        self._run.flush()

    def reset(self) -> None:
        """Write all pending events.

        Determined's own writer also closes its file, and the next event starts a new one.
        """
        self._run.flush()

    def close(self) -> None:
        """End the run: as failed if an exception is being handled, otherwise as finished."""
        self._run.finish(sys.exception())

    def __enter__(self) -> TorchWriter:
        return self

    def __exit__(self, *raised: Any) -> None:
        self._run.finish(raised[1])

    def __getattr__(self, name: str) -> Any:
        """Return a method of the tracked run, such as `add_image`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.writer, name)

    def _on_stop(self, request: StopRequest) -> None:
        self._run.stop_request = request
        if self._context is None:
            interrupt_main()
        else:
            self._context.set_stop_requested(True)


class BatchMetricWriter:
    """Logs metrics of training steps and validations under Determined's names.

    The tags are `Determined/<name>`. Names of validation metrics get the prefix `val_` unless they
    start with `val`. The step is the number of batches. Values that are not numbers are skipped.

    Args:
        writer: a `TorchWriter`, or any object with `add_scalar` and `flush`.

    Examples:
        >>> metrics = BatchMetricWriter(TorchWriter("runs/seed-1"))
        >>> metrics.on_train_step_end(100, {"loss": 0.5})
        >>> metrics.on_validation_step_end(100, {"accuracy": 0.9})
    """

    def __init__(self, writer: Any) -> None:
        self.writer = writer

    def on_train_step_end(
        self,
        steps_completed: int,
        metrics: Mapping[str, Any],
        batch_metrics: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Log the metrics of each batch, and the averages of metrics that no batch contains.

        Args:
            steps_completed: number of batches so far.
            metrics: averages over the step.
            batch_metrics: metrics of each batch in the step.
        """
        batches = batch_metrics or ()
        for number, batch in enumerate(batches, steps_completed - len(batches)):
            self._log(batch.items(), number)
        known = {name for batch in batches for name in batch}
        self._log(
            ((name, value) for name, value in metrics.items() if name not in known),
            steps_completed,
        )
        self.writer.flush()

    def on_validation_step_end(self, steps_completed: int, metrics: Mapping[str, Any]) -> None:
        """Log validation metrics."""
        named = (
            (name if name.startswith("val") else f"val_{name}", value)
            for name, value in metrics.items()
        )
        self._log(named, steps_completed)
        self.writer.flush()

    def _log(self, metrics: Iterable[tuple[str, Any]], step: int) -> None:
        for name, value in metrics:
            if _is_number(value):
                self.writer.add_scalar(f"Determined/{name}", value, step)


def _is_number(value: Any) -> bool:
    is_array = isinstance(value, np.ndarray) and value.ndim == 0
    return isinstance(value, int | float | np.number) or (
        is_array and np.issubdtype(value.dtype, np.number)
    )
