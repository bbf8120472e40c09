"""Decodes images and audio clips to the same arrays as TensorFlow, without TensorFlow."""

from __future__ import annotations

import io
import wave
from typing import TYPE_CHECKING

import numpy as np

from runfold._events.kinds.audio import decode_wave
from runfold._events.kinds.image import open_image

if TYPE_CHECKING:
    import PIL.Image
    from numpy.typing import NDArray

# PIL modes with the same arrays as `tf.image.decode_image`, except for the last axis.
_MODES = {"L", "LA", "RGB", "RGBA"}


def decode_image(data: bytes) -> NDArray[np.uint8]:
    """Return pixels as (height, width, channels), or (frames, height, width, 3) for a GIF.

    The number of channels is that of the file: 1 for gray, 2 for gray with alpha, 3
    for RGB, or 4 for RGBA. For 16-bit channels, the upper 8 bits are kept. Raises
    ValueError if the data is not an image, or if the image is very large.
    """
    image, problem = open_image(data)
    if problem is not None:
        raise ValueError(problem)
    if image.format == "GIF":
        return np.stack(_frames(image))
    return _pixels(image)


def _frames(image: PIL.Image.Image) -> list[NDArray[np.uint8]]:
    from PIL import ImageSequence

    try:
        return [np.asarray(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]
    except (OSError, SyntaxError, EOFError) as error:
        raise ValueError(f"the animation cannot be decoded: {error}") from None


def _pixels(image: PIL.Image.Image) -> NDArray[np.uint8]:
    if image.mode.startswith("I"):  # 16-bit gray
        return (np.asarray(image) >> 8).astype(np.uint8)[..., None]
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    elif image.mode == "1":
        image = image.convert("L")
    elif image.mode not in _MODES:
        image = image.convert("RGB")
    pixels: NDArray[np.uint8] = np.asarray(image)
    return pixels[..., None] if pixels.ndim == 2 else pixels


def decode_audio(data: bytes) -> tuple[int, NDArray[np.float32]]:
    """Return the sample rate and the samples of a PCM WAV clip, with shape (frames, channels).

    Samples are at least -1 and below 1. Raises ValueError for other formats.
    """
    rate, samples = decode_wave(data)
    if samples.dtype == np.uint8:
        return rate, (samples / 128 - 1).astype(np.float32)
    with wave.open(io.BytesIO(data)) as reader:  # 3-byte samples are decoded as int32
        scale = 2.0 ** (8 * reader.getsampwidth() - 1)
    return rate, (samples / scale).astype(np.float32)
