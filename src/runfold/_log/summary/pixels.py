"""Arrays as pictures: any order of axes, numbers from 0 to 1 or bytes, one or a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events import value_encoding
from runfold._events.kinds.image import as_png
from runfold._log.writer.convert import as_real, refuse, tell
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

# As many pictures of a batch stand side by side.
_COLUMNS = 8


def as_picture(
    value: Any, tag: str, argument: str = "img_tensor", dataformats: str = "CHW"
) -> Pixels:
    """Return the pixels of an array, or of a batch as one grid: (height, width, 2 to 4).

    `dataformats` names the axes: H, W, and optionally C and N, in any order; of a list
    of pictures, it may be the axes of one. Bytes are stored as they are; other numbers
    range from 0 to 1, and values beyond are clipped. A single channel becomes three
    equal ones, as in torch; of two, the second is opacity. NaN becomes black, with a
    warning. Raises CannotLog, which names the tag and the argument.
    """
    array, axes = arrange(value, tag, argument, dataformats, ("HW", "HWC", "NHW", "NHWC"))
    if "C" not in axes:
        array = array[..., None]
    channels = array.shape[-1]
    if channels not in (1, 2, 3, 4):
        fact = f"it has {channels} channels, and pictures have 1 to 4; {_explain(axes)}"
        raise CannotLog(refuse(tag, argument, value, fact))
    pixels = as_bytes(array, tag, argument)
    if channels == 1:
        pixels = np.repeat(pixels, 3, axis=-1)
    return np.ascontiguousarray(_lay_out(pixels) if pixels.ndim == 4 else pixels)


def arrange(
    value: Any, tag: str, argument: str, dataformats: Any, orders: Sequence[str]
) -> tuple[NDArray[Any], str]:
    """Return the array with its axes in the one of the orders that has the same letters.

    Also returns the axes as given. Raises CannotLog for axes that do not fit, and for an
    array without elements.
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
        fact = f"its shape is {array.shape}; {_explain(given)}"
        raise CannotLog(refuse(tag, argument, value, fact))
    if not array.size:
        raise CannotLog(refuse(tag, argument, value, f"it is empty, of shape {array.shape}"))
    return array.transpose([given.index(letter) for letter in order]), given


def as_bytes(array: NDArray[Any], tag: str, argument: str) -> Pixels:
    """Return numbers from 0 to 1 as bytes, rounded and clipped as in torch; bytes as they are."""
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind in "iu" and array.max() > 1:
        # Only bytes range to 255, in torch too; other integers beyond 1 are all white.
        tell(tag, argument, f"is {array.dtype} and clipped at 1; give uint8 for 0 to 255")
    with np.errstate(over="ignore"):  # float64 beyond float32 is clipped like all else
        scaled = array.astype(np.float32) * np.float32(255)
    if np.isnan(scaled).any():
        tell(tag, argument, "holds NaN, which is drawn black")
        scaled[np.isnan(scaled)] = 0
    return scaled.clip(0, 255).astype(np.uint8)


def encode_picture(tag: str, pixels: Pixels) -> bytes:
    """Return the `Summary.Value` of a picture, as a PNG file."""
    import PIL.Image

    height, width, channels = pixels.shape
    return value_encoding.image(tag, height, width, channels, as_png(PIL.Image.fromarray(pixels)))


def _lay_out(batch: Pixels) -> Pixels:
    """One picture of all in a batch, in rows of eight; what is left of the last row is black."""
    count, height, width, channels = batch.shape
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    places = np.zeros((rows * columns, height, width, channels), np.uint8)
    places[:count] = batch
    grid = places.reshape(rows, columns, height, width, channels).swapaxes(1, 2)
    return grid.reshape(rows * height, columns * width, channels)


def _explain(dataformats: str) -> str:
    names = {"N": "batch", "T": "frames", "C": "channels", "H": "height", "W": "width"}
    axes = ", ".join(names[letter] for letter in dataformats.upper())
    return f"dataformats='{dataformats.upper()}' means ({axes})"
