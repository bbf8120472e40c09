"""Stored values of each event type as the columns of tbparse's tables."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._core.histogram_proto import decode_histograms
from runfold._events.kinds import stored_value, tensor, text
from runfold.compat.tbparse.media_arrays import decode_audio, decode_image

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from runfold.compat.tensorboard.event_index import Index

    Columns = dict[str, NDArray[Any] | list[Any]]
    # Columns, and the places of the values that did not decode and are not in them.
    Read = tuple[Columns, list[int]]

# The columns of a type, in order; those that must be asked for are EXTRAS as well.
COLUMNS: dict[str, tuple[str, ...]] = {
    "scalars": ("value",),
    "tensors": ("value",),
    "histograms": ("counts", "limits", "max", "min", "num", "sum", "sum_squares"),
    "images": ("value", "height", "width"),
    "audio": ("value", "content_type", "length_frames", "sample_rate"),
    "hparams": ("value",),
    "text": ("value",),
}
EXTRAS = {name for names in COLUMNS.values() for name in names} - {"value", "counts", "limits"}


def _read_scalars(index: Index, rows: NDArray[np.intp]) -> Read:
    return {"value": index.items["start"][rows].view(np.float64)}, []


def _read_histograms(index: Index, rows: NDArray[np.intp]) -> Read:
    bodies = [stored_value.parse(data).body for data in index.journal.fetch(rows)]
    found = decode_histograms(bodies)
    kept = np.flatnonzero(found.valid).tolist()
    buckets = [slice(*found.offsets[row : row + 2]) for row in kept]
    columns: Columns = {
        "counts": [found.counts[one].copy() for one in buckets],
        "limits": [found.right_edges[one].copy() for one in buckets],
    }
    columns |= {name: getattr(found, name)[kept] for name in COLUMNS["histograms"][2:]}
    return columns, np.flatnonzero(~found.valid).tolist()


def _read_each(
    event_type: str,
    decode: Callable[[bytes], tuple[Any, ...]],
    index: Index,
    rows: NDArray[np.intp],
) -> Read:
    """Decode value by value, each into one row of the type's columns."""
    found: list[tuple[Any, ...]] = []
    lost: list[int] = []
    for place, data in enumerate(index.journal.fetch(rows)):
        try:
            found.append(decode(data))
        except ValueError:
            lost.append(place)
    names = COLUMNS[event_type]
    columns: Columns = {name: [row[number] for row in found] for number, name in enumerate(names)}
    return columns, lost


def _tensor_row(data: bytes) -> tuple[Any]:
    array = tensor.decode(data)
    return (array.item() if array.shape == () else array,)


def _image_row(data: bytes) -> tuple[Any, ...]:
    from tensorboard.compat.proto.summary_pb2 import Summary

    found = _parse(Summary.Image, stored_value.parse(data).body)
    return decode_image(found.encoded_image_string), found.height, found.width


def _audio_row(data: bytes) -> tuple[Any, ...]:
    from tensorboard.compat.proto.summary_pb2 import Summary

    found = _parse(Summary.Audio, stored_value.parse(data).body)
    _, samples = decode_audio(found.encoded_audio_string)
    return samples, found.content_type, found.length_frames, found.sample_rate


READERS: dict[str, Callable[[Index, NDArray[np.intp]], Read]] = {
    "scalars": _read_scalars,
    "tensors": partial(_read_each, "tensors", _tensor_row),
    "histograms": _read_histograms,
    "images": partial(_read_each, "images", _image_row),
    "audio": partial(_read_each, "audio", _audio_row),
    "text": partial(_read_each, "text", lambda data: (text.decode(data),)),
}


def parse_hparams(content: bytes) -> dict[str, Any]:
    """The hparams by name that the start of a session carries; None for one without a value."""
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    start = _parse(HParamsPluginData, content).session_start_info
    # Protobuf maps come in an order that differs from one process to the next.
    return {name: _plain(start.hparams[name]) for name in sorted(start.hparams)}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    return None if kind in (None, "null_value") else getattr(value, kind)


def _parse(message: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return message.FromString(data)
    except DecodeError as error:
        raise ValueError(f"it is no {message.DESCRIPTOR.name} message: {error}") from None
