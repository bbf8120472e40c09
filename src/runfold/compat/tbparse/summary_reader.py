"""tbparse's `SummaryReader`: reads a folder of event files, or one file, into tables."""

from __future__ import annotations

import os
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import escape, not_one_of
from runfold._logdir.bulk_read import Reader
from runfold.compat.tbparse import histogram_views
from runfold.compat.tbparse.event_frames import make_frame
from runfold.compat.tbparse.event_leaf import Leaf
from runfold.compat.tbparse.media_arrays import decode_audio, decode_image
from runfold.compat.tbparse.value_columns import EXTRAS
from runfold.compat.tensorboard import EventAccumulator

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import ArrayLike, NDArray

    from runfold.compat.tbparse.event_leaf import Piece

# Event types, in the order of `tags`.
_EVENT_TYPES = ("images", "audio", "histograms", "scalars", "tensors", "hparams", "text")
_RAW_TYPES = (*_EVENT_TYPES, "graph", "meta_graph", "run_metadata")

ALL_EVENT_TYPES = set(_EVENT_TYPES)
REDUCED_EVENT_TYPES = ALL_EVENT_TYPES - {"images", "audio"}
ALL_EXTRA_COLUMNS = {"dir_name", "file_name", "wall_time", *EXTRAS}


class SummaryReader:
    """The events below a folder, or in one event file, as pandas DataFrames.

        SummaryReader("runs").scalars                                   # step, tag, value
        SummaryReader("runs", pivot=True, extra_columns={"dir_name"}).scalars  # wide table

    Folders are listed immediately. A file is read when its tags or events are first
    used; problems in it are logged to the logger `tensorboard`, and the affected data
    is skipped. Raises ValueError for a missing path, and KeyError for an unknown column
    or event type.

    Args:
        log_path: a folder or an event file.
        pivot: one row per step and one column per tag, instead of one row per event.
            Several values of a tag at the same step become a list.
        extra_columns: a set with any of `dir_name` and `file_name` (below the path), `wall_time`,
            `min`, `max`, `num`, `sum` and `sum_squares` (for histograms), `width` and
            `height` (for images), `content_type`, `length_frames` and `sample_rate`
            (for audio). Default: none.
        event_types: a set of the event types to read. Default: all.
    """

    def __init__(
        self,
        log_path: str | os.PathLike[str],
        *,
        pivot: bool = False,
        extra_columns: set[str] | None = None,
        event_types: set[str] | None = None,
    ) -> None:
        self._log_path = os.fspath(log_path)
        self._pivot = pivot
        self._extra_columns = _check_names(
            "extra_columns", extra_columns or set(), ALL_EXTRA_COLUMNS
        )
        self._event_types = _check_names(
            "event_types", event_types or ALL_EVENT_TYPES, ALL_EVENT_TYPES
        )
        self._children: dict[str, SummaryReader] = {}
        self._leaf: Leaf | None = None
        if os.path.isdir(self._log_path):
            for name in sorted(os.listdir(self._log_path)):
                path = os.path.join(self._log_path, name)
                if os.path.exists(path):  # the path may be a broken link
                    self._children[name] = SummaryReader(
                        path,
                        pivot=pivot,
                        extra_columns=self._extra_columns,
                        event_types=self._event_types,
                    )
        elif os.path.exists(self._log_path):
            self._leaf = Leaf(self._log_path, "wall_time" in self._extra_columns)
        else:
            raise ValueError(f"File or directory not found: {escape(self._log_path)}")

    @property
    def log_path(self) -> str:
        """The path of the folder or event file."""
        return self._log_path

    @property
    def children(self) -> dict[str, SummaryReader]:
        """A reader for each entry in the folder, by name; empty for an event file."""
        return dict(self._children)

    def __getitem__(self, child_idx: str) -> SummaryReader:
        """Return the reader for an entry in the folder. Raises KeyError if there is none."""
        if child_idx not in self._children:
            raise KeyError(not_one_of("entry", child_idx, list(self._children)))
        return self._children[child_idx]

    def __repr__(self) -> str:
        return f"SummaryReader(log_path='{self._log_path}')"

    @property
    def tags(self) -> dict[str, list[str]]:
        """The tags of each event type, in order of first appearance."""
        reader = Reader()
        return {event_type: self._list_tags(event_type, reader) for event_type in _EVENT_TYPES}

    def get_tags(self, event_type: str | None = None) -> list[str] | dict[str, list[str]]:
        """Return the tags of a type, or of all types. Raises ValueError for an unknown type."""
        if event_type is None:
            return self.tags
        self._check_type(event_type, _EVENT_TYPES)
        return self._list_tags(event_type, Reader())

    def _list_tags(self, event_type: str, reader: Reader) -> list[str]:
        if event_type not in self._event_types:
            return []
        if self._leaf is not None:
            self._leaf.load(reader)
            return self._leaf.list_tags(event_type)
        below = (child._list_tags(event_type, reader) for child in self._children.values())
        return list(dict.fromkeys(chain.from_iterable(below)))

    def get_events(self, event_type: str) -> pd.DataFrame:
        """Return a new table with the events of a type.

        Raises ValueError if the type is unknown or not in `event_types`.
        """
        self._check_type(event_type, _EVENT_TYPES)
        if event_type not in self._event_types:
            raise ValueError(
                f"event_type is ignored by user: {event_type}. Add it to event_types to read it."
            )
        pieces = list(self._read(event_type, "", Reader()))
        return make_frame(event_type, pieces, self._extra_columns, self._pivot)

    def _read(self, event_type: str, folder: str, reader: Reader) -> Iterator[Piece]:
        """Yield the events of a type in this folder and its subfolders."""
        if self._leaf is not None:
            self._leaf.load(reader)
            piece = self._leaf.read(event_type, folder, os.path.basename(self._log_path))
            if piece is not None:
                yield piece
        for name, child in self._children.items():
            below = folder if child._leaf else f"{folder}/{name}" if folder else name
            yield from child._read(event_type, below, reader)

    @property
    def scalars(self) -> pd.DataFrame:
        """Every simple value: step, tag, value. Scalars of TensorFlow 2 are tensors."""
        return self.get_events("scalars")

    @property
    def tensors(self) -> pd.DataFrame:
        """Every tensor except hparams and text: step, tag, value (a number or an array)."""
        return self.get_events("tensors")

    @property
    def histograms(self) -> pd.DataFrame:
        """Every histogram: step, tag, counts, limits (stored arrays; limits are right edges)."""
        return self.get_events("histograms")

    @property
    def images(self) -> pd.DataFrame:
        """Every image: step, tag, value (height x width x channels, uint8)."""
        return self.get_events("images")

    @property
    def audio(self) -> pd.DataFrame:
        """Every audio clip: step, tag, value (frames x channels, float32)."""
        return self.get_events("audio")

    @property
    def hparams(self) -> pd.DataFrame:
        """Every hparam: tag, value."""
        return self.get_events("hparams")

    @property
    def text(self) -> pd.DataFrame:
        """Every text: step, tag, value."""
        return self.get_events("text")

    @property
    def raw_tags(self) -> dict[str, list[str]]:
        """The tags of an event file as in TensorBoard's EventAccumulator and its plugins."""
        return self._list_raw_tags(self._accumulate())

    def get_raw_tags(self, event_type: str | None = None, event_acc: Any = None) -> Any:
        """Return the raw tags of a type, or of all types, from `event_acc` or from the file.

        Raises ValueError for a folder or an unknown type.
        """
        if event_type is not None:
            self._check_type(event_type, _RAW_TYPES)
        tags = self._list_raw_tags(self._accumulate() if event_acc is None else event_acc)
        return tags if event_type is None else tags[event_type]

    @property
    def raw_events(self) -> dict[str, dict[str, Any]]:
        """TensorBoard's own events in an event file, by type and tag; for hparams, the content."""
        events: dict[str, dict[str, Any]] = self.get_raw_events()
        return events

    def get_raw_events(
        self, event_type: str | None = None, tag: str | None = None, event_acc: Any = None
    ) -> Any:
        """Return the raw events of a type and tag, or of all types and tags.

        Raises ValueError for a folder, and KeyError for an unknown type or tag.
        """
        if event_type is None and tag is not None:
            raise ValueError("tag shouldn't be set if event_type is None")
        source = self._accumulate() if event_acc is None else event_acc
        if event_type is None:
            return {each: self.get_raw_events(each, None, source) for each in _EVENT_TYPES}
        if event_type not in ALL_EVENT_TYPES:
            raise KeyError(not_one_of("event_type", event_type, _EVENT_TYPES))
        if event_type == "hparams":
            contents = _plugin_content(source, "hparams")
            return contents if tag is None else contents[tag]
        methods = {
            "text": source.Tensors,
            **{
                name: getattr(source, name.title())
                for name in ("scalars", "tensors", "histograms", "images", "audio")
            },
        }
        read = methods[event_type]
        if tag is not None:
            return read(tag)
        return {name: read(name) for name in self._list_raw_tags(source)[event_type]}

    def _list_raw_tags(self, source: Any) -> dict[str, list[str]]:
        plugins = {name: list(_plugin_content(source, name)) for name in ("hparams", "text")}
        tags: dict[str, list[str]] = source.Tags() | plugins
        return tags

    def _accumulate(self) -> EventAccumulator:
        if self._leaf is None:
            raise ValueError(
                f"Not an event file: {escape(self._log_path)}. Raw events are available only for "
                "a single file: use one of the `children`."
            )
        return EventAccumulator(self._log_path).Reload()

    def _check_type(self, event_type: str, known: tuple[str, ...]) -> None:
        if event_type not in known:
            raise ValueError(not_one_of("event_type", event_type, known))

    @staticmethod
    def tensor_to_histogram(tensor: ArrayLike) -> dict[str, Any]:
        """Return the histogram described by rows of left edge, right edge and count."""
        return histogram_views.tensor_to_histogram(tensor)

    @staticmethod
    def buckets_to_histogram_dict(lst: ArrayLike) -> dict[str, Any]:
        """An older name for `tensor_to_histogram`."""
        return histogram_views.tensor_to_histogram(lst)

    @staticmethod
    def tensor_to_image(tensor: NDArray[Any]) -> dict[str, Any]:
        """Return the images in a tensor (width, height, image, image, ...) in one array.

        Raises ValueError if they are not images.
        """
        width, height, *encoded = tensor
        images = np.stack([decode_image(data) for data in encoded])
        return {
            "image": images[0] if len(images) == 1 else images,
            "width": int(width),
            "height": int(height),
        }

    @staticmethod
    def tensor_to_audio(tensor: NDArray[Any]) -> dict[str, Any]:
        """Return the audio clips in a tensor with rows (clip, label) in one array.

        Raises ValueError if they are not audio clips.
        """
        rates, clips = zip(*(decode_audio(data) for data in tensor[:, 0]), strict=True)
        audio, rate = np.stack(clips), np.array(rates, np.int32)
        return {
            "audio": audio[0] if len(audio) == 1 else audio,
            "content_type": "audio/wav",
            "length_frames": audio.shape[1],
            "sample_rate": rate.squeeze(0) if len(rate) == 1 else rate,
        }

    histogram_to_cdf = staticmethod(histogram_views.histogram_to_cdf)
    histogram_to_pdf = staticmethod(histogram_views.histogram_to_pdf)
    histogram_to_bins = staticmethod(histogram_views.histogram_to_bins)


def _check_names(argument: str, names: set[str], known: set[str]) -> set[str]:
    if not isinstance(names, set):
        raise ValueError(f"{argument} must be a set, not a {type(names).__name__}")
    for name in names - known:
        raise KeyError(not_one_of(argument, name, sorted(known)))
    return set(names)


def _plugin_content(source: Any, plugin: str) -> dict[str, bytes]:
    """Return a plugin's content for each of its tags."""
    try:
        contents: dict[str, bytes] = source.PluginTagToContent(plugin)
    except KeyError:
        return {}
    return contents
