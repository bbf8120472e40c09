"""Encoding of videos as animated GIF files."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events import value_encoding
from runfold._log.summary.pixels import arrange, as_bytes
from runfold._log.writer.convert import as_number, refuse
from runfold.errors import CannotLog

if TYPE_CHECKING:
    import PIL.Image
    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

# Frame durations in hundredths of a second. Browsers show frames with a shorter duration for a
# tenth of a second.
_SHORTEST, _LONGEST = 2.0, 65535.0
# GIF limits: 16-bit width and height, and a palette of 256 colors.
_LARGEST = 65535
_COLORS = 256


def encode_video(tag: str, value: Any, fps: Any, dataformats: str = "NTCHW") -> bytes:
    """Return the `Summary.Value` of a video, or of a batch of videos in one grid.

    Numbers have the same ranges as in images. Browsers show at most 50 frames per second; at a
    higher rate the video plays slower, so that no frame is dropped. Frames with up to 256 colors
    are exact. Raises CannotLog for invalid input; the message names the tag and the argument.
    """
    rate = as_number(fps, tag, "fps")
    if not 0 < rate < np.inf:
        raise CannotLog(refuse(tag, "fps", fps, "expected a positive number of frames per second"))
    array, _ = arrange(value, tag, "vid_tensor", dataformats, ("NTCHW",))
    channels = array.shape[2]
    if channels not in (1, 2, 3, 4):
        fact = f"it has {channels} channels; expected 1 to 4"
        raise CannotLog(refuse(tag, "vid_tensor", value, fact))
    frames = _lay_out(as_bytes(array, tag, "vid_tensor"))
    if channels in (2, 4):
        frames = _lay_on_white(frames)
    _, height, width, channels = frames.shape
    if max(height, width) > _LARGEST:
        fact = f"its grid has {width} x {height} pixels; a GIF can have at most 65535 x 65535"
        raise CannotLog(refuse(tag, "vid_tensor", value, fact))
    return value_encoding.image(tag, height, width, channels, encode_gif(frames, rate))


def encode_gif(frames: Pixels, fps: float) -> bytes:
    """Return frames with shape (frames, height, width, 1 or 3) as a GIF file that loops."""
    first, *others = map(_reduce_colors, frames)
    period = min(max(100 / fps, _SHORTEST), _LONGEST)
    # Round the end of each frame, not its duration, so that errors do not add up.
    ends = np.rint(period * np.arange(len(frames) + 1)).astype(np.int64)
    durations = (10 * np.diff(ends)).tolist()
    file = io.BytesIO()
    first.save(file, format="GIF", save_all=True, append_images=others, duration=durations, loop=0)
    return file.getvalue()


def _lay_out(batch: Pixels) -> Pixels:
    """Return a batch of videos as one video with shape (frames, height, width, channels).

    `batch` has the axes (videos, frames, channels, height, width). As in torch, black videos pad
    the batch to a power of two; the grid has as many columns as rows, or twice as many.
    """
    count, length, channels, height, width = batch.shape
    cells = 1 << (count - 1).bit_length()
    rows = 1 << (count.bit_length() - 1) // 2
    grid = np.zeros((cells, length, channels, height, width), np.uint8)
    grid[:count] = batch
    grid = grid.reshape(rows, cells // rows, length, channels, height, width)
    grid = grid.transpose(2, 0, 4, 1, 5, 3)
    return grid.reshape(length, rows * height, cells // rows * width, channels)


def _lay_on_white(frames: Pixels) -> Pixels:
    """Return the frames blended with white: GIF pixels are either opaque or transparent."""
    opacity = frames[..., -1:].astype(np.float32) / 255
    return np.rint(frames[..., :-1] * opacity + 255 * (1 - opacity)).astype(np.uint8)


def _reduce_colors(frame: Pixels) -> PIL.Image.Image:
    import PIL.Image

    if frame.shape[-1] == 1:
        return PIL.Image.fromarray(np.ascontiguousarray(frame[..., 0]))
    image = PIL.Image.fromarray(np.ascontiguousarray(frame))
    if image.getcolors(_COLORS) is None:
        return image.quantize(_COLORS, PIL.Image.Quantize.MEDIANCUT)
    # Build the palette here, because PIL may not choose exactly these colors.
    codes = frame.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    palette, indices = np.unique(codes, return_inverse=True)
    exact = PIL.Image.fromarray(indices.reshape(codes.shape).astype(np.uint8))
    colors = np.stack([palette >> 16 & 255, palette >> 8 & 255, palette & 255], axis=1)
    exact.putpalette(colors.astype(np.uint8).tobytes())
    return exact
