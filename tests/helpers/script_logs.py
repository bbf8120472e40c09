"""What real TensorBoard reads from the logdir of a script, whichever writer the script used.

The peers make a run for each key of `add_scalars`, and a layout for each chart. Runfold
has all in one run and one layout; here both look alike.
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

# By kind and tag: the step of each value, and the value.
Values = dict[tuple[str, str], list[tuple[int, Any]]]


def read(logdir: Path) -> Values:
    """All values under the tags that Runfold's writer gives them, and what plugins say of tensors.

    Hparams and layouts are left to the functions below.
    """
    found: Values = {}
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
                found[kind, _name(run, tag)] = values
        for tag in tags["tensors"]:
            name, plugin, content = _describe(tag, log.SummaryMetadata(tag).plugin_data)
            if plugin != layout_metadata.PLUGIN_NAME:
                found["plugins", name] = [(0, (plugin, content))]
                found["tensors", name] = [
                    (event.step, _value("tensors", event)) for event in log.Tensors(tag)
                ]
    return found


def wall_times(logdir: Path, tag: str) -> list[float]:
    """The wall times of a scalar's values, as far as there are any."""
    return [
        event.wall_time
        for _, log in _accumulators(logdir)
        if tag in log.Tags()["scalars"]
        for event in log.Scalars(tag)
    ]


def graphs(logdir: Path) -> list[GraphDef]:
    """Every graph; the EventAccumulator keeps the last one only."""
    return [GraphDef.FromString(one.graph_def) for one in events(logdir) if one.graph_def]


def hparams(logdir: Path) -> tuple[Any, ...]:
    """The settings of the session, their domains, the names of its metrics, and its status."""
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
        one.name: [value.number_value for value in one.domain_discrete.values]
        for one in experiment.hparam_infos
        if one.domain_discrete.values
    }
    return settings, domains, {one.name.tag for one in experiment.metric_infos}, end.status


def charts(logdir: Path) -> dict[tuple[str, str], bytes]:
    """The charts of all layouts, by category and title."""
    found = {}
    for _, log in _accumulators(logdir):
        if layout_metadata.CONFIG_SUMMARY_TAG in log.Tags()["tensors"]:
            for event in log.Tensors(layout_metadata.CONFIG_SUMMARY_TAG):
                layout = layout_pb2.Layout.FromString(make_ndarray(event.tensor_proto).item())
                for category in layout.category:
                    for chart in category.chart:
                        found[category.title, chart.title] = chart.SerializeToString()
    return found


def embeddings(logdir: Path) -> dict[str, tuple[Any, ...]]:
    """Points, labels and pictures of each embedding in the configuration of the projector."""
    text = (logdir / "projector_config.pbtxt").read_text()
    return {
        one.tensor_name: (
            np.loadtxt(logdir / one.tensor_path, delimiter="\t").tolist(),
            (logdir / one.metadata_path).read_text(),
            one.sprite.image_path
            and (
                _pixels((logdir / one.sprite.image_path).read_bytes()),
                list(one.sprite.single_image_dim),
            ),
        )
        for one in text_format.Parse(text, ProjectorConfig()).embeddings
    }


def _accumulators(logdir: Path) -> list[tuple[Path, Any]]:
    everything = event_accumulator.STORE_EVERYTHING_SIZE_GUIDANCE
    return [
        (folder, event_accumulator.EventAccumulator(str(folder), everything).Reload())
        for folder in sorted({file.parent for file in logdir.rglob("*tfevents*")})
    ]


def _name(run: Path, tag: str) -> str:
    """The tag, with the key that a run's name adds: `split_loss_val` or `split/loss/val`."""
    for start in (tag.replace("/", "_") + "_", tag + "/"):
        if str(run).startswith(start):
            return f"{tag}/{str(run)[len(start) :]}"
    return tag


def _describe(tag: str, plugin: Any) -> tuple[str, str, bytes]:
    """The tag of a tensor, the name of its plugin, and what the plugin says of it.

    tensorboardX tags the parts of a mesh by other names, and does not say how many there are.
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
