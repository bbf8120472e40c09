"""A stored `Summary.Value`: its form and the position of its content."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from runfold._core.tensor_proto import decode_tensor
from runfold._events.wire import BYTES, VARINT, Data, Malformed, fields, span

SIMPLE, OLD_HISTOGRAM, IMAGE, HISTOGRAM, AUDIO, TENSOR = 2, 3, 4, 5, 6, 8
FORMS = {
    SIMPLE: "a simple value",
    OLD_HISTOGRAM: "an obsolete histogram",
    IMAGE: "an image",
    HISTOGRAM: "a histogram",
    AUDIO: "audio",
    TENSOR: "a tensor",
}
METADATA = 9
DT_STRING = 7


class StoredFile:
    """An encoded image or clip whose bytes are read on request."""

    __slots__ = ("_load",)

    def __init__(self, load: Callable[[], bytes]) -> None:
        self._load = load

    @property
    def data(self) -> bytes:
        """The encoded bytes, as the writer stored them."""
        return self._load()

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        # A pickle contains the bytes, because the file may be missing when the pickle is loaded.
        state = {name: getattr(self, name) for name in self.__slots__}
        return None, state | {"_load": partial(bytes, self.data)}


@dataclass(frozen=True, slots=True)
class Value:
    """A parsed value: its form (a field number of Summary.Value, or 0), body and plugin data."""

    tag: str
    form: int
    body: bytes
    plugin: str
    content: bytes


def parse(value: bytes) -> Value:
    """Split a value into its parts, following protobuf's rules for fields that occur twice."""
    tag, form = b"", 0
    body: list[bytes] = []
    metadata: list[bytes] = []
    for field in fields(value):
        if field.number == 1 and field.wire_type == BYTES:
            tag = value[field.start : field.stop]
        elif field.number == METADATA and field.wire_type == BYTES:
            metadata.append(value[field.start : field.stop])
        elif field.number in FORMS and (field.wire_type == BYTES) == (field.number != SIMPLE):
            # The last form wins. Repeated occurrences of one form are merged, which
            # means concatenation on the wire.
            if field.number != form:
                form = field.number
                body.clear()
            body.append(value[field.start : field.stop])
    plugin, content = _plugin(b"".join(metadata))
    return Value(text(tag), form, b"".join(body), plugin, content)


def plugin_of(metadata: bytes) -> str:
    """Return the plugin name in a serialized SummaryMetadata, or ''."""
    return _plugin(metadata)[0]


def plugin_content(metadata: bytes) -> bytes:
    """Return the plugin data in a serialized SummaryMetadata."""
    return _plugin(metadata)[1]


def _plugin(metadata: bytes) -> tuple[str, bytes]:
    data = b"".join(messages(metadata, 1))
    name = b"".join(messages(data, 1)[-1:])
    content = b"".join(messages(data, 2)[-1:])
    return text(name), content


def messages(message: bytes, number: int) -> list[bytes]:
    """Return every occurrence of a length-delimited field, in order."""
    return [
        message[field.start : field.stop]
        for field in fields(message)
        if field.number == number and field.wire_type == BYTES
    ]


def text(raw: bytes) -> str:
    """Decode UTF-8; invalid bytes become backslash escapes."""
    return raw.decode("utf-8", "backslashreplace")


def tensor_of(value: Value, what: str) -> np.ndarray:
    """Decode the value's tensor.

    If the value has none, raises ValueError with a message that `what` was expected.
    """
    if value.form != TENSOR:
        raise ValueError(f"expected {what}, but the value contains {held(value.form)}")
    return decode_tensor(value.body)


def string_of(value: Value, what: str) -> bytes:
    """Return the single byte string in the value's tensor."""
    array = tensor_of(value, what)
    if array.dtype != object or array.size != 1:
        raise ValueError(f"expected one string for {what}, got {describe(array)}")
    return bytes(array.reshape(-1)[0])


def held(form: int) -> str:
    """Return a description of the content of a form."""
    return FORMS.get(form, "nothing")


def describe(array: np.ndarray) -> str:
    """Return a description of a tensor, such as '(6, 127) float32'."""
    return f"{array.shape} {'string' if array.dtype == object else array.dtype}"


def locate_body(prefix: Data, length: int, expected: int) -> tuple[int, int, int]:
    """Return the form and span of the value's message, given the value's first bytes.

    The form is `expected` or TENSOR. Bytes after the message are not read, because
    the message can be many megabytes long. Raises NeedMore if the prefix is too short.
    """
    for field in fields(prefix, 0, length):
        if field.wire_type == BYTES and field.number in FORMS:
            if field.number not in (expected, TENSOR):
                raise ValueError(f"the value contains {held(field.number)}, not {held(expected)}")
            return field.number, field.start, field.stop
    raise ValueError(f"the value contains no {held(expected).split()[-1]}")


def locate_strings(
    prefix: Data, start: int, stop: int
) -> tuple[tuple[int, ...], list[tuple[int, int]]]:
    """Return the shape and element spans of a string tensor without reading the elements."""
    dtype = 0
    shape: list[int] = []
    spans: list[tuple[int, int]] = []
    for field in fields(prefix, start, stop):
        if field.number == 1 and field.wire_type == VARINT:
            dtype = field.value
        elif field.number == 2 and field.wire_type == BYTES:
            shape += _dimensions(span(prefix, field.start, field.stop))
        elif field.number == 8 and field.wire_type == BYTES:
            spans.append((field.start, field.stop))
    if dtype != DT_STRING:
        raise ValueError(f"expected a tensor of strings, got dtype number {dtype}")
    if prod(shape) != len(spans):
        raise ValueError(f"the shape {tuple(shape)} does not fit {len(spans)} strings")
    return tuple(shape), spans


def _dimensions(shape: bytes) -> list[int]:
    sizes = []
    for dimension in messages(shape, 2):
        size = 0
        for field in fields(dimension):
            if field.number == 1 and field.wire_type == VARINT:
                size = field.value
        if size >> 63:
            raise Malformed("a dimension is negative")
        sizes.append(size)
    return sizes
