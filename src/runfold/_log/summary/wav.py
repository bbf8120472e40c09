"""Encoding of audio as 16-bit WAV clips, mono or stereo."""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events import value_encoding
from runfold._log.writer.convert import as_number, as_real, refuse, warn_about
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A WAV header stores the byte rate in 32 bits, and a stereo frame takes 4 bytes.
_HIGHEST_RATE = 2**30 - 1


def encode_audio(tag: str, value: Any, sample_rate: Any) -> bytes:
    """Return the `Summary.Value` of an audio clip.

    Samples are int16, or floats from -1 to 1, clipped with a warning; NaN becomes silence. The
    shape is (frames, 2), (2, frames), or (frames,) with any number of further axes of length 1.
    Raises CannotLog for invalid input; the message names the tag and the argument.
    """
    rate = as_number(sample_rate, tag, "sample_rate")
    if not 1 <= rate <= _HIGHEST_RATE:
        fact = f"expected 1 to {_HIGHEST_RATE} samples per second"
        raise CannotLog(refuse(tag, "sample_rate", sample_rate, fact))
    samples = _as_samples(value, tag)
    frames, channels = samples.shape
    file = io.BytesIO()
    with wave.open(file, "wb") as clip:
        clip.setnchannels(channels)
        clip.setsampwidth(2)
        clip.setframerate(rate)
        clip.writeframes(samples.tobytes())
    return value_encoding.audio(tag, rate, channels, frames, file.getvalue())


def _as_samples(value: Any, tag: str) -> NDArray[np.int16]:
    """Return the samples with shape (frames, channels), in WAV byte order."""
    array = as_real(value, tag, "snd_tensor")
    if not array.size:
        raise CannotLog(refuse(tag, "snd_tensor", value, f"it is empty, with shape {array.shape}"))
    if array.size == max(array.shape, default=1):
        array = array.reshape(-1, 1)
    elif array.ndim == 2 and array.shape[0] == 2 < array.shape[1]:
        array = array.T
    if array.ndim != 2 or array.shape[1] > 2:
        fact = f"its shape is {array.shape}; expected (frames,), (frames, 2) or (2, frames)"
        raise CannotLog(refuse(tag, "snd_tensor", value, fact))
    if array.dtype == np.int16:
        return array.astype("<i2")
    # In float16, 1 would become 32768, which does not fit in int16.
    array = array.astype(np.promote_types(array.dtype, np.float32))
    if np.isnan(array).any():
        warn_about(tag, "snd_tensor", "contains NaN, which is logged as silence")
        array[np.isnan(array)] = 0
    if np.abs(array).max() > 1:
        warn_about(tag, "snd_tensor", "has values outside -1 to 1, which were clipped")
        array = array.clip(-1, 1)
    samples: NDArray[np.int16] = (array * array.dtype.type(32767)).astype("<i2")
    return samples
