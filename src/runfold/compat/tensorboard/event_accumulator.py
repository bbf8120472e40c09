"""`tensorboard.backend.event_processing.event_accumulator`, based on Runfold's reader."""

# ruff: noqa: N802 - the names are TensorBoard's.

from __future__ import annotations

import os
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from runfold._core.event import Form
from runfold._humanize import escape, human_count
from runfold.compat.tensorboard import event_objects
from runfold.compat.tensorboard.event_index import Index, read_source
from runfold.compat.tensorboard.journal import Journal, logger
from runfold.compat.tensorboard.reservoir import Reservoir

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tensorboard.backend.event_processing.event_accumulator import (
        AudioEvent,
        CompressedHistogramEvent,
        HistogramEvent,
        HistogramValue,
        ImageEvent,
        ScalarEvent,
        TensorEvent,
    )
    from tensorboard.compat.proto.config_pb2 import RunMetadata
    from tensorboard.compat.proto.graph_pb2 import GraphDef
    from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

__all__ = [
    "AUDIO",
    "COMPRESSED_HISTOGRAMS",
    "DEFAULT_SIZE_GUIDANCE",
    "GRAPH",
    "HISTOGRAMS",
    "IMAGES",
    "META_GRAPH",
    "NORMAL_HISTOGRAM_BPS",
    "RUN_METADATA",
    "SCALARS",
    "STORE_EVERYTHING_SIZE_GUIDANCE",
    "TENSORS",
    "AudioEvent",
    "CompressedHistogramEvent",
    "EventAccumulator",
    "HistogramEvent",
    "HistogramValue",
    "ImageEvent",
    "ScalarEvent",
    "TensorEvent",
]

COMPRESSED_HISTOGRAMS = "distributions"
HISTOGRAMS = "histograms"
IMAGES = "images"
AUDIO = "audio"
SCALARS = "scalars"
TENSORS = "tensors"
GRAPH = "graph"
META_GRAPH = "meta_graph"
RUN_METADATA = "run_metadata"

NORMAL_HISTOGRAM_BPS = (0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000)

# TensorBoard's default sample sizes. By default, Runfold keeps everything.
DEFAULT_SIZE_GUIDANCE = {
    COMPRESSED_HISTOGRAMS: 500,
    IMAGES: 4,
    AUDIO: 4,
    SCALARS: 10000,
    HISTOGRAMS: 1,
    TENSORS: 10,
}
STORE_EVERYTHING_SIZE_GUIDANCE = dict.fromkeys(DEFAULT_SIZE_GUIDANCE, 0)


def __getattr__(name: str) -> Any:
    """Import TensorBoard's own event classes on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tensorboard.backend.event_processing import event_accumulator

    return getattr(event_accumulator, name)


class EventAccumulator:
    """The values of one run by kind and tag, with the interface of TensorBoard's class.

        accumulator = EventAccumulator("runs/seed-1").Reload()
        accumulator.Tags()["scalars"]       # ["train/loss", ...]
        accumulator.Scalars("train/loss")   # [ScalarEvent(wall_time, step, value), ...]

    Scalars are kept in memory. Other data is read from the files on request. This raises
    FileChanged if a file has been replaced since `Reload`. Problems in a file are logged to the
    logger `tensorboard`, and the affected data is skipped.

    Args:
        path: an event file, or a folder that directly contains event files.
        size_guidance: number of events per tag to keep, by kind. If a kind is missing or 0,
            all its events are kept. Sampling is the same as TensorBoard's.
        compression_bps: percentiles of compressed histograms, in basis points.
        purge_orphaned_data: drop values that a restarted job wrote again.
    """

    def __init__(
        self,
        path: str,
        size_guidance: Mapping[str, int] | None = None,
        compression_bps: Sequence[int] = NORMAL_HISTOGRAM_BPS,
        purge_orphaned_data: bool = True,
    ) -> None:
        if not path:
            raise ValueError("path must be a valid string")
        self.path = path
        self.purge_orphaned_data = purge_orphaned_data
        self.accumulated_attrs = (
            "scalars",
            "histograms",
            "compressed_histograms",
            "images",
            "audios",
        )
        sizes = STORE_EVERYTHING_SIZE_GUIDANCE | dict(size_guidance or {})
        compress = partial(
            event_objects.make_compressed_histograms, compression_bps=compression_bps
        )
        self.scalars = Reservoir(SCALARS, sizes[SCALARS], event_objects.make_scalars)
        self.histograms = Reservoir(HISTOGRAMS, sizes[HISTOGRAMS], event_objects.make_histograms)
        self.compressed_histograms = Reservoir(
            HISTOGRAMS, sizes[COMPRESSED_HISTOGRAMS], compress, always_keep_last=False
        )
        self.images = Reservoir(IMAGES, sizes[IMAGES], event_objects.make_images)
        self.audios = Reservoir(AUDIO, sizes[AUDIO], event_objects.make_audio)
        self.tensors = Reservoir(
            TENSORS, sizes[TENSORS], event_objects.make_tensors, is_purged=False
        )
        self._lock = threading.RLock()
        self._purged = 0
        self._journal = Journal(os.fspath(path))
        self._show(Index(self._journal, purge_orphaned_data))

    def Reload(self) -> EventAccumulator:
        """Read all data written since the last call, and return the accumulator itself.

        Raises DirectoryDeletedError if the folder has been deleted.
        """
        with self._lock:
            self._journal.read()
            if self._index.items is not self._journal.items:
                self._show(Index(self._journal, self.purge_orphaned_data))
                self._log_purged()
        return self

    def _log_purged(self) -> None:
        """Log the number of values that restarts made obsolete, if it has increased."""
        purged = self._index.count_purged()
        if purged > self._purged:
            logger.warning(
                "%s: a restarted job wrote the same steps again. Dropped %s; "
                "pass purge_orphaned_data=False to keep them.",
                escape(str(self.path)),
                human_count(purged, "older value"),
            )
        self._purged = purged

    def _show(self, index: Index) -> None:
        self._index = index
        self._metadata: dict[str, SummaryMetadata] | None = None
        for reservoir in (
            self.scalars,
            self.histograms,
            self.compressed_histograms,
            self.images,
            self.audios,
            self.tensors,
        ):
            reservoir.show(index)

    def Tags(self) -> dict[str, Any]:
        """Return the tags of each kind, and whether there is a graph and a meta graph."""
        index = self._index
        has_meta_graph = index.last(Form.META_GRAPH) is not None
        return {
            IMAGES: self.images.Keys(),
            AUDIO: self.audios.Keys(),
            HISTOGRAMS: self.histograms.Keys(),
            SCALARS: self.scalars.Keys(),
            COMPRESSED_HISTOGRAMS: self.compressed_histograms.Keys(),
            TENSORS: self.tensors.Keys(),
            GRAPH: has_meta_graph or index.last(Form.GRAPH) is not None,
            META_GRAPH: has_meta_graph,
            RUN_METADATA: list(index.rows(RUN_METADATA)),
        }

    def Scalars(self, tag: str) -> list[ScalarEvent]:
        """Return a tag's scalars that were stored as simple values.

        Raises KeyError if it has none.
        """
        with self._lock:
            return self.scalars.Items(tag)

    def Histograms(self, tag: str) -> list[HistogramEvent]:
        """Return a tag's histograms. Raises KeyError if it has none."""
        with self._lock:
            return self.histograms.Items(tag)

    def CompressedHistograms(self, tag: str) -> list[CompressedHistogramEvent]:
        """Return a tag's histograms, each as a few percentiles. Raises KeyError if it has none."""
        with self._lock:
            return self.compressed_histograms.Items(tag)

    def Images(self, tag: str) -> list[ImageEvent]:
        """Return a tag's encoded images. Raises KeyError if it has none."""
        with self._lock:
            return self.images.Items(tag)

    def Audio(self, tag: str) -> list[AudioEvent]:
        """Return a tag's encoded audio clips. Raises KeyError if it has none."""
        with self._lock:
            return self.audios.Items(tag)

    def Tensors(self, tag: str) -> list[TensorEvent]:
        """Return a tag's tensors, including all TensorFlow 2 values.

        Raises KeyError if it has none.
        """
        with self._lock:
            return self.tensors.Items(tag)

    def Graph(self) -> GraphDef:
        """Return the last graph, or else the graph in the last meta graph.

        Raises ValueError if there is neither.
        """
        from tensorboard.compat.proto.graph_pb2 import GraphDef

        row = self._index.last(Form.GRAPH)
        if row is not None:
            return GraphDef.FromString(self._fetch(row))
        if self._index.last(Form.META_GRAPH) is None:
            raise ValueError("There is no graph in this EventAccumulator")
        graph: GraphDef = self.MetaGraph().graph_def
        return graph

    def SerializedGraph(self) -> bytes:
        """Return the graph as bytes. Raises ValueError if there is none."""
        data: bytes = self.Graph().SerializeToString()
        return data

    def MetaGraph(self) -> MetaGraphDef:
        """Return the last meta graph. Raises ValueError if there is none."""
        from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

        row = self._index.last(Form.META_GRAPH)
        if row is None:
            raise ValueError("There is no metagraph in this EventAccumulator")
        return MetaGraphDef.FromString(self._fetch(row))

    def RunMetadata(self, tag: str) -> RunMetadata:
        """Return a tag's last run metadata. Raises ValueError if there is none."""
        from tensorboard.compat.proto.config_pb2 import RunMetadata
        from tensorboard.compat.proto.event_pb2 import TaggedRunMetadata

        rows = self._index.rows(RUN_METADATA).get(tag)
        if rows is None:
            raise ValueError("There is no run metadata with this tag name")
        tagged = TaggedRunMetadata.FromString(self._fetch(int(rows[-1])))
        return RunMetadata.FromString(tagged.run_metadata)

    def _fetch(self, row: int) -> bytes:
        (data,) = self._journal.fetch([row])
        return data

    def FirstEventTimestamp(self) -> float:
        """Return the wall time of the first event, reading it if necessary.

        Raises ValueError if there are no events.
        """
        with self._lock:
            if not len(self._journal.items):
                self._journal.read()
            if not len(self._journal.items):
                raise ValueError("No event timestamp could be found")
            return float(self._journal.items["wall_time"][0])

    def GetSourceWriter(self) -> str | None:
        """Return the name of the writer stored in the files, or None."""
        with self._lock:
            if not len(self._journal.items):
                self._journal.read()
            return read_source(self._journal)

    @property
    def file_version(self) -> float | None:
        """The last file version in the files, or None."""
        versions = self._index.versions
        return versions[-1][1] if versions else None

    @property
    def most_recent_step(self) -> int:
        """The step used to detect restarts in files of old versions; otherwise -1."""
        return self._index.purges.most_recent_step

    @property
    def most_recent_wall_time(self) -> float:
        """The wall time of `most_recent_step`; -1 if there is none."""
        return self._index.purges.most_recent_wall_time

    @property
    def summary_metadata(self) -> dict[str, SummaryMetadata]:
        """The first metadata of each tag that has metadata."""
        if self._metadata is None:
            self._metadata = event_objects.make_metadata(self._index)
        return self._metadata

    def AllSummaryMetadata(self) -> dict[str, SummaryMetadata]:
        """Return the first metadata of each tag that has metadata."""
        return dict(self.summary_metadata)

    def SummaryMetadata(self, tag: str) -> SummaryMetadata:
        """Return a tag's first metadata. Raises KeyError if it has none."""
        return self.summary_metadata[tag]

    def ActivePlugins(self) -> frozenset[str]:
        """Return the plugins that have tags."""
        names = {metadata.plugin_data.plugin_name for metadata in self.summary_metadata.values()}
        return frozenset(names - {""})

    def PluginTagToContent(self, plugin_name: str) -> dict[str, bytes]:
        """Return a plugin's content in the metadata of its tags. Raises KeyError if it has none."""
        content = {
            tag: metadata.plugin_data.content
            for tag, metadata in self.summary_metadata.items()
            if plugin_name and metadata.plugin_data.plugin_name == plugin_name
        }
        if not content:
            raise KeyError(f"Plugin {plugin_name!r} could not be found.")
        return content

    def PluginAssets(self, plugin_name: str) -> list[str]:
        """Return the names of a plugin's files in the run's folder."""
        from tensorboard.backend.event_processing import plugin_asset_util

        assets: list[str] = plugin_asset_util.ListAssets(self.path, plugin_name)
        return assets

    def RetrievePluginAsset(self, plugin_name: str, asset_name: str) -> str:
        """Return the content of a plugin's file. Raises KeyError if it does not exist."""
        from tensorboard.backend.event_processing import plugin_asset_util

        content: str = plugin_asset_util.RetrieveAsset(self.path, plugin_name, asset_name)
        return content
