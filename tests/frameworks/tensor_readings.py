"""What TensorBoard shows of a log: for each tag the plugin, its content, and the tensors by step.

TensorBoard converts scalars, images and histograms of all formats to tensors before it shows them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from readings import decode_audio, decode_image, decode_metadata
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tensorboard.util import tensor_util

# Tags that Runfold logs in addition to the framework's.
ADDED = ("runfold/", "system/", "_hparams_/experiment", "_hparams_/session_end_info")


@dataclass
class Series:
    """The plugin of a tag, the plugin's data or hparams, and the steps and tensors."""

    plugin: str
    content: Any
    steps: list[int]
    tensors: list[Any]


def read_tensors(folder: Path) -> dict[str, Series]:
    """Return the series of one run by tag, without those that only Runfold logs."""
    logging.getLogger("tensorboard").setLevel(logging.ERROR)
    accumulator = EventAccumulator(str(folder), tensor_size_guidance=dict.fromkeys(PLUGINS, 0))
    accumulator.Reload()
    tags = {*accumulator.summary_metadata, *accumulator.Tags()["tensors"]}
    return {
        tag: _read_series(accumulator, tag) for tag in sorted(tags) if not tag.startswith(ADDED)
    }


# TensorBoard keeps only a sample of these plugins' points, unless the sample size is 0.
PLUGINS = ("scalars", "histograms", "images", "audio", "text", "mesh", "graph_keras_model", "other")


def _read_series(accumulator: EventAccumulator, tag: str) -> Series:
    metadata = accumulator.summary_metadata.get(tag)
    plugin = "" if metadata is None else metadata.plugin_data.plugin_name
    content = b"" if metadata is None else metadata.plugin_data.content
    events = accumulator.Tensors(tag) if tag in accumulator.Tags()["tensors"] else []
    return Series(
        plugin,
        decode_metadata(metadata)["hparams"] if plugin == "hparams" else content,
        [event.step for event in events],
        [_decode(plugin, event.tensor_proto) for event in events],
    )


def _decode(plugin: str, proto: Any) -> Any:
    """Return a tensor as nested lists; images and clips are decoded."""
    tensor = tensor_util.make_ndarray(proto).tolist()
    if plugin == "images":
        return [*tensor[:2], *map(decode_image, tensor[2:])]
    if plugin == "audio":
        return list(map(decode_audio, tensor))
    return tensor
