"""A script's logdir as TensorBoard reads it, whichever writer the script used.

The peers create one run per key of `add_scalars` and one layout per chart. Runfold
writes everything to one run and one layout. These functions make the logs comparable.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from google.protobuf import text_format
from tensorboard.backend.event_processing import event_accumulator
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as layout_metadata
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.util.tensor_util import make_ndarray

from helpers.kind_values import events

# By kind and tag: the step and value of each point.
Values = dict[tuple[str, str], list[tuple[int, Any]]]


def read(logdir: Path) -> Values:
    """Return all values under the tags of Runfold's writer, and the plugin data of tensors.

    Hparams and layouts have separate functions below.
    """
    values_by_tag: Values = {}
    for folder, log in _accumulators(logdir):
        run, tags = folder.relative_to(logdir), log.Tags()
        for kind, load in (
            ("scalars", log.Scalars),
            ("histograms", log.Histograms),
            ("images", log.Images),
            ("audio", log.Audio),
        ):
            for tag in tags[kind]:
                values = [(event.step, _value(kind, event)) for event in load(tag)]
                values_by_tag[kind, _name(run, tag)] = values
        for tag in tags["tensors"]:
            name, plugin, content = _describe(tag, log.SummaryMetadata(tag).plugin_data)
            if plugin != layout_metadata.PLUGIN_NAME:
                values_by_tag["plugins", name] = [(0, (plugin, content))]
                values_by_tag["tensors", name] = [
                    (event.step, _value("tensors", event)) for event in log.Tensors(tag)
                ]
    return values_by_tag


def wall_times(logdir: Path, tag: str) -> list[float]:
    """Return the wall times of a scalar's values, if there are any."""
    return [
        event.wall_time
        for _, log in _accumulators(logdir)
        if tag in log.Tags()["scalars"]
        for event in log.Scalars(tag)
    ]


def graphs(logdir: Path) -> list[GraphDef]:
    """Return every graph; the EventAccumulator keeps only the last one."""
    return [GraphDef.FromString(event.graph_def) for event in events(logdir) if event.graph_def]


def hparams(logdir: Path) -> tuple[Any, ...]:
    """Return the session's settings, their domains, the names of its metrics, and its status."""
    contents = {
        value.tag: value.metadata.plugin_data.content
        for event in events(logdir)
        for value in event.summary.value
    }
    parts = hparams_metadata
    start = parts.parse_session_start_info_plugin_data(contents[parts.SESSION_START_INFO_TAG])
    end = parts.parse_session_end_info_plugin_data(contents[parts.SESSION_END_INFO_TAG])
    experiment = parts.parse_experiment_plugin_data(contents[parts.EXPERIMENT_TAG])
    settings = {
        name: getattr(value, value.WhichOneof("kind")) for name, value in start.hparams.items()
    }
    domains = {
        info.name: [value.number_value for value in info.domain_discrete.values]
        for info in experiment.hparam_infos
        if info.domain_discrete.values
    }
    return settings, domains, {info.name.tag for info in experiment.metric_infos}, end.status


def charts(logdir: Path) -> dict[tuple[str, str], bytes]:
    """Return the charts of all layouts, by category and title."""
    by_title = {}
    for _, log in _accumulators(logdir):
        if layout_metadata.CONFIG_SUMMARY_TAG in log.Tags()["tensors"]:
            for event in log.Tensors(layout_metadata.CONFIG_SUMMARY_TAG):
                layout = layout_pb2.Layout.FromString(make_ndarray(event.tensor_proto).item())
                for category in layout.category:
                    for chart in category.chart:
                        by_title[category.title, chart.title] = chart.SerializeToString()
    return by_title


def embeddings(logdir: Path) -> dict[str, tuple[Any, ...]]:
    """Return the points, labels and images of each embedding in the projector's configuration."""
    text = (logdir / "projector_config.pbtxt").read_text()
    return {
        embedding.tensor_name: (
            np.loadtxt(logdir / embedding.tensor_path, delimiter="\t").tolist(),
            (logdir / embedding.metadata_path).read_text(),
            embedding.sprite.image_path
            and (
                _pixels((logdir / embedding.sprite.image_path).read_bytes()),
                list(embedding.sprite.single_image_dim),
            ),
        )
        for embedding in text_format.Parse(text, ProjectorConfig()).embeddings
    }


def _accumulators(logdir: Path) -> list[tuple[Path, Any]]:
    everything = event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE
    return [
        (folder, event_accumulator.EventAccumulator(str(folder), everything).Reload())
        for folder in sorted({file.parent for file in logdir.rglob("*tfevents*")})
    ]


def _name(run: Path, tag: str) -> str:
    """Return the tag, plus the key in a run's name such as `split_loss_val` or `split/loss/val`."""
    for start in (tag.replace("/", "_") + "_", tag + "/"):
        if str(run).startswith(start):
            return f"{tag}/{str(run)[len(start) :]}"
    return tag


def _describe(tag: str, plugin: Any) -> tuple[str, str, bytes]:
    """Return a tensor's tag, the name of its plugin, and the plugin's data.

    tensorboardX names the tags of a mesh's parts differently, and does not store
    the number of parts.
    """
    if plugin.plugin_name != mesh_metadata.PLUGIN_NAME:
        return tag, plugin.plugin_name, plugin.content
    part = mesh_metadata.parse_plugin_metadata(plugin.content)
    part.ClearField("components")
    return f"{part.name}_{part.content_type}", plugin.plugin_name, part.SerializeToString()


def _value(kind: str, event: Any) -> Any:
    if kind == "images":
        return event.height, event.width, _pixels(event.encoded_image_string)
    if kind == "audio":
        return event.sample_rate, event.content_type, event.encoded_audio_string
    if kind == "tensors":
        array = make_ndarray(event.tensor_proto)
        return array.dtype, array.shape, array.tolist()
    return event.value if kind == "scalars" else event.histogram_value


def _pixels(encoded: bytes) -> Any:
    return np.asarray(PIL.Image.open(io.BytesIO(encoded))).tolist()
