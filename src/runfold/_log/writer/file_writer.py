"""The FileWriter interface of a SummaryWriter, which accepts whole protobuf messages.

    writer.file_writer.add_summary(summary)
    writer._get_file_writer().add_event(event)

Messages can come from tensorboard or tensorboardX.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runfold._conventions import GRAPH_METADATA_TAG
from runfold._log.writer.guard import guarded

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from runfold._log.summary.summary_writer import SummaryWriter
    from runfold._log.writer.sink import Sink

# The field number of `summary` in an Event.
_SUMMARY = 5


class FileWriter:
    """Adapts a SummaryWriter to the FileWriter interface of torch and tensorboardX.

    It has no file or state: messages go to the writer's event file. A closed writer opens a new
    file for them.
    """

    def __init__(self, writer: SummaryWriter) -> None:
        self._writer = writer
        self._sink: Sink = writer._event_writer

    @property
    def event_writer(self) -> EventFileWriter:
        """This writer as a TensorBoard EventFileWriter."""
        return EventFileWriter(self._writer)

    def get_logdir(self) -> str:
        """Return the run's folder or URL."""
        return os.fsdecode(self._writer.log_dir)

    @guarded
    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an `Event`, after setting its wall time (default: now) and, if given, its step."""
        if self._sink.accepts():
            event.wall_time = self._sink.checks.time(walltime)
            if step is not None or self._sink.checks.default_step is not None:
                event.step = self._sink.checks.step(step, None)
            self.event_writer.add_event(event)

    @guarded
    def add_summary(
        self, summary: Any, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Write a `Summary`."""
        if self._sink.accepts():
            step, at = self._sink.checks.step(global_step, None), self._sink.checks.time(walltime)
            self._sink.last_step = max(self._sink.last_step, step)
            self._sink.put("field", _SUMMARY, summary.SerializeToString(), step, at)

    @guarded
    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """Write a `GraphDef` and its `RunMetadata`, passed as a pair."""
        graph, metadata = graph_profile
        self.add_onnx_graph(graph, walltime)
        if self._sink.accepts():
            at = self._sink.checks.time(walltime)
            self._sink.put("run_metadata", GRAPH_METADATA_TAG, metadata.SerializeToString(), 0, at)

    @guarded
    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Write a `GraphDef`."""
        if self._sink.accepts():
            at = self._sink.checks.time(walltime)
            self._sink.put("graph", graph.SerializeToString(), at)

    add_openvino_graph = add_onnx_graph

    def use_metadata(
        self, *, global_step: Any = None, walltime: float | None = None
    ) -> AbstractContextManager[SummaryWriter]:
        """Use this step and wall time in the block, for calls that pass none."""
        return self._writer.use_metadata(global_step=global_step, walltime=walltime)

    def flush(self) -> None:
        """Write all pending events."""
        self._writer.flush()

    def close(self) -> None:
        """Close the event file."""
        self._writer.close()

    def reopen(self) -> None:
        """Open a new event file if the last one was closed."""
        self._sink.accepts()

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        return self._sink._survive(error, call, tag)


class EventFileWriter(FileWriter):
    """Adapts a SummaryWriter to TensorBoard's EventFileWriter interface."""

    @property
    def _file_name(self) -> str | None:
        return self._writer.path

    @property
    def _logdir(self) -> str:
        return self.get_logdir()

    @property
    def _ev_writer(self) -> EventFileWriter:
        """This writer: tensorboardX keeps the file name one level deeper."""
        return self

    @guarded
    def add_event(self, event: Any, step: Any = None, walltime: float | None = None) -> None:
        """Write an `Event` unchanged."""
        if self._sink.accepts():
            self._sink.last_step = max(self._sink.last_step, event.step)
            self._sink.put("event", event.SerializeToString())
