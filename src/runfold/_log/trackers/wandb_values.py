"""Values of event files as W&B's types."""

from __future__ import annotations

import html
import io
import os
import tempfile
from typing import TYPE_CHECKING, Any

from runfold._conventions import TEXT_SUFFIX
from runfold._log.trackers.known_trackers import read_scalar, read_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tensorboard.compat.proto.summary_pb2 import Summary

_SUFFIXES = {"audio/wav": ".wav", "audio/ogg": ".ogg", "audio/flac": ".flac", "audio/mpeg": ".mp3"}

# The maximum number of bins in a W&B histogram.
_MOST_BINS = 512


def convert_value(wandb: Any, value: Summary.Value) -> tuple[str, Any]:
    """Return the name and content to pass to `wandb.log`.

    The content is None for a kind that W&B does not support. Raises ValueError for damaged values.
    """
    number = read_scalar(value)
    if number is not None:
        return value.tag, number
    text = read_text(value)
    if text is not None:
        page = f"<pre style='white-space: pre-wrap'>{html.escape(text)}</pre>"
        return value.tag.removesuffix(TEXT_SUFFIX), wandb.Html(page, inject=False)
    convert = _CONVERTERS.get(value.WhichOneof("value") or "")
    if convert is None:
        convert = _CONVERTERS.get(value.metadata.plugin_data.plugin_name)
    return value.tag, None if convert is None else convert(wandb, value)


def _convert_images(wandb: Any, value: Summary.Value) -> Any:
    if value.HasField("image"):
        return _convert_image(wandb, value.image.encoded_image_string)
    # The first two strings are the width and the height.
    images = [_convert_image(wandb, data) for data in value.tensor.string_val[2:]]
    return images if len(images) > 1 else next(iter(images), None)


def _convert_image(wandb: Any, data: bytes) -> Any:
    from runfold._events.kinds.image import open_image, sniff

    if sniff(data) == "gif":  # the format of videos
        return wandb.Video(io.BytesIO(data), format="gif")
    image, problem = open_image(data)
    if problem is not None:
        raise ValueError(problem)
    return wandb.Image(image)


def _convert_audio(wandb: Any, value: Summary.Value) -> Any:
    from runfold._events.kinds.audio import sniff

    if value.HasField("audio"):
        data = value.audio.encoded_audio_string
    else:
        data = next(iter(value.tensor.string_val), b"")
    # W&B accepts only files and samples, and converting samples requires an extra package.
    # W&B moves the file into its run's folder.
    descriptor, path = tempfile.mkstemp(_SUFFIXES.get(sniff(data) or "", ".wav"))
    with open(descriptor, "wb") as file:
        file.write(data)
    try:
        audio = wandb.Audio(path)
    except Exception:
        os.unlink(path)
        raise
    audio._is_tmp = True
    return audio


def _convert_histogram(wandb: Any, value: Summary.Value) -> Any:
    import numpy as np

    from runfold._events.kinds.histogram import decode

    histogram = decode(value.SerializeToString())
    counts = histogram.counts
    filled = np.flatnonzero(counts)
    if not len(filled):
        return None
    edges = np.append(histogram.left, histogram.right[-1])
    if len(counts) > _MOST_BINS:
        # Drop empty bins at the ends, and merge empty neighbors.
        is_start = (counts > 0) | np.append(True, counts[:-1] > 0)
        starts = np.flatnonzero(is_start[: filled[-1] + 1])
        starts = starts[starts >= filled[0]]
        if len(starts) > _MOST_BINS:
            starts = starts[np.arange(_MOST_BINS) * len(starts) // _MOST_BINS]
        counts = np.add.reduceat(counts[: filled[-1] + 1], starts)
        edges = edges[np.append(starts, filled[-1] + 1)]
    return wandb.Histogram(np_histogram=(counts, edges))


def _convert_curve(wandb: Any, value: Summary.Value) -> Any:
    from runfold._events.kinds.pr_curve import decode

    curve = decode(value.SerializeToString())
    points = [list(point) for point in zip(curve.recall, curve.precision, strict=True)]
    table = wandb.Table(columns=["recall", "precision"], data=points)
    return wandb.plot.line(table, "recall", "precision", title=value.tag)


# By the field of a value, or by the plugin of a tensor.
_CONVERTERS: dict[str, Callable[[Any, Summary.Value], Any]] = {
    "image": _convert_images,
    "images": _convert_images,
    "audio": _convert_audio,
    "histo": _convert_histogram,
    "histograms": _convert_histogram,
    "pr_curves": _convert_curve,
}
