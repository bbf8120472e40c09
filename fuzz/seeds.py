"""Initial inputs: the encoder's output, in the layout of each target."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding

PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(17)
WAVE = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
LAYOUT = b"\x12\x0b\x0a\x01c\x12\x06\x0a\x01t\x12\x01\x2a"
BOXES = (
    b'{"width":2,"height":1,"boxes":[[0,0,1,1]],"colors":["#ff0000"],"labels":["a"],'
    b'"scores":[null],"masks":[{"size":[1,2],"counts":[1,1]}]}'
)
KERAS = '{"class_name": "Sequential", "config": {"layers": []}}'


def value_messages() -> Iterator[bytes]:
    """Yield a Summary.Value of every kind, in the old and the new format."""
    yield value_encoding.histogram("h", 0, 1, 2, 3, 4, [1, 2], [1, 1])
    yield value_encoding.histogram_tensor("h", [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    yield value_encoding.image("i", 1, 1, 3, PNG)
    yield value_encoding.image_tensor("i", 1, 1, [PNG, PNG])
    yield value_encoding.audio("s", 8000, 1, 0, WAVE)
    yield value_encoding.audio_tensor("s", [WAVE], ["label"])
    yield value_encoding.text("t", ["one", "two"])
    yield value_encoding.text("t", "# one")
    yield value_encoding.tensor(
        "x_VERTEX", np.zeros((1, 2, 3), np.float32), "mesh", b"\x12\x01x\x18\x01"
    )
    yield value_encoding.tensor("p", np.zeros((6, 3), np.float32), "pr_curves", b"\x10\x03")
    yield value_encoding.metadata_only("_hparams_/experiment", "hparams", b"\x12\x00")
    yield value_encoding.metadata_only(
        "_hparams_/session_start_info", "hparams", b"\x1a\x02\x1a\x00"
    )
    yield value_encoding.tensor(
        "custom_scalars__config__", np.array(LAYOUT, object), "custom_scalars"
    )
    yield value_encoding.tensor("b", np.array([BOXES, PNG], object), "runfold_boxes")
    yield value_encoding.tensor("keras", np.array(KERAS, object), "graph_keras_model")
    yield value_encoding.tensor("g", np.array(b"\x0a\x04\x0a\x02op", object), "graphs")
    yield value_encoding.tensor("m", np.array(b"\x0a\x00", object), "graph_run_metadata")


def tensor_messages() -> Iterator[bytes]:
    """Yield a TensorProto of every dtype that the encoder writes, and a HistogramProto."""
    for dtype in value_encoding.DTYPES:
        if dtype != "bfloat16":
            for shape in ((), (2, 2)):
                yield value_encoding.tensor("", np.ones(shape, dtype))[2:]
    yield value_encoding.text("", ["one", "two"])[2:]
    yield value_encoding.histogram("", 0, 1, 2, 3, 4, [1, 2], [1, 1])[2:]


def payloads() -> Iterator[bytes]:
    """Yield a serialized Event of every type."""
    buffer = EventBuffer()
    buffer.file_version(1.5)
    buffer.scalar("loss", 0.25, 1, 2.0)
    buffer.scalar_double("loss", 0.1, -1, 2.0)
    buffer.scalar_tensor("loss", 0.25, 1, 2.0)
    buffer.scalar_double_tensor("loss", 0.25, -1, 2.0)
    buffer.session_start(2, 3.0)
    buffer.graph(b"\x0a\x04\x0a\x02op", 4.0)
    buffer.run_metadata("step", b"\x0a\x00", 3, 4.0)
    for message in value_messages():
        buffer.value(message, 3, 4.0)
    data = buffer.getvalue()
    while data:
        size = int.from_bytes(data[:8], "little")
        yield data[12 : 12 + size]
        data = data[16 + size :]


def seeds(target: str) -> Iterator[bytes]:
    """Yield the initial inputs of a target."""
    if target == "tensors":
        for message in tensor_messages():
            yield b"\x08" + message
        return
    for payload in payloads():
        if target == "payloads":
            yield b"\0" + payload
            yield b"\1" + payload * 2
        else:
            buffer = EventBuffer()
            buffer.event(payload)
            buffer.scalar("loss", 0.5, 2, 2.0)
            yield b"\x07\0\0" + buffer.getvalue()
            yield b"\x14\0\3" + buffer.getvalue()


def write_seeds(target: str, folder: Path) -> None:
    """Write the seeds of a target to a folder, named by their content as in libFuzzer."""
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds(target):
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
