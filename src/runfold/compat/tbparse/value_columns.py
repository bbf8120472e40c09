"""Converts the stored values of each event type to the columns of tbparse's tables."""

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
    # Columns, and the positions of missing values, which could not be decoded.
    Read = tuple[Columns, list[int]]

# The columns of a type, in order; optional columns are also in EXTRAS.
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
    decoded = decode_histograms(bodies)
    kept = np.flatnonzero(decoded.valid).tolist()
    buckets = [slice(*decoded.offsets[row : row + 2]) for row in kept]
    columns: Columns = {
        "counts": [decoded.counts[part].copy() for part in buckets],
        "limits": [decoded.right_edges[part].copy() for part in buckets],
    }
    columns |= {name: getattr(decoded, name)[kept] for name in COLUMNS["histograms"][2:]}
    return columns, np.flatnonzero(~decoded.valid).tolist()


def _read_each(
    event_type: str,
    decode: Callable[[bytes], tuple[Any, ...]],
    index: Index,
    rows: NDArray[np.intp],
) -> Read:
    """Decode each value into one row of the type's columns."""
    decoded: list[tuple[Any, ...]] = []
    lost: list[int] = []
    for position, data in enumerate(index.journal.fetch(rows)):
        try:
            decoded.append(decode(data))
        except ValueError:
            lost.append(position)
    names = COLUMNS[event_type]
    columns: Columns = {name: [row[number] for row in decoded] for number, name in enumerate(names)}
    return columns, lost


def _tensor_row(data: bytes) -> tuple[Any]:
    array = tensor.decode(data)
    return (array.item() if array.shape == () else array,)


def _image_row(data: bytes) -> tuple[Any, ...]:
    from tensorboard.compat.proto.summary_pb2 import Summary

    image = _parse(Summary.Image, stored_value.parse(data).body)
    return decode_image(image.encoded_image_string), image.height, image.width


def _audio_row(data: bytes) -> tuple[Any, ...]:
    from tensorboard.compat.proto.summary_pb2 import Summary

    audio = _parse(Summary.Audio, stored_value.parse(data).body)
    _, samples = decode_audio(audio.encoded_audio_string)
    return samples, audio.content_type, audio.length_frames, audio.sample_rate


READERS: dict[str, Callable[[Index, NDArray[np.intp]], Read]] = {
    "scalars": _read_scalars,
    "tensors": partial(_read_each, "tensors", _tensor_row),
    "histograms": _read_histograms,
    "images": partial(_read_each, "images", _image_row),
    "audio": partial(_read_each, "audio", _audio_row),
    "text": partial(_read_each, "text", lambda data: (text.decode(data),)),
}


def parse_hparams(content: bytes) -> dict[str, Any]:
    """Return the hparams of a session start, sorted by name; None for a missing value."""
    from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData

    start = _parse(HParamsPluginData, content).session_start_info
    # The order of a protobuf map differs between processes.
    return {name: _plain(start.hparams[name]) for name in sorted(start.hparams)}


def _plain(value: Any) -> Any:
    kind = value.WhichOneof("kind")
    return None if kind in (None, "null_value") else getattr(value, kind)


def _parse(message: Any, data: bytes) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return message.FromString(data)
    except DecodeError as error:
        raise ValueError(f"not a valid {message.DESCRIPTOR.name} message: {error}") from None
