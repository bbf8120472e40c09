"""Converts stored values to TensorBoard's own event objects and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._core.objects import make_objects
from runfold._events.kinds import stored_value
from runfold.compat.tensorboard.journal import logger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold.compat.tensorboard.event_index import Index


def make_scalars(index: Index, rows: NDArray[np.intp]) -> list[Any]:
    """Return the scalars at the given rows."""
    items = index.items.take(rows)
    values = items["start"].copy().view(np.float64).tolist()
    return _make("ScalarEvent", items, {"value": values}, is_atomic=True)


def make_tensors(index: Index, rows: NDArray[np.intp]) -> list[Any]:
    """Return the tensors at the given rows, as messages."""
    items, messages = _messages(index, rows, "tensor")
    return _make("TensorEvent", items, {"tensor_proto": messages})


def make_images(index: Index, rows: NDArray[np.intp]) -> list[Any]:
    """Return the images at the given rows, still encoded."""
    items, messages = _messages(index, rows, "image")
    return _make_of("ImageEvent", items, messages, ("encoded_image_string", "width", "height"))


def make_audio(index: Index, rows: NDArray[np.intp]) -> list[Any]:
    """Return the audio clips at the given rows, still encoded."""
    items, messages = _messages(index, rows, "audio")
    names = ("encoded_audio_string", "content_type", "sample_rate", "length_frames")
    return _make_of("AudioEvent", items, messages, names)


def make_histograms(index: Index, rows: NDArray[np.intp]) -> list[Any]:
    """Return the histograms at the given rows, with their stored buckets."""
    from tensorboard.backend.event_processing.event_accumulator import HistogramValue

    items, messages = _messages(index, rows, "histo")
    histograms = [
        HistogramValue(
            min=message.min,
            max=message.max,
            num=message.num,
            sum=message.sum,
            sum_squares=message.sum_squares,
            bucket_limit=list(message.bucket_limit),
            bucket=list(message.bucket),
        )
        for message in messages
    ]
    return _make("HistogramEvent", items, {"histogram_value": histograms})


def make_compressed_histograms(
    index: Index, rows: NDArray[np.intp], compression_bps: Sequence[int]
) -> list[Any]:
    """Return percentiles of the histograms at the given rows."""
    from tensorboard.plugins.distribution.compressor import compress_histogram_proto

    items, messages = _messages(index, rows, "histo")
    values = [compress_histogram_proto(message, compression_bps) for message in messages]
    return _make("CompressedHistogramEvent", items, {"compressed_histogram_values": values})


def _make_of(
    name: str, items: NDArray[np.void], messages: Sequence[Any], fields: Sequence[str]
) -> list[Any]:
    columns = {field: [getattr(message, field) for message in messages] for field in fields}
    return _make(name, items, columns)


def _make(
    name: str, items: NDArray[np.void], columns: dict[str, list[Any]], is_atomic: bool = False
) -> list[Any]:
    """Return events of one class, with wall time, step and the given columns."""
    from tensorboard.backend.event_processing import event_accumulator

    common = {"wall_time": items["wall_time"].tolist(), "step": items["step"].tolist()}
    return make_objects(getattr(event_accumulator, name), common | columns, is_atomic)


def _messages(
    index: Index, rows: NDArray[np.intp], field: str
) -> tuple[NDArray[np.void], list[Any]]:
    """Return the items at the given rows that can be decoded, and their messages."""
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.summary_pb2 import Summary

    parse = Summary.Value.FromString
    messages: list[Any] = []
    lost: list[int] = []
    for position, data in enumerate(index.journal.fetch(rows)):
        try:
            messages.append(getattr(parse(data), field))
        except DecodeError:
            message = _parse_alone(data, field)
            if message is None:
                lost.append(position)
            else:
                messages.append(message)
    items = index.items.take(rows)
    if lost:
        names = {index.names[tag] for tag in items["tag"][lost].tolist()}
        logger.warning("%d values of %s could not be decoded and were skipped.", len(lost), names)
        items = np.delete(items, lost)
    return items, messages


def _parse_alone(data: bytes, field: str) -> Any:
    """Return the message of a value whose tag is not UTF-8, or None for any other fault."""
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.summary_pb2 import Summary

    try:
        body = stored_value.parse(data).body
        return type(getattr(Summary.Value(), field)).FromString(body)
    except (ValueError, DecodeError):
        return None


def make_metadata(index: Index) -> dict[str, Any]:
    """Return the first metadata of each tag that has metadata, leaving out invalid messages."""
    from google.protobuf.message import DecodeError
    from tensorboard.compat.proto.summary_pb2 import SummaryMetadata

    metadata: dict[str, Any] = {}
    for number, name in enumerate(index.names):
        data = index.journal.tags.metadata(number)
        try:
            if data is not None:
                metadata[name] = SummaryMetadata.FromString(data)
        except DecodeError:
            logger.warning("The metadata of %r could not be decoded and was skipped.", name)
    return metadata
