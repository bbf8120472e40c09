"""What a call leaves in a log, as TensorBoard's EventAccumulator reads it, or why it fails."""

import dataclasses
import io
import warnings
import wave
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
from google.protobuf import text_format
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig
from tensorboard.util.tensor_util import make_ndarray

Read = dict[str, Any]


def outcome(make: Callable[[str], Any], folder: Path, call: Callable[[Any], object]) -> Any:
    """Return what the log holds after the call, or the exception that the call raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer = make(str(folder))
        try:
            call(writer)
        except Exception as error:
            return error
        finally:
            writer.close()
        return read(folder)


def read(folder: Path) -> Read:
    """Everything in a folder: events by run, kind and tag, and the content of other files."""
    found: Read = {}
    for path in sorted(folder.rglob("*")):
        if "tfevents" in path.name:
            run = str(path.parent.relative_to(folder))
            found |= {f"{run} {name}": value for name, value in _events(path.parent).items()}
        elif path.is_file():
            content = path.read_bytes()
            name = str(path.relative_to(folder))
            if path.suffix == ".png":
                found[name] = _pixels(content)
            elif path.suffix == ".pbtxt":
                found[name] = _projector(content)
            else:
                found[name] = content.decode()
    return found


def _events(folder: Path) -> Read:
    log = EventAccumulator(str(folder), {"images": 0, "audio": 0, "tensors": 0}).Reload()
    tags: Any = log.Tags()
    found: Read = {}
    for tag in tags["scalars"]:
        found[f"scalar {tag}"] = [(e.step, _time(e), e.value) for e in log.Scalars(tag)]
        with suppress(KeyError):
            metadata = log.SummaryMetadata(tag)
            found[f"text of {tag}"] = metadata.display_name, metadata.summary_description
    for tag in tags["histograms"]:
        found[f"histogram {tag}"] = [
            (e.step, _time(e), *map(np.asarray, dataclasses.astuple(e.histogram_value)))
            for e in log.Histograms(tag)
        ]
    for tag in tags["images"]:
        found[f"image {tag}"] = [
            (e.step, _time(e), e.width, e.height, _pixels(e.encoded_image_string))
            for e in log.Images(tag)
        ]
    for tag in tags["audio"]:
        found[f"audio {tag}"] = [
            (e.step, _time(e), e.sample_rate, e.length_frames, _samples(e.encoded_audio_string))
            for e in log.Audio(tag)
        ]
    for tag in tags["tensors"]:
        plugin = log.SummaryMetadata(tag).plugin_data.plugin_name
        found[f"tensor of {plugin} {tag}"] = [
            (e.step, _time(e), _array(e.tensor_proto)) for e in log.Tensors(tag)
        ]
    return found


def _projector(content: bytes) -> str:
    try:
        return str(text_format.Parse(content, ProjectorConfig()))
    except text_format.ParseError:
        return "cannot be parsed"


def _time(event: Any) -> float | None:
    """The time that a call gave; None for that of the call itself."""
    return None if 1e9 < event.wall_time < 1e10 else event.wall_time


def _pixels(data: bytes) -> Any:
    if not data:
        return None
    try:
        picture = PIL.Image.open(io.BytesIO(data))
    except (PIL.UnidentifiedImageError, PIL.Image.DecompressionBombError):
        return "not a picture"
    frames = []
    for index in range(getattr(picture, "n_frames", 1)):
        picture.seek(index)
        frames.append(np.asarray(picture.convert("RGB" if picture.mode == "P" else None)))
    return np.stack(frames)


def _samples(data: bytes) -> Any:
    with wave.open(io.BytesIO(data)) as clip:
        samples = np.frombuffer(clip.readframes(clip.getnframes()), "<i2")
        return clip.getframerate(), samples.reshape(-1, clip.getnchannels())


def _array(proto: Any) -> Any:
    try:
        return make_ndarray(proto)
    except Exception as error:  # a message that TensorBoard itself cannot decode
        return f"cannot be decoded: {type(error).__name__}"


def is_same(one: Any, other: Any, rounding: int = 0) -> bool:
    """Whether two outcomes hold the same values.

    Pixels and samples may differ by `rounding` units.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(is_same(one[k], other[k], rounding) for k in one)
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(is_same, one, other, [rounding] * len(one)))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        if one.shape != other.shape or one.dtype != other.dtype:
            return False
        if one.dtype.kind in "iu" and rounding:
            return bool((abs(one.astype(int) - other.astype(int)) <= rounding).all())
        return bool((one == other).all()) if one.dtype.kind == "O" else _is_close(one, other)
    if isinstance(one, float | int) and isinstance(other, float | int):
        return _is_close(np.float64(one), np.float64(other))
    return type(one) is type(other) and one == other


def _is_close(one: Any, other: Any) -> bool:
    # A sum may be added up in another order.
    return bool(np.isclose(one, other, rtol=1e-12, atol=0, equal_nan=True).all())
