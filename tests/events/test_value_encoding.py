"""Encoded values of every kind, compared with protobuf, TensorBoard's helpers and its reader."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import summary_pb2, tensor_pb2, types_pb2
from tensorboard.plugins.audio import metadata as audio_metadata
from tensorboard.plugins.histogram.summary_v2 import histogram_pb
from tensorboard.plugins.image import metadata as image_metadata
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.util.tensor_util import make_ndarray, make_tensor_proto

from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values

HistogramProto, Metadata = summary_pb2.HistogramProto, summary_pb2.SummaryMetadata
Summary = summary_pb2.Summary
Value, Image, Audio = Summary.Value, Summary.Image, Summary.Audio
KINDS = ("histograms", "images", "audio", "tensors")
NAMES = {"display_name": "shown as", "description": "what *it* is"}
NAMED = Metadata(display_name="shown as", summary_description="what *it* is")


def same(message, expected):
    """Check that the bytes equal protobuf's and parse to the same message."""
    assert Value.FromString(message) == expected
    return message == expected.SerializeToString(deterministic=True)


@given(tag=st.text(), numbers=st.tuples(*[st.floats()] * 5), limits=st.lists(st.floats()))
def test_histogram_of_any_numbers_matches_protobuf(tag, numbers, limits):
    counts = [float(i) for i in range(len(limits))]
    names = ("min", "max", "num", "sum", "sum_squares")
    histo = HistogramProto(
        **dict(zip(names, numbers, strict=True)), bucket_limit=limits, bucket=counts
    )
    message = values.histogram(tag, *numbers, limits=limits, counts=np.array(counts))
    assert message == Value(tag=tag, histo=histo).SerializeToString(deterministic=True)


def test_histogram_tensor_matches_tensorboard():
    expected = histogram_pb("h", [1.0, 2.0, 2.5], buckets=4).value[0]
    assert same(values.histogram_tensor("h", make_ndarray(expected.tensor)), expected)


@pytest.mark.parametrize(("height", "width"), [(2, 3), (0, 0), (-1, 2**31 - 1)])
def test_image_matches_protobuf(height, width):
    image = Image(height=height, width=width, colorspace=3, encoded_image_string=b"\x89PNG\0")
    expected = Value(tag="i", image=image)
    assert same(values.image("i", height, width, 3, b"\x89PNG\0"), expected)


def test_image_tensor_keeps_encoded_images_that_end_in_zero_bytes():
    strings = [b"3", b"2", b"\x89PNG\0\0", b""]
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=strings)
    tensor.tensor_shape.dim.add(size=4)
    metadata = image_metadata.create_summary_metadata(**NAMES)
    expected = Value(tag="i", tensor=tensor, metadata=metadata)
    assert same(values.image_tensor("i", 3, 2, strings[2:], **NAMES), expected)


def test_audio_matches_protobuf():
    audio = Audio(
        sample_rate=44100.0,
        num_channels=2,
        length_frames=2**40,
        encoded_audio_string=b"RIFF",
        content_type="audio/wav",
    )
    assert same(values.audio("a", 44100.0, 2, 2**40, b"RIFF"), Value(tag="a", audio=audio))
    assert same(values.audio("a", 0.0, 0, 0, b"", ""), Value(tag="a", audio=Audio()))


@pytest.mark.parametrize("labels", [None, ["left", "größe"]])
def test_audio_tensor_has_one_row_per_clip(labels):
    first, second = labels or ["", ""]
    tensor = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING, string_val=[b"RIFF\0", first.encode(), b"", second.encode()]
    )
    tensor.tensor_shape.dim.add(size=2)
    tensor.tensor_shape.dim.add(size=2)
    metadata = audio_metadata.create_summary_metadata(None, None, values.WAV)
    expected = Value(tag="a", tensor=tensor, metadata=metadata)
    assert same(values.audio_tensor("a", [b"RIFF\0", b""], labels), expected)


@pytest.mark.parametrize(
    "content",
    ["", "one *text* ∆", b"bytes", ["a", "", "b"], [["a", "b"], ["c", "d"]], np.array(["x", "yz"])],
    ids=repr,
)
def test_text_matches_tensorboard(content):
    assert same(values.text("t", content), text_pb("t", content).value[0])


@pytest.mark.parametrize("dtype", sorted(set(values.DTYPES) - {"bfloat16"}))
@given(data=st.data(), order=st.sampled_from("<>"))
def test_tensor_of_any_dtype_and_shape_is_stored_as_raw_little_endian_bytes(dtype, data, order):
    shape = arrays.array_shapes(min_dims=0, min_side=0, max_side=4)
    array = data.draw(arrays.arrays(np.dtype(dtype).newbyteorder(order), shape))
    expected = make_tensor_proto(np.zeros(array.shape, dtype))
    expected = tensor_pb2.TensorProto(dtype=expected.dtype, tensor_shape=expected.tensor_shape)
    expected.tensor_content = array.astype(np.dtype(dtype).newbyteorder("<")).tobytes()
    assert same(values.tensor("t", array), Value(tag="t", tensor=expected))


def test_tensor_with_metadata_matches_protobuf():
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    metadata = Metadata()
    metadata.MergeFrom(NAMED)
    metadata.plugin_data.plugin_name, metadata.plugin_data.content = "pr_curves", b"\x10\x03"
    expected = Value(tag="t", tensor=make_tensor_proto(array), metadata=metadata)
    message = values.tensor("t", array, "pr_curves", b"\x10\x03", **NAMES)
    assert same(message, expected)


def test_a_transposed_array_is_written_in_logical_order():
    array = np.arange(6.0).reshape(2, 3).T
    expected = Value(tag="t", tensor=make_tensor_proto(np.ascontiguousarray(array)))
    assert same(values.tensor("t", array), expected)


def test_metadata_only_has_no_value():
    plugin = Metadata.PluginData(plugin_name="hparams", content=b"\x12\0")
    expected = Value(tag="_hparams_", metadata=Metadata(plugin_data=plugin))
    assert same(values.metadata_only("_hparams_", "hparams", b"\x12\0"), expected)


def test_old_formats_store_names_in_their_metadata():
    expected = Value(tag="i", image=Image(height=1), metadata=NAMED)
    assert same(values.image("i", 1, 0, 0, b"", **NAMES), expected)


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ValueError, lambda: values.histogram("h", 0, 1, 1, 1, 1, [1.0, 2.0], [1.0])),
        (ValueError, lambda: values.histogram_tensor("h", np.zeros((3, 2)))),
        (OverflowError, lambda: values.image("i", 2**31, 1, 3, b"")),
        (ValueError, lambda: values.audio_tensor("a", [b"", b""], ["only one"])),
        (TypeError, lambda: values.text("t", ["a", 1])),
        (TypeError, lambda: values.tensor("t", np.zeros(1, "datetime64[s]"))),
        (UnicodeEncodeError, lambda: values.text("\ud800", "")),
    ],
)
def test_invalid_values_are_rejected(error, call):
    with pytest.raises(error):
        call()


def test_tensorboard_reads_a_file_with_all_kinds(tmp_path):
    buckets = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    messages = [
        values.histogram("histogram", 0, 2, 5, 6, 9, [1.0, 2.0], [2.0, 3.0]),
        values.histogram_tensor("histogram_tensor", buckets),
        values.image("image", 2, 3, 3, b"png"),
        values.image_tensor("image_tensor", 3, 2, [b"png"]),
        values.audio("audio", 8000.0, 1, 9, b"wav"),
        values.audio_tensor("audio_tensor", [b"wav"]),
        values.text("text", [["a", "b"]]),
        values.tensor("tensor", np.arange(3), "mine"),
        values.metadata_only("_hparams_/experiment", "hparams", b"content"),
    ]
    buffer = EventBuffer()
    buffer.file_version(1.0)
    for step, message in enumerate(messages):
        buffer.value(message, step, 2.0)
    buffer.summary(messages, 100, 3.0)
    (tmp_path / "events.out.tfevents.1").write_bytes(buffer)

    log = EventAccumulator(str(tmp_path), dict.fromkeys(KINDS, 0)).Reload()
    histogram, image, audio = log.Histograms("histogram"), log.Images("image"), log.Audio("audio")
    assert [(e.step, e.wall_time) for e in histogram] == [(0, 2.0), (100, 3.0)]
    assert histogram[0].histogram_value.bucket == [2.0, 3.0]
    assert (image[1].width, image[1].height, image[1].encoded_image_string) == (3, 2, b"png")
    assert (audio[1].sample_rate, audio[1].length_frames) == (8000.0, 9)
    tensors = {
        "histogram_tensor": buckets,
        "image_tensor": [b"3", b"2", b"png"],
        "audio_tensor": [[b"wav", b""]],
        "text": [[b"a", b"b"]],
        "tensor": [0, 1, 2],
    }
    for tag, expected in tensors.items():
        for event in log.Tensors(tag):
            np.testing.assert_array_equal(make_ndarray(event.tensor_proto), expected)
    plugins = {tag: log.SummaryMetadata(tag).plugin_data.plugin_name for tag in tensors}
    assert list(plugins.values()) == ["histograms", "images", "audio", "text", "mine"]
    assert log.PluginTagToContent("hparams") == {"_hparams_/experiment": b"content"}
