"""The same data, logged by every kind of writer: one function per writer, given a run's folder.

`torch`, `tensorboardx`, `tensorflow_2` and `tensorflow_1` are the usual sources of
event files. `MISSING` names what a writer cannot log.
"""

import io
import json
import wave
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import tensorboardX
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.plugins.audio import metadata as audio_metadata
from tensorboard.plugins.custom_scalar import layout_pb2
from tensorboard.plugins.custom_scalar import metadata as layout_metadata
from tensorboard.plugins.histogram import metadata as histogram_metadata
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.hparams import plugin_data_pb2 as hparams_pb2
from tensorboard.plugins.hparams import summary_v2 as hparams_summary
from tensorboard.plugins.image import metadata as image_metadata
from tensorboard.plugins.mesh import metadata as mesh_metadata
from tensorboard.plugins.pr_curve import metadata as pr_curve_metadata
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util.tensor_util import make_tensor_proto

# Every series has these steps: the first, a typical one, and one that float32 cannot represent.
STEPS = [0, 7, 2**40 + 1]
TIMES = [1_700_000_000.25, 1_700_000_001.5, 1_700_000_060.125]

SCALARS = {"train/loss": [0.5, 0.25, 0.1], "odd": [float("nan"), float("inf"), -1e-30]}
EDGES = np.array([-1.0, -0.5, 0.25, 2.0])
COUNTS = np.array([3.0, 0.0, 5.0])
PIXELS = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
RATE = 8000
SAMPLES = np.array([0, 8191, -8191, 16382, -32767], np.int16)
TEXT = "# Grüße\n\n| a | b |"
TENSOR = np.arange(6, dtype=np.float32).reshape(2, 3) / 3
HPARAMS = {"lr": 0.1, "layers": 3.0, "use_bias": True, "optimizer": "adam"}
METRICS = {"hparam/accuracy": 0.75}
# Hparams are logged in a separate run below the main one, as in torch and tensorboardX.
TRIAL = "trial"
# true and false positives, true and false negatives, precision, recall
PR_CURVE = np.array(
    [[4, 3, 1], [4, 1, 0], [0, 3, 4], [0, 1, 3], [0.5, 0.75, 1], [1, 0.75, 0.25]], np.float32
)
VERTICES = np.array([[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.5]]], np.float32)
FACES = np.array([[[0, 1, 2], [0, 2, 3]]], np.int32)
COLORS = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255], [9, 9, 9]]], np.uint8)
MESH_CONFIG = {"camera": {"cls": "PerspectiveCamera", "fov": 75}}
GRAPH = GraphDef()
GRAPH.node.add(name="x", op="Placeholder")
GRAPH.node.add(name="y", op="Relu", input=["x"])
RUN_METADATA = RunMetadata()
RUN_METADATA.step_stats.dev_stats.add(device="/cpu:0")
POINTS = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
LABELS = ["one", "two", "three"]
LAYOUT = {
    "Losses": {
        "both": ["Multiline", ["train/loss", "val/loss"]],
        "band": ["Margin", ["mean", "low", "high"]],
    }
}

# The kinds that a writer cannot log, or can log only with another package (soundfile).
MISSING: dict[str, set[str]] = {
    "torch": set(),
    "tensorboardx": {"audio", "tensors"},
    "tensorflow_2": set(),
    "tensorflow_1": {"hparams", "meshes", "embeddings", "layouts"},
}


def torch(folder: Path) -> None:
    """Log like `torch.utils.tensorboard`."""
    from torch import from_numpy
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(folder)) as writer:
        _add_all(writer, from_numpy)
        for step, time in zip(STEPS, TIMES, strict=True):
            writer.add_tensor("activations", from_numpy(TENSOR), step, time)
            writer.add_audio("sound", from_numpy(SAMPLES / 32767.0), step, RATE, time)
        writer.add_hparams(dict(HPARAMS), dict(METRICS), run_name=TRIAL)


def tensorboardx(folder: Path) -> None:
    """Log like tensorboardX."""
    with tensorboardX.SummaryWriter(str(folder)) as writer:
        _add_all(writer, lambda array: array)
        writer.add_hparams(dict(HPARAMS), dict(METRICS), name=TRIAL)


def _add_all(writer: Any, convert: Callable[[np.ndarray], Any]) -> None:
    """Call the methods that the SummaryWriters of torch and tensorboardX have in common."""
    for number, (step, time) in enumerate(zip(STEPS, TIMES, strict=True)):
        for tag, values in SCALARS.items():
            writer.add_scalar(tag, values[number], step, time)
        writer.add_histogram_raw("weights", *_statistics(), EDGES[1:], COUNTS, step, time)
        writer.add_image("sample", PIXELS, step, time, dataformats="HWC")
        writer.add_text("note", TEXT, step, time)
        writer.add_pr_curve_raw("pr", *PR_CURVE, step, PR_CURVE.shape[1], walltime=time)
        writer.add_mesh(
            "mesh", convert(VERTICES), convert(COLORS), convert(FACES), MESH_CONFIG, step, time
        )
    writer.file_writer.add_graph((GRAPH, RUN_METADATA), TIMES[0])
    writer.add_embedding(convert(POINTS), metadata=LABELS, tag="words", global_step=0)
    writer.add_custom_scalars(LAYOUT)


def tensorflow_2(folder: Path) -> None:
    """Log like TensorFlow 2's `tf.summary`: tensors, with the plugin's name in the metadata."""
    with _event_file(folder) as add:
        for number, (step, time) in enumerate(zip(STEPS, TIMES, strict=True)):
            for tag, values in SCALARS.items():
                # Only a tag's first value has metadata, as in TensorFlow's own writer.
                add(_bare(scalar_pb(tag, values[number]), number > 0), step, time)
            for tag, content, metadata in _tensors():
                add(summary(tag, content, metadata), step, time)
            add(text_pb("note", TEXT), step, time)
        _add_graph(add)
        add(summary("custom_scalars__config__", _layout(), layout_metadata.create_summary_metadata))
    with _event_file(folder / TRIAL) as add:
        add(hparams_summary.hparams_config_pb([], [hparams_summary.Metric(tag) for tag in METRICS]))
        add(hparams_summary.hparams_pb(HPARAMS, start_time_secs=5.0))
        add(_session_end())
        for tag, value in METRICS.items():
            add(scalar_pb(tag, value))
    _write_projector_files(folder)


def tensorflow_1(folder: Path) -> None:
    """Log like `tf.compat.v1.summary`: a separate message for each kind."""
    right, (low, high, num, total, squares) = EDGES[1:], _statistics()
    with _event_file(folder) as add:
        for number, (step, time) in enumerate(zip(STEPS, TIMES, strict=True)):
            values = [Summary.Value(tag=tag, simple_value=SCALARS[tag][number]) for tag in SCALARS]
            values += [Summary.Value(tag=name) for name in ("weights", "sample", "sound")]
            histogram, image, audio = (value for value in values[-3:])
            histogram.histo.min, histogram.histo.max, histogram.histo.num = low, high, num
            histogram.histo.sum, histogram.histo.sum_squares = total, squares
            histogram.histo.bucket_limit.extend(right)
            histogram.histo.bucket.extend(COUNTS)
            height, width, channels = PIXELS.shape
            image.image.height, image.image.width, image.image.colorspace = height, width, channels
            image.image.encoded_image_string = png(PIXELS)
            audio.audio.sample_rate, audio.audio.num_channels = RATE, 1
            audio.audio.length_frames = len(SAMPLES)
            audio.audio.encoded_audio_string = wav(SAMPLES)
            audio.audio.content_type = "audio/wav"
            add(Summary(value=values), step, time)
            add(summary("note", np.array(TEXT.encode(), object), _named("text")), step, time)
            add(summary("activations", TENSOR, None), step, time)
            for tag, content, metadata in _tensors():
                if tag == "pr":
                    add(summary(tag, content, metadata), step, time)
        _add_graph(add)


WRITERS: dict[str, Callable[[Path], None]] = {
    "torch": torch,
    "tensorboardx": tensorboardx,
    "tensorflow_2": tensorflow_2,
    "tensorflow_1": tensorflow_1,
}


def summary(tag: str, content: Any, metadata: Any) -> Summary:
    """Return a summary with one tensor; `metadata` is a SummaryMetadata, a function or None."""
    made = metadata() if callable(metadata) else metadata
    return Summary(value=[Summary.Value(tag=tag, tensor=make_tensor_proto(content), metadata=made)])


@contextmanager
def _event_file(folder: Path) -> Iterator[Callable[..., None]]:
    """Open an event file with TensorBoard's own writer; yield a function that adds summaries."""
    writer = EventFileWriter(str(folder))

    def add(content: Summary | Mapping[str, Any], step: int = 0, time: float = TIMES[0]) -> None:
        fields = {"summary": content} if isinstance(content, Summary) else content
        writer.add_event(Event(step=step, wall_time=time, **fields))

    yield add
    writer.close()


def _tensors() -> Iterator[tuple[str, Any, Any]]:
    """Yield the tag, tensor and metadata of what TensorFlow 2 logs as one tensor per step."""
    rows = np.stack([EDGES[:-1], EDGES[1:], COUNTS], axis=1)
    yield "weights", rows, histogram_metadata.create_summary_metadata("", "")
    height, width, _ = PIXELS.shape
    strings = np.array([b"%d" % width, b"%d" % height, png(PIXELS)], object)
    yield "sample", strings, image_metadata.create_summary_metadata("", "")
    clip = np.array([[wav(SAMPLES), b""]], object)
    yield "sound", clip, audio_metadata.create_summary_metadata("", "", 11)
    yield "activations", TENSOR, None
    count = PR_CURVE.shape[1]
    yield "pr", PR_CURVE, pr_curve_metadata.create_summary_metadata("", "", count)
    parts: dict[int, tuple[str, np.ndarray]] = {
        1: ("VERTEX", VERTICES),
        2: ("FACE", FACES),
        3: ("COLOR", COLORS),
    }
    for content_type, (suffix, array) in parts.items():
        yield (
            f"mesh_{suffix}",
            array,
            mesh_metadata.create_summary_metadata(
                "mesh", "", content_type, 14, array.shape, json_config=json.dumps(MESH_CONFIG)
            ),
        )


def _add_graph(add: Callable[..., None]) -> None:
    add({"graph_def": GRAPH.SerializeToString()})
    tagged = {"tag": "step1", "run_metadata": RUN_METADATA.SerializeToString()}
    add({"tagged_run_metadata": tagged})


def _session_end() -> Summary:
    data = hparams_pb2.HParamsPluginData()
    data.session_end_info.status = 1
    data.session_end_info.end_time_secs = 9.0
    metadata = hparams_metadata.create_summary_metadata(data)
    tag = hparams_metadata.SESSION_END_INFO_TAG
    return Summary(value=[Summary.Value(tag=tag, metadata=metadata)])


def _layout() -> bytes:
    layout = layout_pb2.Layout()
    category = layout.category.add(title="Losses")
    category.chart.add(title="both").multiline.tag.extend(["train/loss", "val/loss"])
    margin = category.chart.add(title="band").margin
    margin.series.add(value="mean", lower="low", upper="high")
    return layout.SerializeToString()


def _write_projector_files(folder: Path) -> None:
    (folder / "projector_config.pbtxt").write_text(
        'embeddings { tensor_name: "words" tensor_path: "words.tsv" metadata_path: "labels.tsv" }'
    )
    (folder / "labels.tsv").write_text("".join(f"{label}\n" for label in LABELS))
    np.savetxt(folder / "words.tsv", POINTS, delimiter="\t")


def _statistics() -> tuple[float, float, float, float, float]:
    """Return the minimum, maximum, count, sum and sum of squares for EDGES and COUNTS."""
    return float(EDGES[0]), float(EDGES[-1]), float(COUNTS.sum()), 3.5, 12.25


def _named(plugin: str) -> SummaryMetadata:
    return SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))


def _bare(content: Summary, is_bare: bool) -> Summary:
    if is_bare:
        content.value[0].ClearField("metadata")
    return content


def png(pixels: np.ndarray) -> bytes:
    """Return the pixels as a PNG file."""
    out = io.BytesIO()
    PIL.Image.fromarray(pixels).save(out, format="png")
    return out.getvalue()


def wav(samples: np.ndarray) -> bytes:
    """Return the samples as a WAV file with one channel."""
    out = io.BytesIO()
    with wave.open(out, "wb") as writer:
        writer.setnchannels(1)
        writer.setsampwidth(samples.dtype.itemsize)
        writer.setframerate(RATE)
        writer.writeframes(samples.tobytes())
    return out.getvalue()
