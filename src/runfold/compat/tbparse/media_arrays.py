"""Encoded images and clips as the arrays that TensorFlow's decoders give, without TensorFlow."""

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

# The modes of PIL whose arrays are as `tf.image.decode_image` has them, but for the last axis.
_MODES = {"L", "LA", "RGB", "RGBA"}


def decode_image(data: bytes) -> NDArray[np.uint8]:
    """Pixels as (height, width, channels); of a GIF as (frames, height, width, 3).

    Channels are those of the file: 1 for grey, 2 with alpha, 3 or 4; of 16 bits the
    upper 8 are kept. Raises ValueError for what is no image, or a very large one.
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
        raise ValueError(f"the film cannot be decoded: {error}") from None


def _pixels(image: PIL.Image.Image) -> NDArray[np.uint8]:
    if image.mode.startswith("I"):  # grey of 16 bits
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
    """Sample rate and samples of a PCM WAV clip as (frames, channels), from -1 to below 1.

    Raises ValueError for anything else.
    """
    rate, samples = decode_wave(data)
    if samples.dtype == np.uint8:
        return rate, (samples / 128 - 1).astype(np.float32)
    with wave.open(io.BytesIO(data)) as reader:  # samples of 3 bytes come as int32
        scale = 2.0 ** (8 * reader.getsampwidth() - 1)
    return rate, (samples / scale).astype(np.float32)
