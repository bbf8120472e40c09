"""Conversion of arrays to images: any axis order, uint8 or 0 to 1, single or batched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events import value_encoding
from runfold._events.kinds.image import as_png
from runfold._log.writer.convert import as_real, refuse, warn_about
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

# Images per row in a grid.
_COLUMNS = 8


def as_image(
    value: Any, tag: str, argument: str = "img_tensor", dataformats: str = "CHW"
) -> Pixels:
    """Return an image, or a batch as one grid, with shape (height, width, 2 to 4 channels).

    `dataformats` gives the order of the axes: H, W, and optionally C and N. For a list of images,
    it can be the order of a single image. uint8 is stored unchanged; other numbers range from 0 to
    1 and are clipped. A single channel is repeated three times, as in torch; the second of two
    channels is alpha. NaN becomes black, with a warning. Raises CannotLog for invalid input; the
    message names the tag and the argument.
    """
    array, axes = arrange(value, tag, argument, dataformats, ("HW", "HWC", "NHW", "NHWC"))
    if "C" not in axes:
        array = array[..., None]
    channels = array.shape[-1]
    if channels not in (1, 2, 3, 4):
        fact = f"it has {channels} channels instead of 1 to 4; {_explain(axes)}"
        raise CannotLog(refuse(tag, argument, value, fact))
    pixels = as_bytes(array, tag, argument)
    if channels == 1:
        pixels = np.repeat(pixels, 3, axis=-1)
    return np.ascontiguousarray(_lay_out(pixels) if pixels.ndim == 4 else pixels)


def arrange(
    value: Any, tag: str, argument: str, dataformats: Any, orders: Sequence[str]
) -> tuple[NDArray[Any], str]:
    """Return the array, transposed to a matching order of axes, and its original order.

    An order matches if it has the same letters as `dataformats`. Raises CannotLog if none matches,
    or if the array is empty.
    """
    array = as_real(value, tag, argument)
    given = dataformats.upper() if isinstance(dataformats, str) else ""
    if isinstance(value, list | tuple) and array.ndim == len(given) + 1:
        given = f"N{given}"
    order = next((order for order in orders if sorted(order) == sorted(given)), None)
    if order is None:
        fact = f"expected {' or '.join(orders)}, in any order"
        raise CannotLog(refuse(tag, "dataformats", dataformats, fact))
    if array.ndim != len(order):
        fact = f"its shape is {array.shape}, but {_explain(given)}"
        raise CannotLog(refuse(tag, argument, value, fact))
    if not array.size:
        raise CannotLog(refuse(tag, argument, value, f"it is empty, with shape {array.shape}"))
    return array.transpose([given.index(letter) for letter in order]), given


def as_bytes(array: NDArray[Any], tag: str, argument: str) -> Pixels:
    """Return numbers from 0 to 1 as uint8, rounded and clipped as in torch; uint8 is unchanged."""
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind in "iu" and array.max() > 1:
        # As in torch, only uint8 ranges up to 255; in other integer types, all values above 1 are
        # white.
        warn_about(tag, argument, f"is {array.dtype} and was clipped to 1; pass uint8 for 0 to 255")
    with np.errstate(over="ignore"):  # values too large for float32 are clipped too
        scaled = array.astype(np.float32) * np.float32(255)
    if np.isnan(scaled).any():
        warn_about(tag, argument, "contains NaN, which is drawn black")
        scaled[np.isnan(scaled)] = 0
    return scaled.clip(0, 255).astype(np.uint8)


def encode_image(tag: str, pixels: Pixels) -> bytes:
    """Return the `Summary.Value` of an image, as a PNG file."""
    import PIL.Image

    height, width, channels = pixels.shape
    return value_encoding.image(tag, height, width, channels, as_png(PIL.Image.fromarray(pixels)))


def _lay_out(batch: Pixels) -> Pixels:
    """Return a grid of all images in a batch, eight per row, padded with black."""
    count, height, width, channels = batch.shape
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    cells = np.zeros((rows * columns, height, width, channels), np.uint8)
    cells[:count] = batch
    grid = cells.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, channels)


def _explain(dataformats: str) -> str:
    names = {"N": "batch", "T": "frames", "C": "channels", "H": "height", "W": "width"}
    axes = ", ".join(names[letter] for letter in dataformats.upper())
    return f"dataformats='{dataformats.upper()}' means ({axes})"
