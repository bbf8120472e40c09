"""Everything TensorBoard's accumulator reads from a program's logs, in a comparable form."""

from __future__ import annotations

import dataclasses
import io
import wave
from pathlib import Path
from typing import Any

from PIL import Image, ImageSequence
from tensorboard.backend.event_processing.event_accumulator import (
    STORE_EVERYTHING_SIZE_GUIDANCE,
    EventAccumulator,
)
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

# One series: its kind and its tag. "metadata" is what the summaries say about a tag.
Key = tuple[str, str]
Reading = dict[str, dict[Key, Any]]


def read(logdir: Path) -> Reading:
    """Return every series of every run below a folder, by the run's path and by kind and tag."""
    folders = {path.parent for path in logdir.rglob("*tfevents*")}
    return {str(folder.relative_to(logdir)): read_run(folder) for folder in sorted(folders)}


def read_run(folder: Path) -> dict[Key, Any]:
    """Return every series in one run's folder."""
    accumulator = EventAccumulator(str(folder), STORE_EVERYTHING_SIZE_GUIDANCE).Reload()
    tags = accumulator.Tags()
    series: dict[Key, Any] = {}
    for tag in tags["scalars"]:
        series["scalar", tag] = [
            (event.step, repr(event.value)) for event in accumulator.Scalars(tag)
        ]
    for tag in tags["images"]:
        series["image", tag] = [
            (event.step, decode_image(event.encoded_image_string))
            for event in accumulator.Images(tag)
        ]
    for tag in tags["audio"]:
        series["audio", tag] = [
            (event.step, decode_audio(event.encoded_audio_string))
            for event in accumulator.Audio(tag)
        ]
    for tag in tags["histograms"]:
        series["histogram", tag] = [
            (event.step, dataclasses.astuple(event.histogram_value)) for event in accumulator.Histograms(tag)
        ]
    for tag in tags["tensors"]:
        series["tensor", tag] = [
            (event.step, tensor_util.make_ndarray(event.tensor_proto).tolist())
            for event in accumulator.Tensors(tag)
        ]
    if tags["graph"]:
        series["graph", ""] = accumulator.Graph().SerializeToString(deterministic=True)
    for tag, metadata in accumulator.summary_metadata.items():
        series["metadata", tag] = decode_metadata(metadata)
    return series


def decode_image(encoded: bytes) -> list[tuple[Any, ...]]:
    """Return the mode, size and pixels of every frame."""
    with Image.open(io.BytesIO(encoded)) as image:
        return [
            (frame.mode, frame.size, frame.convert("RGBA").tobytes())
            for frame in ImageSequence.Iterator(image)
        ]


def decode_audio(encoded: bytes) -> tuple[Any, ...]:
    """Return the format and the samples of a WAV file."""
    with wave.open(io.BytesIO(encoded)) as clip:
        return clip.getparams(), clip.readframes(clip.getnframes())


def decode_metadata(metadata: Any) -> Any:
    """Return what a summary says about its tag; hparams without the time of their session."""
    plugin = metadata.plugin_data.plugin_name
    if plugin != "hparams":
        return plugin, metadata.plugin_data.content, metadata.display_name
    content = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
    part = content.WhichOneof("data")
    if part == "session_start_info":
        values = content.session_start_info.hparams
        return plugin, part, {name: _value(values[name]) for name in values}
    if part == "session_end_info":
        return plugin, part, content.session_end_info.status
    return plugin, part, _experiment(content.experiment)


def _value(value: Any) -> Any:
    """Return the number, string or boolean in a protobuf value."""
    return getattr(value, value.WhichOneof("kind"))


def _experiment(experiment: Any) -> Any:
    """Return the names and types of the hparams, and the tags of the metrics."""
    hparams = {info.name: info.type for info in experiment.hparam_infos}
    metrics = [(info.name.group, info.name.tag) for info in experiment.metric_infos]
    return hparams, sorted(metrics)
