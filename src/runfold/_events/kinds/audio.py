"""Audio clips, located in the file and decoded on request."""

import io
import os
import struct
import wave
from base64 import b64encode
from collections.abc import Callable, Container
from dataclasses import dataclass, replace
from functools import partial
from html import escape

import numpy as np

from runfold._events.kinds import stored_value
from runfold._events.wire import BYTES, FIXED32, VARINT, Data, fields, span

SUFFIXES = {
    "audio/wav": ".wav",
    "audio/ogg": ".ogg",
    "audio/flac": ".flac",
    "audio/mpeg": ".mp3",
}
# The usual end of a WAV file's header, where the samples start.
WAV_HEAD = 44


@dataclass(frozen=True, slots=True)
class Clip:
    """The position of a clip, as (start, length) within the value, and its properties.

    A property is None or an empty string if neither the value nor the clip's header
    contains it.
    """

    start: int
    length: int
    sample_rate: float | None
    channels: int | None
    length_frames: int | None
    content_type: str
    label: str


def locate(prefix: Data, length: int) -> list[Clip]:
    """Return the clips in a value of `length` bytes, given its first bytes.

    Raises NeedMore if the prefix ends before the last clip's header and label, and
    ValueError if the value does not contain audio.
    """
    form, start, stop = stored_value.locate_body(prefix, length, stored_value.AUDIO)
    if form == stored_value.AUDIO:
        return [_locate_in_proto(prefix, start, stop)]
    return _locate_in_tensor(prefix, start, stop)


def _locate_in_proto(prefix: Data, start: int, stop: int) -> Clip:
    rate, channels, frames, content_type = 0.0, 0, 0, ""
    seen = Clip(start, 0, None, None, None, "", "")
    for field in fields(prefix, start, stop):
        if field.number == 1 and field.wire_type == FIXED32:
            (rate,) = struct.unpack("<f", struct.pack("<I", field.value))
        elif field.number == 2 and field.wire_type == VARINT:
            channels = field.value
        elif field.number == 3 and field.wire_type == VARINT:
            frames = field.value
        elif field.number == 4 and field.wire_type == BYTES:
            seen = _look_at(prefix, field.start, field.stop, "")
            # The content type follows the clip. If the clip's header gives it, the
            # bytes after the clip need not be read.
            if seen.content_type:
                break
        elif field.number == 5 and field.wire_type == BYTES:
            content_type = stored_value.text(span(prefix, field.start, field.stop))
    if (channels | frames) >> 63:
        raise ValueError("audio has a negative number of channels or frames")
    return replace(
        seen,
        sample_rate=rate or seen.sample_rate,
        channels=channels or seen.channels,
        length_frames=frames or seen.length_frames,
        content_type=seen.content_type or content_type,
    )


def _locate_in_tensor(prefix: Data, start: int, stop: int) -> list[Clip]:
    shape, spans = stored_value.locate_strings(prefix, start, stop)
    if len(shape) not in (1, 2) or (len(shape) == 2 and shape[1] not in (1, 2)):
        raise ValueError(f"expected audio as rows of a clip and its label, got shape {shape}")
    if shape[1:] != (2,):
        return [_look_at(prefix, *clip, "") for clip in spans]
    return [
        _look_at(prefix, *clip, stored_value.text(span(prefix, *label)))
        for clip, label in zip(spans[::2], spans[1::2], strict=True)
    ]


def _look_at(prefix: Data, start: int, stop: int, label: str) -> Clip:
    """Return a clip with the properties from its header."""
    head = span(prefix, start, min(stop, start + WAV_HEAD))
    rate, channels, frames = _wav_head(head, stop - start)
    return Clip(start, stop - start, rate, channels, frames, sniff(head) or "", label)


def _wav_head(head: bytes, length: int) -> tuple[float | None, int | None, int | None]:
    if sniff(head) != "audio/wav" or head[12:16] != b"fmt " or len(head) < WAV_HEAD:
        return None, None, None
    size, _, channels, rate, _, align = struct.unpack_from("<IHHIIH", head, 16)
    frames = None
    if size == 16 and head[36:40] == b"data" and align:
        # Streaming encoders write a size that extends beyond the end of the clip.
        frames = min(int.from_bytes(head[40:44], "little"), length - WAV_HEAD) // align
    return float(rate), channels, frames


def sniff(data: bytes) -> str | None:
    """Return the media type of an encoded clip, judged by its first bytes, or None."""
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return "audio/wav"
    for magic, media_type in (
        (b"OggS", "audio/ogg"),
        (b"fLaC", "audio/flac"),
        (b"ID3", "audio/mpeg"),
        (b"\xff\xfb", "audio/mpeg"),
    ):
        if data.startswith(magic):
            return media_type
    return None


class Audio(stored_value.StoredFile):
    """An audio clip: its properties, and its bytes and samples on request."""

    __slots__ = ("channels", "content_type", "label", "length_frames", "sample_rate")

    def __init__(self, clip: Clip, load: Callable[[], bytes]) -> None:
        self.sample_rate = clip.sample_rate
        self.channels = clip.channels
        self.length_frames = clip.length_frames
        self.content_type = clip.content_type
        self.label = clip.label
        super().__init__(load)

    def __repr__(self) -> str:
        seconds = f" {self.duration:.3g} s" if self.duration is not None else ""
        return f"<Audio{seconds} {self.content_type or 'unknown type'}>"

    def __eq__(self, other: object) -> bool:
        """Return whether the other clip has the same properties and the same bytes."""
        if not isinstance(other, Audio):
            return NotImplemented
        return self._properties == other._properties and self.data == other.data

    def __hash__(self) -> int:
        return hash(self._properties)

    @property
    def _properties(self) -> tuple[object, ...]:
        return (
            self.sample_rate,
            self.channels,
            self.length_frames,
            self.content_type,
            self.label,
        )

    @property
    def duration(self) -> float | None:
        """The length in seconds, or None if the frame count or sample rate is unknown."""
        if self.length_frames is None or not self.sample_rate:
            return None
        return self.length_frames / self.sample_rate

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the clip to a file in its stored format. An existing file is overwritten.

        Raises ValueError if the suffix belongs to a different format.
        """
        data = self.data
        name = os.fspath(path)
        suffix = os.path.splitext(name)[1].lower()
        expected = SUFFIXES.get(sniff(data) or "")
        if expected is not None and suffix != expected:
            raise ValueError(
                f"{name!r}: the clip is stored as {expected} and cannot be converted. "
                f"Use a name that ends in {expected}."
            )
        with open(path, "wb") as file:
            file.write(data)

    def wave(self) -> tuple[int, np.ndarray]:
        """Return the sample rate and the samples of a PCM WAV clip, as (frames, channels).

        The samples are integers as stored: uint8 for 8 bits, int16 for 16, int32
        for 24 and 32. Raises ValueError for any other format.
        """
        return decode_wave(self.data)

    def _repr_mimebundle_(
        self, include: Container[str] | None = None, exclude: Container[str] | None = None
    ) -> dict[str, str]:
        data = self.data
        media_type = sniff(data)
        if media_type is None:
            return {"text/plain": f"{self!r}: browsers cannot play this format"}
        source = f"data:{media_type};base64,{b64encode(data).decode('ascii')}"
        player = f'<audio controls src="{source}"></audio>'
        caption = f"<p>{escape(self.label)}</p>" if self.label else ""
        return {"text/html": player + caption, "text/plain": repr(self)}


def of_bytes(data: bytes) -> Audio:
    """Return a clip for encoded bytes, with the properties from its header."""
    return Audio(_look_at(data, 0, len(data), ""), partial(bytes, data))


def decode_wave(data: bytes) -> tuple[int, np.ndarray]:
    """Return the sample rate and the (frames, channels) samples of a PCM WAV file."""
    try:
        with wave.open(io.BytesIO(data)) as reader:
            rate, channels, width = (
                reader.getframerate(),
                reader.getnchannels(),
                reader.getsampwidth(),
            )
            raw = reader.readframes(reader.getnframes())
    except (wave.Error, EOFError, RuntimeError, struct.error, ZeroDivisionError) as error:
        raise ValueError(f"the clip is not a PCM WAV file: {error or 'truncated'}") from None
    raw = raw[: len(raw) - len(raw) % (channels * width)]
    if width == 3:
        samples = np.zeros((len(raw) // 3, 4), np.uint8)
        samples[:, 1:] = np.frombuffer(raw, np.uint8).reshape(-1, 3)
        flat = samples.view("<i4").reshape(-1) >> 8
    elif width in (1, 2, 4):
        flat = np.frombuffer(raw, {1: "u1", 2: "<i2", 4: "<i4"}[width])
    else:
        raise ValueError(f"unsupported sample width: {width} bytes")
    return rate, flat.reshape(-1, channels)
