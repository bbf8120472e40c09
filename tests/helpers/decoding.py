"""A decoder's results in a form that tests can compare, and events to decode."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from runfold._core.decoder import Decoder, decode
from runfold._core.encoder import EventBuffer, frame
from runfold._core.event import NoteCode
from runfold._core.record import StopReason
from runfold._core.tag_table import Tags
from runfold._events import value_encoding as values

HEADER, FRAME = 12, 16
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


@dataclass(frozen=True)
class Reading:
    """Everything that was collected. Numbers are kept as bytes, so that NaN equals itself."""

    scalars: dict[str, tuple[bytes, bytes, bytes]]
    items: list[tuple[Any, ...]]
    notes: list[tuple[int, int, int]]
    restarts: list[tuple[int, int, dict[int, int]]]
    events: int
    offset: int
    stop: int

    def without_place(self) -> "Reading":
        """Return a copy that omits where and why decoding stopped."""
        return replace(self, offset=0, stop=StopReason.AT_END)


def feed(decoder: Decoder, stretch: bytes | bytearray | memoryview) -> None:
    """Decode one stretch, which begins at the decoder's offset."""
    decode([decoder], stretch, np.array([0]), np.array([len(stretch)]))


def collect(decoder: Decoder, data: bytes) -> Reading:
    """Return what a decoder collected from `data`, the content of the file so far."""
    scalars, items, notes, restarts = decoder.take()
    names = decoder.tags.names()
    rows = []
    for item in items:
        start, stop, tag = int(item["start"]), int(item["start"] + item["length"]), int(item["tag"])
        assert item["record"] + HEADER <= start <= stop <= decoder.offset - 4
        rows.append((item.tobytes(), data[start:stop], names[tag] if tag >= 0 else None))
    columns = {
        names[tag]: (steps.tobytes(), wall_times.tobytes(), numbers.tobytes())
        for tag, (steps, wall_times, numbers) in scalars.items()
    }
    return Reading(
        columns,
        rows,
        notes,
        restarts,
        decoder.events,
        decoder.offset,
        decoder.stop,
    )


def read(data: bytes, cuts: Iterable[int] = ()) -> Reading:
    """Decode a file as it grows to each of `cuts`, then completely."""
    decoder = Decoder(Tags())
    for cut in [*cuts, len(data)]:
        feed(decoder, data[decoder.offset : cut])
    return collect(decoder, data)


def points(reading: Reading, tag: str) -> list[tuple[int, float, float]]:
    """Return the points of one tag as numbers."""
    steps, wall_times, numbers = reading.scalars[tag]
    return list(
        zip(
            np.frombuffer(steps, np.int64).tolist(),
            np.frombuffer(wall_times).tolist(),
            np.frombuffer(numbers).tolist(),
            strict=True,
        )
    )


def boundaries(records: Sequence[bytes]) -> list[int]:
    """Return the offset of each record in a file of these records, and the end of the last one."""
    return [0, *np.cumsum([len(record) for record in records]).tolist()]


def blank(record: bytes) -> bytes:
    """Return a valid record of the same length with an empty event."""
    size = len(record) - FRAME
    # An unknown bytes field whose length is encoded in as many bytes as needed to fill the record.
    for width in range(1, 6):
        rest = size - 1 - width
        if 0 <= rest < 1 << 7 * width:
            length = [rest >> 7 * i & 0x7F | 0x80 for i in range(width)]
            length[-1] &= 0x7F
            return frame(b"\x7a" + bytes(length) + bytes(rest))
    assert size == 0
    return record


def every_kind() -> list[bytes]:
    """Return one record of every form and kind, with some scalars between them."""
    buffer = EventBuffer()
    tall = np.arange(6, dtype=np.float32).reshape(2, 3)
    buffer.file_version(1.5)
    buffer.scalar("loss", 0.25, 1, 2.0)
    buffer.scalar_tensor("accuracy", 0.5, 1, 2.0)
    buffer.scalar_double("lr", 1e-300, -1, 2.5)
    buffer.summary([value("a", 1.0), value("b", 2.0), value("", 3.0)], 2, 3.0)
    buffer.value(values.histogram("h", 0, 1, 2, 3, 4, [1, 2], [1, 1]), 3, 3.0)
    buffer.value(values.histogram_tensor("ht", [[0, 1, 2.0]]), 3, 3.0)
    buffer.value(values.image("i", 1, 1, 3, PNG), 3, 3.0)
    buffer.session_start(2, 3.5)
    buffer.value(values.image_tensor("it", 1, 1, [PNG]), 3, 4.0)
    buffer.value(values.audio("s", 8000, 1, 1, b"RIFF"), 3, 4.0)
    buffer.value(values.audio_tensor("st", [b"RIFF"]), 3, 4.0)
    buffer.value(values.text("t", ["one", "two"]), 3, 4.0)
    buffer.value(values.tensor("x", tall, "mesh", b"\x08\x01"), 3, 4.0)
    buffer.value(values.metadata_only("_hparams_/experiment", "hparams", b"\x12\x00"), 0, 4.0)
    buffer.graph(b"\x0a\x04\x0a\x02op", 4.0)
    buffer.run_metadata("step 3", b"\x0a\x00", 3, 4.0)
    buffer.event(struct.pack("<Bd", 9, np.inf) + b"\x10\x04")
    buffer.event(b"")
    buffer.scalar("loss", 0.125, 5, 5.0)
    return split(buffer.getvalue())


def value(tag: str, number: float) -> bytes:
    """Return a serialized Summary.Value with one simple number."""
    name = tag.encode()
    return b"\x0a" + bytes([len(name)]) + name + b"\x15" + struct.pack("<f", number)


def split(data: bytes) -> list[bytes]:
    """Return the records of a valid file."""
    records = []
    while data:
        end = int.from_bytes(data[:8], "little") + FRAME
        records.append(data[:end])
        data = data[end:]
    return records


def codes(reading: Reading) -> list[NoteCode]:
    """Return the codes of the notes."""
    return [NoteCode(code) for _, code, _ in reading.notes]
