"""Encoders for `Summary.Value` messages of every kind, byte for byte as protobuf writes them.

Each function returns one message for `EventBuffer.value` or `.summary`. Kinds with
two formats have two functions: the plain name writes the format of torch and
TensorFlow 1, and `*_tensor` writes that of TensorFlow 2. `EventBuffer` writes plain
scalars itself; `scalar` is for scalars with a display name or description.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from runfold._conventions import (
    BOXES_PREFIX,
    CUSTOM_SCALARS_TAG,
    HPARAMS_EXPERIMENT,
    HPARAMS_SESSION_END,
    HPARAMS_SESSION_START,
)
from runfold._core.encoder import FLOAT64_FIELD
from runfold._events import contents
from runfold._events.kinds import mesh
from runfold._events.message import (
    put_bytes,
    put_double,
    put_float,
    put_integer,
    put_message,
    put_varint,
    put_varints,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from runfold._events.kinds.boxes import Boxes
    from runfold._events.kinds.hparams import Experiment
    from runfold._events.kinds.layout import Layout

MeshContent: TypeAlias = Literal["vertices", "faces", "colors"]
ScalarForm: TypeAlias = Literal["simple", "double", "tensor", "double_tensor"]

DT_STRING = 7
DTYPES = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": 14,
    "uint16": 17,
    "complex128": 18,
    "float16": 19,
    "uint32": 22,
    "uint64": 23,
}
# The repeated field of a `TensorProto` for each dtype.
FIELDS = {
    "float32": 5,
    "float64": 6,
    "int32": 7,
    "int16": 7,
    "int8": 7,
    "complex64": 9,
    "int64": 10,
    "bool": 11,
    "complex128": 12,
}
WAV = 11  # AudioPluginData.Encoding
MESH_CONTENTS = {name: number for number, name in mesh.CONTENTS.items()}


def scalar(
    tag: str,
    value: float,
    form: ScalarForm = "simple",
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """Return a scalar in one of the forms of `EventBuffer.scalars`, with name and description."""
    double = struct.pack("<d", value)
    with np.errstate(over="ignore"):
        single = np.asarray(value, "<f4").tobytes()
    if form == "tensor":
        content = put_message(8, put_integer(1, DTYPES["float32"]) + put_bytes(5, single))
    elif form == "double_tensor":
        content = put_message(8, put_integer(1, DTYPES["float64"]) + put_bytes(6, double))
    else:
        content = put_varint(2 << 3 | 5) + single
        if form == "double":
            content += put_varint(FLOAT64_FIELD << 3 | 1) + double
    plugin_name = "scalars" if form.endswith("tensor") else ""
    return _value(tag, content, _metadata(plugin_name, b"", display_name, description))


def histogram(
    tag: str,
    min: float,
    max: float,
    num: float,
    sum: float,
    sum_squares: float,
    limits: ArrayLike,
    counts: ArrayLike,
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """Return a `HistogramProto` with `counts[i]` values up to `limits[i]`."""
    edges, buckets = np.asarray(limits, "<f8"), np.asarray(counts, "<f8")
    if edges.ndim != 1 or edges.shape != buckets.shape:
        raise ValueError(
            f"histogram {tag!r}: limits and counts must be one-dimensional and of equal"
            f" length, got shapes {edges.shape} and {buckets.shape}"
        )
    numbers = (min, max, num, sum, sum_squares)
    content = b"".join(put_double(number, value) for number, value in enumerate(numbers, start=1))
    content += put_bytes(6, edges.tobytes()) + put_bytes(7, buckets.tobytes())
    return _value(tag, put_message(5, content), _metadata("", b"", display_name, description))


def histogram_tensor(
    tag: str, buckets: ArrayLike, *, display_name: str = "", description: str = ""
) -> bytes:
    """Return a histogram as a tensor with one row `left edge, right edge, count` per bucket."""
    rows = np.asarray(buckets, np.float64)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ValueError(f"histogram {tag!r}: buckets must have shape (n, 3), got {rows.shape}")
    return tensor(tag, rows, "histograms", display_name=display_name, description=description)


def image(
    tag: str,
    height: int,
    width: int,
    colorspace: int,
    encoded: bytes,
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """Return an encoded image (PNG, JPEG, GIF); `colorspace` is its number of channels."""
    content = (
        put_integer(1, height, 32) + put_integer(2, width, 32) + put_integer(3, colorspace, 32)
    )
    content += put_bytes(4, encoded)
    return _value(tag, put_message(4, content), _metadata("", b"", display_name, description))


def image_tensor(
    tag: str,
    width: int,
    height: int,
    images: Sequence[bytes],
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """Return encoded images of one size, as the strings width, height, image, image, ..."""
    strings = [b"%d" % width, b"%d" % height, *images]
    metadata = _metadata("images", b"", display_name, description)
    return _value(tag, _string_tensor((len(strings),), strings), metadata)


def audio(
    tag: str,
    sample_rate: float,
    num_channels: int,
    length_frames: int,
    encoded: bytes,
    content_type: str = "audio/wav",
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """Return an encoded clip with its sample rate and length."""
    content = (
        put_float(1, sample_rate) + put_integer(2, num_channels) + put_integer(3, length_frames)
    )
    content += put_bytes(4, encoded) + put_bytes(5, content_type.encode())
    return _value(tag, put_message(6, content), _metadata("", b"", display_name, description))


def audio_tensor(
    tag: str,
    clips: Sequence[bytes],
    labels: Sequence[str] | None = None,
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """Return WAV clips as a string tensor with one row `clip, label` per clip."""
    names = [""] * len(clips) if labels is None else labels
    strings = [part for row in zip(clips, names, strict=True) for part in row]
    metadata = _metadata("audio", put_integer(2, WAV), display_name, description)
    return _value(tag, _string_tensor((len(clips), 2), strings), metadata)


def text(
    tag: str, content: str | ArrayLike, *, display_name: str = "", description: str = ""
) -> bytes:
    """Return text; TensorBoard shows an array or nested lists of strings as a table."""
    strings = np.asarray(content, dtype=object)
    return tensor(tag, strings, "text", display_name=display_name, description=description)


def tensor(
    tag: str,
    array: NDArray[Any],
    plugin_name: str = "",
    plugin_content: bytes = b"",
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """Return any array: numbers as raw little-endian bytes, text as UTF-8 strings.

    Object arrays can contain `str` and `bytes`. Raises TypeError for a dtype that
    TensorFlow does not support.
    """
    array = np.asarray(array)
    if array.dtype.kind in "OSUT":
        content = _string_tensor(array.shape, array.ravel().tolist())
    elif array.dtype.name in DTYPES:
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        content = _tensor(DTYPES[array.dtype.name], array.shape, put_bytes(4, data))
    else:
        raise TypeError(f"tensor {tag!r}: TensorFlow does not support the dtype {array.dtype}")
    metadata = _metadata(plugin_name, plugin_content, display_name, description)
    return _value(tag, content, metadata)


def tensor_fields(
    tag: str, array: NDArray[Any], plugin_name: str = "", plugin_content: bytes = b""
) -> bytes:
    """Return an array of numbers as torch writes it: in the field for its dtype.

    If the dtype has no field, or no reader decodes torch's version correctly
    (float16, uint8), the numbers are stored as raw bytes, as in `tensor`.
    """
    array = np.asarray(array)
    number = FIELDS.get(array.dtype.name)
    if number is None:
        return tensor(tag, array, plugin_name, plugin_content)
    if array.dtype.kind in "bi":
        data = put_varints(array)
    else:
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    content = _tensor(DTYPES[array.dtype.name], array.shape, put_bytes(number, data))
    return _value(tag, content, _metadata(plugin_name, plugin_content, "", ""))


def pr_curve(tag: str, rows: ArrayLike, num_thresholds: int) -> bytes:
    """Return a PR curve: true and false positives, true and false negatives, precision, recall.

    Each of the six rows has one number per threshold.
    """
    with np.errstate(over="ignore"):
        array = np.asarray(rows, np.float64).astype(np.float32)
    if array.ndim != 2 or len(array) != 6:
        raise ValueError(f"PR curve {tag!r}: rows must have shape (6, n), got {array.shape}")
    return tensor_fields(tag, array, "pr_curves", put_integer(2, num_thresholds, 32))


def metadata_only(
    tag: str,
    plugin_name: str,
    content: bytes,
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """Return a value that consists of metadata only, as for hparams."""
    return _value(tag, b"", _metadata(plugin_name, content, display_name, description))


def mesh_part(
    name: str,
    content: MeshContent,
    array: ArrayLike,
    parts: Iterable[str],
    json_config: str = "{}",
) -> bytes:
    """Return one part of a mesh, float32 of shape (batch, count, 3), exactly as torch writes it.

    `parts` names all parts of the mesh, including this one. TensorBoard shows a
    mesh if the values of all its parts are in one event.
    """
    number = MESH_CONTENTS[content]
    with np.errstate(over="ignore"):
        rows = np.asarray(array, np.float32)
    if rows.ndim != 3 or rows.shape[2] != 3:
        raise ValueError(
            f"mesh {name!r}: {content} must have shape (batch, n, 3), got {rows.shape}"
        )
    shape = b"".join(map(put_varint, rows.shape))
    data = put_bytes(2, name.encode()) + put_integer(3, number) + put_bytes(5, json_config.encode())
    data += put_bytes(6, shape) + put_integer(7, sum({1 << MESH_CONTENTS[part] for part in parts}))
    return tensor_fields(f"{name}{mesh.SUFFIXES[number - 1]}", rows, "mesh", data)


def hparams_experiment(plan: Experiment) -> bytes:
    """Return the hparams and metrics of an experiment; TensorBoard uses those of the first run."""
    return metadata_only(HPARAMS_EXPERIMENT, "hparams", contents.experiment(plan))


def hparams_start(
    settings: Mapping[str, bool | float | str | None],
    start_time: float = 0.0,
    *,
    group_name: str = "",
) -> bytes:
    """Return the hparams of a run, for the start of its session; numbers are stored as floats.

    None means that an hparam has no value. TensorBoard shows sessions with the same
    `group_name` as one row.
    """
    content = contents.session_start(settings, start_time, group_name)
    return metadata_only(HPARAMS_SESSION_START, "hparams", content)


def hparams_end(
    status: Literal["unknown", "success", "failure", "running"] = "success", end_time: float = 0.0
) -> bytes:
    """Return the status and end time of a run's session."""
    content = contents.session_end(status, end_time)
    return metadata_only(HPARAMS_SESSION_END, "hparams", content)


def layout(page: Layout) -> bytes:
    """Return the categories and charts of TensorBoard's custom scalars page."""
    content = np.array(contents.layout(page), object)
    return tensor(CUSTOM_SCALARS_TAG, content, "custom_scalars")


def boxes(tag: str, content: Boxes, difference: bytes) -> bytes:
    """Return the boxes and masks drawn on a tag's image, and the PNG that removes them again."""
    from runfold._events.kinds import boxes as box_values

    strings = np.array([box_values.encode(content).encode(), difference], object)
    return tensor(BOXES_PREFIX + tag, strings, box_values.PLUGIN)


def _value(tag: str, content: bytes, metadata: bytes) -> bytes:
    return put_bytes(1, tag.encode()) + content + metadata


def _metadata(plugin_name: str, content: bytes, display_name: str, description: str) -> bytes:
    """Return the metadata field of a value, or b"" if it would be empty."""
    plugin = put_bytes(1, plugin_name.encode()) + put_bytes(2, content)
    return put_bytes(
        9,
        put_bytes(1, plugin)
        + put_bytes(2, display_name.encode())
        + put_bytes(3, description.encode()),
    )


def _string_tensor(shape: tuple[int, ...], strings: Iterable[object]) -> bytes:
    content = b"".join(put_message(8, _encode(item)) for item in strings)
    return _tensor(DT_STRING, shape, content)


def _encode(item: object) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, bytes):
        return item
    raise TypeError(f"a string tensor contains str and bytes, not {type(item).__name__}")


def _tensor(dtype: int, shape: tuple[int, ...], content: bytes) -> bytes:
    dims = b"".join(put_message(2, put_integer(1, size)) for size in shape)
    return put_message(8, put_integer(1, dtype) + put_message(2, dims) + content)
