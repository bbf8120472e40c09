"""Values in the format and precision of `tf.summary`, for frameworks that log with TensorFlow."""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events import value_encoding
from runfold._events.kinds.image import as_png
from runfold._events.message import put_message
from runfold._humanize import escape
from runfold._log.masking.masking import mask_output
from runfold._log.masking.secret_names import MASK, is_secret
from runfold._log.summary.histogram_buckets import finite_numbers
from runfold._log.summary.pixels import as_bytes
from runfold._log.writer.convert import as_array, as_number, as_real, refuse
from runfold._log.writer.guard import guarded
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._log.track.tracker import Tracker

_BUCKETS = 30
# The field of `Summary.Value` that holds the metadata.
_METADATA_FIELD = 9


# The first parameter is named `self` because `guarded` reports errors to it, as for a method.
@guarded
def log_histogram(self: Tracker, tag: str, values: Any, step: Any, buckets: Any = None) -> None:
    """Log a histogram with buckets of equal width, by default 30.

    NaN and infinite values are left out, with one warning per tag.
    """
    count = _BUCKETS if buckets is None else int(as_number(buckets, tag, "num_buckets"))
    if count < 1:
        raise CannotLog(refuse(tag, "num_buckets", buckets, "expected a positive number"))
    numbers, left_out = finite_numbers(values, tag)
    rows = _count_by_width(numbers, count)
    self.add_value(tag, value_encoding.histogram_tensor(tag, rows), step)
    if left_out:
        self._event_writer.checks.warn_once(
            tag,
            f"Tag '{escape(tag)}': {left_out:,} of the values are NaN or infinite. They were left "
            "out; further ones for this tag are not reported.",
        )


@guarded
def log_images(self: Tracker, tag: str, images: Any, step: Any) -> None:
    """Log a batch of images, shape (images, height, width, 1 to 4), as separate images of one tag.

    uint8 values range from 0 to 255, all others from 0 to 1. NaN is drawn black.
    """
    from PIL import Image

    array = as_real(images, tag, "images")
    if array.ndim != 4 or array.shape[-1] not in (1, 2, 3, 4) or not array.size:
        fact = f"expected shape (images, height, width, 1 to 4), got {array.shape}"
        raise CannotLog(refuse(tag, "images", images, fact))
    pixels = _as_pixels(array, tag)
    _, height, width, channels = pixels.shape
    if channels == 1:
        pixels = pixels[..., 0]
    files = [as_png(Image.fromarray(np.ascontiguousarray(image))) for image in pixels]
    self.add_value(tag, value_encoding.image_tensor(tag, width, height, files), step)


@guarded
def log_audio_clips(self: Tracker, tag: str, clips: Any, step: Any, sample_rate: Any) -> None:
    """Log a batch of audio clips, shape (clips, frames, channels), as separate clips of one tag.

    Samples range from -1 to 1. NaN becomes silence.
    """
    rate = int(as_number(sample_rate, tag, "sample_rate"))
    array = as_real(clips, tag, "audios")
    if array.ndim != 3 or not array.size:
        fact = f"expected shape (clips, frames, channels), got {array.shape}"
        raise CannotLog(refuse(tag, "audios", clips, fact))
    files = [_encode_wav(samples, rate) for samples in _as_samples(array)]
    self.add_value(tag, value_encoding.audio_tensor(tag, files), step)


@guarded
def log_text(self: Tracker, tag: str, text: Any, step: Any) -> None:
    """Log a string, or an array of strings as a table, with secrets replaced by `***`."""
    array = np.asarray(text, dtype=object)
    masked = [MASK if is_secret(tag, str(cell)) else mask_output(str(cell)) for cell in array.flat]
    cells = np.array(masked, dtype=object).reshape(array.shape)
    self.add_value(tag, value_encoding.text(tag, cells), step)


@guarded
def log_tensor(self: Tracker, tag: str, value: Any, step: Any, metadata: Any = None) -> None:
    """Log an array with any metadata: a `SummaryMetadata` message, or its bytes."""
    is_text = isinstance(value, str | bytes) or getattr(value, "dtype", None) == np.object_
    array = np.asarray(value, dtype=object) if is_text else as_array(value, tag, "values")
    message = value_encoding.tensor(tag, array)
    if metadata is not None:
        data = metadata if isinstance(metadata, bytes) else metadata.SerializeToString()
        message += put_message(_METADATA_FIELD, data)
    self.add_value(tag, message, step)


def _count_by_width(numbers: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return one row `left edge, right edge, count` per bucket."""
    low, high = numbers.min(), numbers.max()
    if low == high:
        edges = np.full(count + 1, low)
        counts = np.append(np.zeros(count - 1), numbers.size)
    else:
        edges = np.linspace(low, high, count + 1)
        with np.errstate(over="ignore", invalid="ignore"):
            indices = np.floor((numbers - low) / ((high - low) / count))
        # A range that is too wide for a float64 results in NaN.
        indices = np.nan_to_num(indices).clip(0, count - 1).astype(np.int64)
        counts = np.bincount(indices, minlength=count)
    return np.stack([edges[:-1], edges[1:], counts], axis=1)


def _as_pixels(array: NDArray[Any], tag: str) -> NDArray[np.uint8]:
    """Return the numbers as uint8. Floats are rounded as in `tf.image.convert_image_dtype`."""
    if array.dtype.kind in "iu":
        return as_bytes(array, tag, "images")
    with np.errstate(over="ignore"):
        scaled = array.astype(np.float32) * np.float32(255.5)
    pixels: NDArray[np.uint8] = np.fmin(np.fmax(scaled, 0), 255).astype(np.uint8)  # NaN becomes 0
    return pixels


def _as_samples(array: NDArray[Any]) -> NDArray[np.int16]:
    """Return samples from -1 to 1 as 16-bit numbers, rounded half away from zero."""
    scaled = np.nan_to_num(array.astype(np.float32), nan=0).clip(-1, 1) * np.float32(1 << 15)
    rounded = np.copysign(np.floor(np.abs(scaled) + np.float32(0.5)), scaled)
    samples: NDArray[np.int16] = rounded.clip(-(1 << 15), (1 << 15) - 1).astype("<i2")
    return samples


def _encode_wav(samples: NDArray[np.int16], rate: int) -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as clip:
        clip.setnchannels(samples.shape[1])
        clip.setsampwidth(2)
        clip.setframerate(rate)
        clip.writeframes(samples.tobytes())
    return file.getvalue()
