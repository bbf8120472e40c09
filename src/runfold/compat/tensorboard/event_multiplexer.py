"""`tensorboard.backend.event_processing.event_multiplexer` on Runfold's reader."""

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
    """Many runs, each with its `EventAccumulator`, as TensorBoard's class of that name.

        runs = EventMultiplexer().AddRunsFromDirectory("runs").Reload()
        runs.Runs()                             # {"seed-1": {"scalars": [...], ...}, ...}
        runs.Scalars("seed-1", "train/loss")    # [ScalarEvent(wall_time, step, value), ...]

    Every question about a run raises KeyError for one that is not there, and else
    does what the accumulator's method of that name does.

    Args:
        run_path_map: the folder of each run by the run's name.
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
        """Add a run, in place of one of that name with another path; gives the multiplexer.

        The run is loaded at once if `Reload` was called before.
        """
        name = name or path
        with self._lock:
            before = self._paths.get(name)
            if name in self._accumulators and before == path:
                return self
            if before not in (None, path):
                logger.warning("Run %s is taken from %s now, not from %s", name, path, before)
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
        """Add a run for each folder with event files, named by its path below `path`.

        Raises ValueError for a path that is no folder; one that is not there adds none.

        Args:
            path: the folder to look through.
            name: what to put before the names.
        """
        from tensorboard.backend.event_processing import io_wrapper

        for folder in io_wrapper.GetLogdirSubdirectories(path):
            below = os.path.relpath(folder, path)
            self.AddRun(folder, os.path.join(name, below) if name else below)
        return self

    def Reload(self) -> EventMultiplexer:
        """Load what is new in every run, and forget runs whose folder is gone."""
        from tensorboard.backend.event_processing.directory_watcher import DirectoryDeletedError

        self._is_loaded = True
        for name, accumulator in self._items():
            try:
                accumulator.Reload()
            except OSError as error:
                logger.error("Run %s could not be loaded: %s", name, error)
            except DirectoryDeletedError:
                logger.warning("The folder of run %s is gone, and so is the run.", name)
                with self._lock:
                    self._accumulators.pop(name, None)
        return self

    def _items(self) -> list[tuple[str, EventAccumulator]]:
        with self._lock:
            return list(self._accumulators.items())

    def Runs(self) -> dict[str, dict[str, Any]]:
        """The tags of each run, by kind."""
        return {run: accumulator.Tags() for run, accumulator in self._items()}

    def RunPaths(self) -> dict[str, str]:
        """The path of each run."""
        return self._paths

    def GetAccumulator(self, run: str) -> EventAccumulator:
        """The accumulator of a run; raises KeyError."""
        with self._lock:
            return self._accumulators[run]

    def PluginAssets(self, plugin_name: str) -> dict[str, list[str]]:
        """The names of the files that a plugin keeps beside each run."""
        return {run: each.PluginAssets(plugin_name) for run, each in self._items()}

    def PluginRunToTagToContent(self, plugin_name: str) -> dict[str, dict[str, bytes]]:
        """What a plugin keeps in the metadata of its tags, for each run that has some."""
        found = {}
        for run, accumulator in self._items():
            try:
                found[run] = accumulator.PluginTagToContent(plugin_name)
            except KeyError:
                continue
        return found

    def RetrievePluginAsset(self, run: str, plugin_name: str, asset_name: str) -> str:
        """The content of a file that a plugin keeps beside a run."""
        return self.GetAccumulator(run).RetrievePluginAsset(plugin_name, asset_name)

    def FirstEventTimestamp(self, run: str) -> float:
        """The wall time of a run's first event."""
        return self.GetAccumulator(run).FirstEventTimestamp()

    def GetSourceWriter(self, run: str) -> str | None:
        """What the files of a run say wrote them."""
        return self.GetAccumulator(run).GetSourceWriter()

    def Scalars(self, run: str, tag: str) -> list[ScalarEvent]:
        """The scalars of a tag that were stored as simple values."""
        return self.GetAccumulator(run).Scalars(tag)

    def Histograms(self, run: str, tag: str) -> list[HistogramEvent]:
        """The histograms of a tag."""
        return self.GetAccumulator(run).Histograms(tag)

    def CompressedHistograms(self, run: str, tag: str) -> list[CompressedHistogramEvent]:
        """The histograms of a tag as a few percentiles each."""
        return self.GetAccumulator(run).CompressedHistograms(tag)

    def Images(self, run: str, tag: str) -> list[ImageEvent]:
        """The images of a tag, encoded."""
        return self.GetAccumulator(run).Images(tag)

    def Audio(self, run: str, tag: str) -> list[AudioEvent]:
        """The clips of a tag, encoded."""
        return self.GetAccumulator(run).Audio(tag)

    def Tensors(self, run: str, tag: str) -> list[TensorEvent]:
        """The tensors of a tag."""
        return self.GetAccumulator(run).Tensors(tag)

    def Graph(self, run: str) -> GraphDef:
        """The graph of a run."""
        return self.GetAccumulator(run).Graph()

    def SerializedGraph(self, run: str) -> bytes:
        """The graph of a run as bytes."""
        return self.GetAccumulator(run).SerializedGraph()

    def MetaGraph(self, run: str) -> MetaGraphDef:
        """The meta graph of a run."""
        return self.GetAccumulator(run).MetaGraph()

    def RunMetadata(self, run: str, tag: str) -> RunMetadata:
        """The run metadata of a tag."""
        return self.GetAccumulator(run).RunMetadata(tag)

    def AllSummaryMetadata(self) -> dict[str, dict[str, SummaryMetadata]]:
        """The first metadata of every tag that has some, by run."""
        return {run: each.AllSummaryMetadata() for run, each in self._items()}

    def SummaryMetadata(self, run: str, tag: str) -> SummaryMetadata:
        """The first metadata of a tag."""
        return self.GetAccumulator(run).SummaryMetadata(tag)

    def ActivePlugins(self) -> frozenset[str]:
        """The plugins that some tag of some run belongs to."""
        return frozenset().union(*(each.ActivePlugins() for _, each in self._items()))
