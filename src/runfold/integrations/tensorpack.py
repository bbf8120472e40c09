"""Tensorpack: TFEventWriter, a monitor that tracks training as a run.

It has the methods of Tensorpack's monitor of the same name, and also works without Tensorpack.
It is written for Tensorpack 0.11.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
from runfold.integrations._support.framework_run import FrameworkRun

try:
    from tensorpack.callbacks.monitor import MonitorBase
    from tensorpack.train.base import StopTraining
    from tensorpack.utils.logger import get_logger_dir
except Exception:  # Tensorpack is missing, or does not work with the installed TensorFlow
    MonitorBase, StopTraining = object, KeyboardInterrupt

    def get_logger_dir() -> str | None:
        """Return None: Tensorpack's logger has no folder."""
        return None


if TYPE_CHECKING:
    from runfold._log.track.tracker import Tracker

__all__ = ["TFEventWriter"]


class TFEventWriter(MonitorBase):
    """A Tensorpack monitor that tracks training as a run, as `rf.track` does.

    Replaces `tensorpack.callbacks.TFEventWriter`. Logs the same summaries, events and
    graph, with the same tags and steps. The run ends when training ends. A stop request raises
    Tensorpack's `StopTraining` after the current step.

    Args:
        logdir: the run's folder, or a URL such as `s3://bucket/run`. Default: the folder of
            Tensorpack's logger, or the run's folder under `runfold run`.
        max_queue: ignored.
        flush_secs: maximum number of seconds before logged events are written.
        split_files: ignored. Use `storage=` for a file system that cannot append to files.
        options: options of `rf.track`, such as `hparams=`. `resume=True` continues the run and
            discards nothing.

    Raises:
        TypeError: an option is unknown or has the wrong type.
        ValueError: an option has an invalid value.
        CannotLog: the options contradict each other, or the operating system is Windows.

    Examples:
        >>> from runfold.integrations.tensorpack import TFEventWriter
        >>> config = TrainConfig(..., monitors=[TFEventWriter("runs/seed-1")])
    """

    # The step, if no trainer provides it.
    global_step: Any = getattr(MonitorBase, "global_step", 0)

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        split_files: bool = False,
        **options: Any,
    ) -> None:
        if logdir is None and not os.environ.get(LOGDIR_VARIABLE):
            logdir = get_logger_dir()
        self._run = FrameworkRun(logdir, **{"flush_secs": flush_secs, **options})

    @property
    def writer(self) -> Tracker:
        """The tracked run, with all methods of `SummaryWriter`.

        Reading this attribute starts or continues the run.
        """
        return self._run.tracker

    def process(self, name: str, val: Any) -> None:
        """Do nothing: Tensorpack also passes everything to `process_summary`."""

    def process_scalar(self, name: str, val: Any) -> None:
        """Do nothing: Tensorpack also passes numbers to `process_summary`."""

    def process_image(self, name: str, val: Any) -> None:
        """Do nothing: Tensorpack also passes images to `process_summary`."""

    def process_summary(self, summary: Any) -> None:
        """Log a `tf.Summary` at the current step."""
        self.writer._get_file_writer().add_summary(summary, self.global_step)

    def process_event(self, evt: Any) -> None:
        """Log a `tf.Event` unchanged."""
        self.writer._get_file_writer().event_writer.add_event(evt)

    def _before_train(self) -> None:
        """Log the graph."""
        graph = getattr(self, "graph", None)
        if graph is not None:
            self.writer._get_file_writer().add_onnx_graph(graph.as_graph_def(add_shapes=True))

    def _trigger_step(self) -> None:
        """Stop training if the run has been asked to stop."""
        if self._run.should_stop:
            raise StopTraining("The run has been asked to stop.")

    def _trigger(self) -> None:
        """Write all pending events."""
        self._run.flush()

    def _after_train(self) -> None:
        """End the run: as failed if an exception ended training, otherwise as finished."""
        self._run.finish(sys.exception())
