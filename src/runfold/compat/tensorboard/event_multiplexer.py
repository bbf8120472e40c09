"""`tensorboard.backend.event_processing.event_multiplexer`, based on Runfold's reader."""

# ruff: noqa: N802 - the names are TensorBoard's.

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from runfold.compat.tensorboard import event_accumulator
from runfold.compat.tensorboard.journal import logger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tensorboard.backend.event_processing.event_accumulator import (
        AudioEvent,
        CompressedHistogramEvent,
        HistogramEvent,
        ImageEvent,
        ScalarEvent,
        TensorEvent,
    )
    from tensorboard.compat.proto.config_pb2 import RunMetadata
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    from runfold.compat.tensorboard.event_accumulator import EventAccumulator

__all__ = ["EventMultiplexer"]


class EventMultiplexer:
    """Many runs, each with an `EventAccumulator`, with the interface of TensorBoard's class.

        runs = EventMultiplexer().AddRunsFromDirectory("runs").Reload()
        runs.Runs()                             # {"seed-1": {"scalars": [...], ...}, ...}
        runs.Scalars("seed-1", "train/loss")    # [ScalarEvent(wall_time, step, value), ...]

    Every method that has a `run` argument raises KeyError for an unknown run, and
    otherwise calls the accumulator's method of the same name.

    Args:
        run_path_map: the folder of each run, by run name.
        size_guidance, purge_orphaned_data: as for `EventAccumulator`.
    """

    def __init__(
        self,
        run_path_map: Mapping[str, str] | None = None,
        size_guidance: Mapping[str, int] | None = None,
        purge_orphaned_data: bool = True,
    ) -> None:
        self.purge_orphaned_data = purge_orphaned_data
        self._size_guidance = size_guidance
        self._lock = threading.Lock()
        self._accumulators: dict[str, EventAccumulator] = {}
        self._paths: dict[str, str] = {}
        self._is_loaded = False
        for run, path in (run_path_map or {}).items():
            self.AddRun(path, run)

    def AddRun(self, path: str, name: str | None = None) -> EventMultiplexer:
        """Add a run, or replace the run with this name, and return the multiplexer.

        If `Reload` was called before, the run is loaded immediately.
        """
        name = name or path
        with self._lock:
            before = self._paths.get(name)
            if name in self._accumulators and before == path:
                return self
            if before not in (None, path):
                logger.warning("Run %s is now read from %s instead of %s", name, path, before)
            accumulator = event_accumulator.EventAccumulator(
                path,
                size_guidance=self._size_guidance,
                purge_orphaned_data=self.purge_orphaned_data,
            )
            self._accumulators[name] = accumulator
            self._paths[name] = path
        if self._is_loaded:
            accumulator.Reload()
        return self

    def AddRunsFromDirectory(self, path: str, name: str | None = None) -> EventMultiplexer:
        """Add a run for each folder with event files, named after its path below `path`.

        Raises ValueError if the path is not a folder; a missing path adds no runs.

        Args:
            path: the folder to search.
            name: a prefix for the names.
        """
        from tensorboard.backend.event_processing import io_wrapper

        for folder in io_wrapper.GetLogdirSubdirectories(path):
            below = os.path.relpath(folder, path)
            self.AddRun(folder, os.path.join(name, below) if name else below)
        return self

    def Reload(self) -> EventMultiplexer:
        """Load new data from every run, and remove runs whose folder has been deleted."""
        from tensorboard.backend.event_processing.directory_watcher import DirectoryDeletedError

        self._is_loaded = True
        for name, accumulator in self._items():
            try:
                accumulator.Reload()
            except OSError as error:
                logger.error("Run %s could not be loaded: %s", name, error)
            except DirectoryDeletedError:
                logger.warning("The folder of run %s was deleted, so the run was removed.", name)
                with self._lock:
                    self._accumulators.pop(name, None)
        return self

    def _items(self) -> list[tuple[str, EventAccumulator]]:
        with self._lock:
            return list(self._accumulators.items())

    def Runs(self) -> dict[str, dict[str, Any]]:
        """Return the tags of each run, by kind."""
        return {run: accumulator.Tags() for run, accumulator in self._items()}

    def RunPaths(self) -> dict[str, str]:
        """Return the path of each run."""
        return self._paths

    def GetAccumulator(self, run: str) -> EventAccumulator:
        """Return a run's accumulator. Raises KeyError if the run does not exist."""
        with self._lock:
            return self._accumulators[run]

    def PluginAssets(self, plugin_name: str) -> dict[str, list[str]]:
        """Return the names of a plugin's files in each run's folder."""
        return {run: accumulator.PluginAssets(plugin_name) for run, accumulator in self._items()}

    def PluginRunToTagToContent(self, plugin_name: str) -> dict[str, dict[str, bytes]]:
        """Return a plugin's content in the metadata of its tags, for each run with such tags."""
        contents = {}
        for run, accumulator in self._items():
            try:
                contents[run] = accumulator.PluginTagToContent(plugin_name)
            except KeyError:
                continue
        return contents

    def RetrievePluginAsset(self, run: str, plugin_name: str, asset_name: str) -> str:
        """Return the content of a plugin's file in a run's folder."""
        return self.GetAccumulator(run).RetrievePluginAsset(plugin_name, asset_name)

    def FirstEventTimestamp(self, run: str) -> float:
        """Return the wall time of a run's first event."""
        return self.GetAccumulator(run).FirstEventTimestamp()

    def GetSourceWriter(self, run: str) -> str | None:
        """Return the name of the writer stored in a run's files."""
        return self.GetAccumulator(run).GetSourceWriter()

    def Scalars(self, run: str, tag: str) -> list[ScalarEvent]:
        """Return a tag's scalars that were stored as simple values."""
        return self.GetAccumulator(run).Scalars(tag)

    def Histograms(self, run: str, tag: str) -> list[HistogramEvent]:
        """Return a tag's histograms."""
        return self.GetAccumulator(run).Histograms(tag)

    def CompressedHistograms(self, run: str, tag: str) -> list[CompressedHistogramEvent]:
        """Return a tag's histograms, each as a few percentiles."""
        return self.GetAccumulator(run).CompressedHistograms(tag)

    def Images(self, run: str, tag: str) -> list[ImageEvent]:
        """Return a tag's encoded images."""
        return self.GetAccumulator(run).Images(tag)

    def Audio(self, run: str, tag: str) -> list[AudioEvent]:
        """Return a tag's encoded audio clips."""
        return self.GetAccumulator(run).Audio(tag)

    def Tensors(self, run: str, tag: str) -> list[TensorEvent]:
        """Return a tag's tensors."""
        return self.GetAccumulator(run).Tensors(tag)

    def Graph(self, run: str) -> GraphDef:
        """Return a run's graph."""
        return self.GetAccumulator(run).Graph()

    def SerializedGraph(self, run: str) -> bytes:
        """Return a run's graph as bytes."""
        return self.GetAccumulator(run).SerializedGraph()

    def MetaGraph(self, run: str) -> MetaGraphDef:
        """Return a run's meta graph."""
        return self.GetAccumulator(run).MetaGraph()

    def RunMetadata(self, run: str, tag: str) -> RunMetadata:
        """Return a tag's run metadata."""
        return self.GetAccumulator(run).RunMetadata(tag)

    def AllSummaryMetadata(self) -> dict[str, dict[str, SummaryMetadata]]:
        """Return the first metadata of each tag that has metadata, by run."""
        return {run: accumulator.AllSummaryMetadata() for run, accumulator in self._items()}

    def SummaryMetadata(self, run: str, tag: str) -> SummaryMetadata:
        """Return a tag's first metadata."""
        return self.GetAccumulator(run).SummaryMetadata(tag)

    def ActivePlugins(self) -> frozenset[str]:
        """Return the plugins that have tags in any run."""
        return frozenset().union(*(accumulator.ActivePlugins() for _, accumulator in self._items()))
