"""`tensorboard.backend.event_processing.event_accumulator` on Runfold's reader."""

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

# The sample that TensorBoard keeps where nothing is said. Here everything is kept then.
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
    """TensorBoard's own classes of events, imported when one is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tensorboard.backend.event_processing import event_accumulator

    return getattr(event_accumulator, name)


class EventAccumulator:
    """The values of one run by kind and tag, as TensorBoard's `EventAccumulator` gives them.

        accumulator = EventAccumulator("runs/seed-1").Reload()
        accumulator.Tags()["scalars"]       # ["train/loss", ...]
        accumulator.Scalars("train/loss")   # [ScalarEvent(wall_time, step, value), ...]

    Scalars are held in memory. All else is read from the files when it is asked
    for, which raises FileChanged if they have been replaced since `Reload`.
    What is wrong in a file is left out and told to the logger `tensorboard`.

    Args:
        path: of one event file, or of a folder with event files right in it.
        size_guidance: how many events of a tag to keep, by kind; 0 keeps all, as
            does a kind that is not named. Others are sampled just as TensorBoard does.
        compression_bps: at which shares, in hundredths of a percent, compressed
            histograms tell their value.
        purge_orphaned_data: leave out what a restarted job wrote again.
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
        """Take in all that was written since the last call; gives the accumulator itself.

        Raises DirectoryDeletedError where the folder is gone.
        """
        with self._lock:
            self._journal.read()
            if self._index.items is not self._journal.items:
                self._show(Index(self._journal, self.purge_orphaned_data))
                self._log_purged()
        return self

    def _log_purged(self) -> None:
        """Tell how many values a restart made wrong, when there are more than before."""
        purged = self._index.count_purged()
        if purged > self._purged:
            logger.warning(
                "%s: a restarted job wrote again what it had written before. %s left out; "
                "purge_orphaned_data=False keeps all.",
                escape(str(self.path)),
                human_count(purged, "older value"),
            )
        self._purged = purged

    def _show(self, index: Index) -> None:
        self._index = index
        self._metadata: dict[str, SummaryMetadata] | None = None
        for each in (
            self.scalars,
            self.histograms,
            self.compressed_histograms,
            self.images,
            self.audios,
            self.tensors,
        ):
            each.show(index)

    def Tags(self) -> dict[str, Any]:
        """The tags of each kind; whether there is a graph, and a meta graph."""
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
        """The scalars of a tag that were stored as simple values; raises KeyError."""
        with self._lock:
            return self.scalars.Items(tag)

    def Histograms(self, tag: str) -> list[HistogramEvent]:
        """The histograms of a tag; raises KeyError."""
        with self._lock:
            return self.histograms.Items(tag)

    def CompressedHistograms(self, tag: str) -> list[CompressedHistogramEvent]:
        """The histograms of a tag as a few percentiles each; raises KeyError."""
        with self._lock:
            return self.compressed_histograms.Items(tag)

    def Images(self, tag: str) -> list[ImageEvent]:
        """The images of a tag, encoded; raises KeyError."""
        with self._lock:
            return self.images.Items(tag)

    def Audio(self, tag: str) -> list[AudioEvent]:
        """The clips of a tag, encoded; raises KeyError."""
        with self._lock:
            return self.audios.Items(tag)

    def Tensors(self, tag: str) -> list[TensorEvent]:
        """The tensors of a tag, which all values of TensorFlow 2 are; raises KeyError."""
        with self._lock:
            return self.tensors.Items(tag)

    def Graph(self) -> GraphDef:
        """The last graph, or else that of the last meta graph. Raises ValueError without one."""
        from tensorboard.compat.proto.graph_pb2 import GraphDef

        row = self._index.last(Form.GRAPH)
        if row is not None:
            return GraphDef.FromString(self._fetch(row))
        if self._index.last(Form.META_GRAPH) is None:
            raise ValueError("There is no graph in this EventAccumulator")
        graph: GraphDef = self.MetaGraph().graph_def
        return graph

    def SerializedGraph(self) -> bytes:
        """The graph that `Graph` gives, as bytes. Raises ValueError without one."""
        data: bytes = self.Graph().SerializeToString()
        return data

    def MetaGraph(self) -> MetaGraphDef:
        """The last meta graph. Raises ValueError without one."""
        from tensorboard.compat.proto.meta_graph_pb2 import MetaGraphDef

        row = self._index.last(Form.META_GRAPH)
        if row is None:
            raise ValueError("There is no metagraph in this EventAccumulator")
        return MetaGraphDef.FromString(self._fetch(row))

    def RunMetadata(self, tag: str) -> RunMetadata:
        """The last run metadata of a tag. Raises ValueError without one."""
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
        """The wall time of the first event, read if need be. Raises ValueError without one."""
        with self._lock:
            if not len(self._journal.items):
                self._journal.read()
            if not len(self._journal.items):
                raise ValueError("No event timestamp could be found")
            return float(self._journal.items["wall_time"][0])

    def GetSourceWriter(self) -> str | None:
        """What the files say wrote them, or None."""
        with self._lock:
            if not len(self._journal.items):
                self._journal.read()
            return read_source(self._journal)

    @property
    def file_version(self) -> float | None:
        """The version that the files name last, or None."""
        versions = self._index.versions
        return versions[-1][1] if versions else None

    @property
    def most_recent_step(self) -> int:
        """The highest step so far by which files of old versions are judged, else -1."""
        return self._index.purges.most_recent_step

    @property
    def most_recent_wall_time(self) -> float:
        """The wall time of that step, else -1."""
        return self._index.purges.most_recent_wall_time

    @property
    def summary_metadata(self) -> dict[str, SummaryMetadata]:
        """The first metadata of each tag that has some."""
        if self._metadata is None:
            self._metadata = event_objects.make_metadata(self._index)
        return self._metadata

    def AllSummaryMetadata(self) -> dict[str, SummaryMetadata]:
        """The first metadata of every tag that has some."""
        return dict(self.summary_metadata)

    def SummaryMetadata(self, tag: str) -> SummaryMetadata:
        """The first metadata of a tag; raises KeyError."""
        return self.summary_metadata[tag]

    def ActivePlugins(self) -> frozenset[str]:
        """The plugins that some tag belongs to."""
        names = {one.plugin_data.plugin_name for one in self.summary_metadata.values()}
        return frozenset(names - {""})

    def PluginTagToContent(self, plugin_name: str) -> dict[str, bytes]:
        """What a plugin keeps in the metadata of each of its tags; raises KeyError."""
        content = {
            tag: metadata.plugin_data.content
            for tag, metadata in self.summary_metadata.items()
            if plugin_name and metadata.plugin_data.plugin_name == plugin_name
        }
        if not content:
            raise KeyError(f"Plugin {plugin_name!r} could not be found.")
        return content

    def PluginAssets(self, plugin_name: str) -> list[str]:
        """The names of the files that a plugin keeps beside the run."""
        from tensorboard.backend.event_processing import plugin_asset_util

        assets: list[str] = plugin_asset_util.ListAssets(self.path, plugin_name)
        return assets

    def RetrievePluginAsset(self, plugin_name: str, asset_name: str) -> str:
        """The content of such a file; raises KeyError."""
        from tensorboard.backend.event_processing import plugin_asset_util

        content: str = plugin_asset_util.RetrieveAsset(self.path, plugin_name, asset_name)
        return content
