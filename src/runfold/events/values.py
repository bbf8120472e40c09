"""Serialised `Summary.Value` messages of every kind but scalars, byte for byte as protobuf's.

Each function returns one message for `EventBuffer.value` or `.summary`. Kinds that
exist in two forms have two functions: the plain name is the form of torch and
TensorFlow 1, `*_tensor` the form of TensorFlow 2.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from runfold.events.kinds import hparams, mesh

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from runfold.events.kinds.boxes import Boxes
    from runfold.events.kinds.hparams import Experiment, HParam, Metric
    from runfold.events.kinds.layout import Category, Chart, Layout

MeshContent: TypeAlias = Literal["vertices", "faces", "colors"]

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
# The repeated field of a `TensorProto` for each type.
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
STATUSES = {"unknown": 0} | {name: number for number, name in hparams.STATUSES.items()}
HPARAM_TYPES = {None: 0} | {name: number for number, name in hparams.TYPES.items()}
DATASETS = {None: 0} | {name: number for number, name in hparams.DATASETS.items()}
MESH_CONTENTS = {name: number for number, name in mesh.CONTENTS.items()}


def scalar(
    tag: str, value: float, form: str = "simple", *, display_name: str = "", description: str = ""
) -> bytes:
    """A number with what is shown beside it: "simple" or "tensor" as float32, "double" as is."""
    if form == "simple":
        content = _varint(2 << 3 | 5) + struct.pack("<f", value)
        return _value(tag, content, _metadata("", b"", display_name, description))
    array = np.array(value, np.float64 if form == "double" else np.float32)
    return tensor(
        tag, array, "scalars", display_name=display_name, description=description, data_class=1
    )


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
    """A histogram of `counts[i]` values up to `limits[i]`, as a `HistogramProto`."""
    edges, buckets = np.asarray(limits, "<f8"), np.asarray(counts, "<f8")
    if edges.ndim != 1 or edges.shape != buckets.shape:
        raise ValueError(
            f"histogram {tag!r}: limits of shape {edges.shape} and counts of shape {buckets.shape}"
            " must be two rows of the same length"
        )
    numbers = (min, max, num, sum, sum_squares)
    content = b"".join(_double(number, value) for number, value in enumerate(numbers, start=1))
    content += _bytes(6, edges.tobytes()) + _bytes(7, buckets.tobytes())
    return _value(tag, _message(5, content), _metadata("", b"", display_name, description))


def histogram_tensor(
    tag: str, buckets: ArrayLike, *, display_name: str = "", description: str = ""
) -> bytes:
    """A histogram as a tensor with one row `left edge, right edge, count` for each bucket."""
    rows = np.asarray(buckets, np.float64)
    if rows.ndim != 2 or rows.shape[1] != 3:
        raise ValueError(f"histogram {tag!r}: buckets must have shape (n, 3), not {rows.shape}")
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
    """An encoded image (PNG, JPEG, GIF); `colorspace` is its number of channels."""
    content = _integer(1, height, 32) + _integer(2, width, 32) + _integer(3, colorspace, 32)
    content += _bytes(4, encoded)
    return _value(tag, _message(4, content), _metadata("", b"", display_name, description))


def image_tensor(
    tag: str,
    width: int,
    height: int,
    images: Sequence[bytes],
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """Encoded images of one size, as the strings width, height, image, image, ..."""
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
    """An encoded clip with its sample rate and length."""
    content = _float(1, sample_rate) + _integer(2, num_channels) + _integer(3, length_frames)
    content += _bytes(4, encoded) + _bytes(5, content_type.encode())
    return _value(tag, _message(6, content), _metadata("", b"", display_name, description))


def audio_tensor(
    tag: str,
    clips: Sequence[bytes],
    labels: Sequence[str] | None = None,
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """WAV clips, as a string tensor with one row `clip, label` for each; labels may be left out."""
    names = [""] * len(clips) if labels is None else labels
    strings = [part for row in zip(clips, names, strict=True) for part in row]
    metadata = _metadata("audio", _integer(2, WAV), display_name, description)
    return _value(tag, _string_tensor((len(clips), 2), strings), metadata)


def text(
    tag: str, content: str | ArrayLike, *, display_name: str = "", description: str = ""
) -> bytes:
    """A text, or nested lists or an array of texts, which TensorBoard shows as a table."""
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
    data_class: int = 0,
) -> bytes:
    """Any array: numbers as raw little-endian bytes, text as UTF-8 strings.

    An array of objects may hold `str` and `bytes`; a dtype that TensorFlow does
    not have raises TypeError.
    """
    array = np.asarray(array)
    if array.dtype.kind in "OSUT":
        content = _string_tensor(array.shape, array.ravel().tolist())
    elif array.dtype.name in DTYPES:
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        content = _tensor(DTYPES[array.dtype.name], array.shape, _bytes(4, data))
    else:
        raise TypeError(f"tensor {tag!r}: TensorFlow has no dtype {array.dtype}")
    metadata = _metadata(plugin_name, plugin_content, display_name, description, data_class)
    return _value(tag, content, metadata)


def tensor_fields(
    tag: str, array: NDArray[Any], plugin_name: str = "", plugin_content: bytes = b""
) -> bytes:
    """An array of numbers as torch writes it: in the field of their type.

    Where nobody reads torch's right (float16, uint8) or it has no field, the
    numbers are raw bytes, as by `tensor`.
    """
    array = np.asarray(array)
    number = FIELDS.get(array.dtype.name)
    if number is None:
        return tensor(tag, array, plugin_name, plugin_content)
    if array.dtype.kind in "bi":
        data = _varints(array)
    else:
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    content = _tensor(DTYPES[array.dtype.name], array.shape, _bytes(number, data))
    return _value(tag, content, _metadata(plugin_name, plugin_content, "", ""))


def pr_curve(tag: str, rows: ArrayLike, num_thresholds: int) -> bytes:
    """A PR curve: true and false positives, true and false negatives, precision, recall.

    Each of the six rows has one number for each threshold.
    """
    with np.errstate(over="ignore"):
        array = np.asarray(rows, np.float64).astype(np.float32)
    if array.ndim != 2 or len(array) != 6:
        raise ValueError(f"PR curve {tag!r}: rows must have shape (6, n), not {array.shape}")
    return tensor_fields(tag, array, "pr_curves", _integer(2, num_thresholds, 32))


def metadata_only(
    tag: str,
    plugin_name: str,
    content: bytes,
    *,
    display_name: str = "",
    description: str = "",
) -> bytes:
    """A value that says all in its metadata, as hparams do."""
    return _value(tag, b"", _metadata(plugin_name, content, display_name, description))


def mesh_part(
    name: str,
    content: MeshContent,
    array: ArrayLike,
    parts: Iterable[str],
    json_config: str = "{}",
) -> bytes:
    """One part of a mesh, as float32 of shape (batch, count, 3).

    `parts` names all parts that the mesh has, this one among them. A mesh is
    shown when the values of all its parts are in one event.
    """
    rows, number = np.asarray(array, np.float32), MESH_CONTENTS[content]
    if rows.ndim != 3 or rows.shape[2] != 3:
        raise ValueError(
            f"mesh {name!r}: {content} must have shape (batch, n, 3), not {rows.shape}"
        )
    shape = b"".join(map(_varint, rows.shape))
    data = _bytes(2, name.encode()) + _integer(3, number) + _bytes(5, json_config.encode())
    data += _bytes(6, shape) + _integer(7, sum({1 << MESH_CONTENTS[part] for part in parts}))
    return tensor(f"{name}{mesh.SUFFIXES[number - 1]}", rows, "mesh", data)


def hparams_experiment(plan: Experiment) -> bytes:
    """What is varied and what is measured; TensorBoard takes it from the first run that has it."""
    content = _bytes(1, plan.description.encode()) + _bytes(2, plan.user.encode())
    content += _double(3, plan.time_created)
    content += b"".join(_message(4, _hparam(one)) for one in plan.hparams)
    content += b"".join(_message(5, _metric(one)) for one in plan.metrics)
    content += _bytes(6, plan.name.encode())
    return metadata_only("_hparams_/experiment", "hparams", _message(2, content))


def hparams_start(
    settings: Mapping[str, bool | float | str | None],
    start_time: float = 0.0,
    *,
    group_name: str = "",
) -> bytes:
    """The hparams of a run, at the start of its session; any number is kept as a float.

    None is an hparam without a value. TensorBoard shows sessions of the same
    `group_name` as one row.
    """
    entries = b"".join(
        _message(1, _message(1, name.encode()) + _message(2, _setting(value)))
        for name, value in settings.items()
    )
    info = entries + _bytes(4, group_name.encode()) + _double(5, start_time)
    return metadata_only("_hparams_/session_start_info", "hparams", _message(3, info))


def hparams_end(
    status: Literal["unknown", "success", "failure", "running"] = "success", end_time: float = 0.0
) -> bytes:
    """How the session of a run ended, and when."""
    info = _integer(1, STATUSES[status]) + _double(2, end_time)
    return metadata_only("_hparams_/session_end_info", "hparams", _message(4, info))


def layout(page: Layout) -> bytes:
    """The categories and charts of TensorBoard's custom scalars page."""
    content = b"".join(_message(2, _category(one)) for one in page.categories)
    return tensor("custom_scalars__config__", np.array(content, object), "custom_scalars")


def boxes(tag: str, content: Boxes, difference: bytes) -> bytes:
    """What is drawn into the picture of a tag, and the PNG file that takes it out again."""
    from runfold.events.kinds import boxes as box_values

    strings = np.array([box_values.encode(content).encode(), difference], object)
    return tensor(box_values.PREFIX + tag, strings, box_values.PLUGIN)


def _setting(value: object) -> bytes:
    """A `google.protobuf.Value`, whose zero, False and empty text are written out."""
    if isinstance(value, bool | np.bool_):
        return _varint(4 << 3) + _varint(bool(value))
    if value is None:
        return _varint(1 << 3) + _varint(0)
    if isinstance(value, str):
        return _message(3, value.encode())
    if isinstance(value, int | float | np.number):
        return _varint(2 << 3 | 1) + struct.pack("<d", value)
    raise TypeError(f"an hparam is a bool, a number, a str or None, not {type(value).__name__}")


def _hparam(info: HParam) -> bytes:
    content = _texts((info.name, info.display_name, info.description))
    content += _integer(4, HPARAM_TYPES[info.type])
    if isinstance(info.domain, hparams.Interval):
        bounds = _double(1, info.domain.min) + _double(2, info.domain.max)
        return content + _message(6, bounds)
    if info.domain is None:
        return content
    return content + _message(5, b"".join(_message(1, _setting(one)) for one in info.domain))


def _metric(info: Metric) -> bytes:
    content = _message(1, _texts((info.group, info.tag)))
    content += _bytes(3, info.display_name.encode()) + _bytes(4, info.description.encode())
    return content + _integer(5, DATASETS[info.dataset])


def _category(category: Category) -> bytes:
    charts = b"".join(_message(2, _chart(one)) for one in category.charts)
    return _bytes(1, category.title.encode()) + charts + _integer(3, category.closed)


def _chart(chart: Chart) -> bytes:
    title = _bytes(1, chart.title.encode())
    if chart.margins:
        tags = ((one.value, one.lower, one.upper) for one in chart.margins)
        return title + _message(3, b"".join(_message(1, _texts(each)) for each in tags))
    return title + _message(2, b"".join(_message(1, tag.encode()) for tag in chart.tags))


def _texts(texts: Iterable[str]) -> bytes:
    return b"".join(_bytes(number, text.encode()) for number, text in enumerate(texts, start=1))


def _value(tag: str, content: bytes, metadata: bytes) -> bytes:
    return _bytes(1, tag.encode()) + content + metadata


def _metadata(
    plugin_name: str, content: bytes, display_name: str, description: str, data_class: int = 0
) -> bytes:
    """The metadata field of a value; nothing when there is nothing to say."""
    plugin = _bytes(1, plugin_name.encode()) + _bytes(2, content)
    return _bytes(
        9,
        _bytes(1, plugin)
        + _bytes(2, display_name.encode())
        + _bytes(3, description.encode())
        + _integer(4, data_class, 32),
    )


def _string_tensor(shape: tuple[int, ...], strings: Iterable[object]) -> bytes:
    content = b"".join(_message(8, _encode(item)) for item in strings)
    return _tensor(DT_STRING, shape, content)


def _encode(item: object) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, bytes):
        return item
    raise TypeError(f"a string tensor holds str and bytes, not {type(item).__name__}")


def _tensor(dtype: int, shape: tuple[int, ...], content: bytes) -> bytes:
    dims = b"".join(_message(2, _integer(1, size)) for size in shape)
    return _message(8, _integer(1, dtype) + _message(2, dims) + content)


# The protobuf wire. Like protobuf, fields with a default value are left out,
# except for messages and items of lists, which `_message` always writes.


def _varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _varints(array: NDArray[Any]) -> bytes:
    """Many integers in a row, as `_varint` has them."""
    bits = array.reshape(-1, 1).astype(np.int64).view(np.uint64)
    parts = bits >> np.arange(0, 70, 7, dtype=np.uint64)
    is_used = parts != 0
    is_used[:, 0] = True
    has_more = np.zeros_like(is_used)
    has_more[:, :-1] = is_used[:, 1:]
    coded = (parts & 0x7F | has_more * np.uint64(0x80)).astype(np.uint8)
    return bytes(coded[is_used])


def _message(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _bytes(number: int, content: bytes) -> bytes:
    return _message(number, content) if content else b""


def _integer(number: int, value: int, bits: int = 64) -> bytes:
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise OverflowError(f"{value} does not fit in {bits} bits")
    return _varint(number << 3) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF) if value else b""


def _double(number: int, value: float) -> bytes:
    content = struct.pack("<d", value)
    return _varint(number << 3 | 1) + content if any(content) else b""


def _float(number: int, value: float) -> bytes:
    content = struct.pack("<f", value)
    return _varint(number << 3 | 5) + content if any(content) else b""
