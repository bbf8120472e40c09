"""Everything that TensorBoard's accumulator reads from a program's logs, in comparable form."""

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
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.hparams import plugin_data_pb2
from tensorboard.util import tensor_util

# The kind and tag of a series. The kind "metadata" is a tag's summary metadata.
Key = tuple[str, str]
# The tag of the custom scalars page's layout, which is decoded.
LAYOUT = "custom_scalars__config__"
Reading = dict[str, dict[Key, Any]]


def read(logdir: Path) -> Reading:
    """Return every series of every run below a folder, by the run's path, then by kind and tag."""
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
            (event.step, dataclasses.astuple(event.histogram_value))
            for event in accumulator.Histograms(tag)
        ]
    for tag in set(tags["tensors"]) - {LAYOUT}:
        series["tensor", tag] = [
            (event.step, tensor_util.make_ndarray(event.tensor_proto).tolist())
            for event in accumulator.Tensors(tag)
        ]
    if LAYOUT in tags["tensors"]:
        *_, last = accumulator.Tensors(LAYOUT)  # TensorBoard shows the last one
        series["layout", ""] = decode_layout(last.tensor_proto.string_val[0])
    if tags["graph"]:
        series["graph", ""] = accumulator.Graph().SerializeToString(deterministic=True)
    for tag in set(accumulator.summary_metadata) - {LAYOUT}:
        metadata = accumulator.summary_metadata[tag]
        series["metadata", tag] = decode_metadata(metadata)
    return series


def list_differences(logs: Reading, expected: Reading) -> list[str]:
    """Return one line per unexpected series: its run, kind, tag and contents."""
    return [
        f"{run}: {kind} {tag!r} is {_short(actual)}, expected {_short(expected_series)}"
        for run in sorted({*logs, *expected})
        for kind, tag in sorted({*logs.get(run, {}), *expected.get(run, {})})
        if (actual := logs.get(run, {}).get((kind, tag)))
        != (expected_series := expected.get(run, {}).get((kind, tag)))
    ]


def _short(series: Any) -> str:
    text = "missing" if series is None else repr(series)
    return text if len(text) < 400 else f"{text[:400]}..."


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


def decode_layout(encoded: bytes) -> dict[str, dict[str, list[str]]]:
    """Return the tags of each chart in each category of a custom scalars layout."""
    layout = layout_pb2.Layout.FromString(encoded)
    return {
        category.title: {
            chart.title: list(chart.multiline.tag)
            or [tag for series in chart.margin.series for tag in _margin_tags(series)]
            for chart in category.chart
        }
        for category in layout.category
    }


def _margin_tags(series: Any) -> tuple[str, str, str]:
    return series.value, series.lower, series.upper


def decode_metadata(metadata: Any) -> dict[str, Any]:
    """Return a tag's summary metadata; for hparams, without session times."""
    plugin = metadata.plugin_data.plugin_name
    if plugin != "hparams":
        content = metadata.plugin_data.content
        return {"plugin": plugin, "content": content, "name": metadata.display_name}
    data = plugin_data_pb2.HParamsPluginData.FromString(metadata.plugin_data.content)
    part = data.WhichOneof("data")
    if part == "session_start_info":
        values = data.session_start_info.hparams
        return {"hparams": {name: value_of(values[name]) for name in values}}
    if part == "session_end_info":
        return {"status": data.session_end_info.status}
    return {
        "hparams": {info.name: info.type for info in data.experiment.hparam_infos},
        "metrics": sorted(
            (info.name.group, info.name.tag) for info in data.experiment.metric_infos
        ),
    }


def value_of(value: Any) -> Any:
    """Return the number, string or boolean in a protobuf value."""
    return getattr(value, value.WhichOneof("kind"))
