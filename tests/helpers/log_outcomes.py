"""The outcome of a call: the log as TensorBoard's EventAccumulator reads it, or the error."""

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
    """Return the content of the log after the call, or the exception that the call raised."""
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
    """Return everything in a folder: events by run, kind and tag, and the text of other files."""
    content_by_name: Read = {}
    for path in sorted(folder.rglob("*")):
        if "tfevents" in path.name:
            run = str(path.parent.relative_to(folder))
            content_by_name |= {
                f"{run} {name}": value for name, value in _events(path.parent).items()
            }
        elif path.is_file():
            content = path.read_bytes()
            name = str(path.relative_to(folder))
            if path.suffix == ".png":
                content_by_name[name] = _pixels(content)
            elif path.suffix == ".pbtxt":
                content_by_name[name] = _projector(content)
            else:
                content_by_name[name] = content.decode()
    return content_by_name


def _events(folder: Path) -> Read:
    log = EventAccumulator(str(folder), {"images": 0, "audio": 0, "tensors": 0}).Reload()
    tags: Any = log.Tags()
    values: Read = {}
    for tag in tags["scalars"]:
        values[f"scalar {tag}"] = [(e.step, _time(e), e.value) for e in log.Scalars(tag)]
        with suppress(KeyError):
            metadata = log.SummaryMetadata(tag)
            values[f"text of {tag}"] = metadata.display_name, metadata.summary_description
    for tag in tags["histograms"]:
        values[f"histogram {tag}"] = [
            (e.step, _time(e), *map(np.asarray, dataclasses.astuple(e.histogram_value)))
            for e in log.Histograms(tag)
        ]
    for tag in tags["images"]:
        values[f"image {tag}"] = [
            (e.step, _time(e), e.width, e.height, _pixels(e.encoded_image_string))
            for e in log.Images(tag)
        ]
    for tag in tags["audio"]:
        values[f"audio {tag}"] = [
            (e.step, _time(e), e.sample_rate, e.length_frames, _samples(e.encoded_audio_string))
            for e in log.Audio(tag)
        ]
    for tag in tags["tensors"]:
        plugin = log.SummaryMetadata(tag).plugin_data.plugin_name
        values[f"tensor of {plugin} {tag}"] = [
            (e.step, _time(e), _array(e.tensor_proto)) for e in log.Tensors(tag)
        ]
    return values


def _projector(content: bytes) -> str:
    try:
        return str(text_format.Parse(content, ProjectorConfig()))
    except text_format.ParseError:
        return "cannot be parsed"


def _time(event: Any) -> float | None:
    """Return the time that was passed to the call, or None if it is the current time."""
    return None if 1e9 < event.wall_time < 1e10 else event.wall_time


def _pixels(data: bytes) -> Any:
    if not data:
        return None
    try:
        picture = PIL.Image.open(io.BytesIO(data))
    except (PIL.UnidentifiedImageError, PIL.Image.DecompressionBombError):
        return "not an image"
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


def is_same(first: Any, second: Any, rounding: int = 0) -> bool:
    """Return whether two outcomes have the same values.

    Pixels and samples can differ by `rounding` units.
    """
    if isinstance(first, dict) and isinstance(second, dict):
        return list(first) == list(second) and all(
            is_same(first[k], second[k], rounding) for k in first
        )
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return len(first) == len(second) and all(
            map(is_same, first, second, [rounding] * len(first))
        )
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        if first.shape != second.shape or first.dtype != second.dtype:
            return False
        if first.dtype.kind in "iu" and rounding:
            return bool((abs(first.astype(int) - second.astype(int)) <= rounding).all())
        return (
            bool((first == second).all()) if first.dtype.kind == "O" else _is_close(first, second)
        )
    if isinstance(first, float | int) and isinstance(second, float | int):
        return _is_close(np.float64(first), np.float64(second))
    return type(first) is type(second) and first == second


def _is_close(first: Any, second: Any) -> bool:
    # The writers may add the terms of a sum in different orders.
    return bool(np.isclose(first, second, rtol=1e-12, atol=0, equal_nan=True).all())
