"""Arrays as pictures: any order of axes, numbers from 0 to 1 or bytes, one or a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold.errors import CannotLog
from runfold.events import values
from runfold.events.kinds.image import as_png
from runfold.log.arrays import as_array, refuse, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Pixels = NDArray[np.uint8]

# As many pictures of a batch stand side by side.
_COLUMNS = 8


def as_picture(
    value: Any, tag: str, argument: str = "img_tensor", dataformats: str = "CHW"
) -> Pixels:
    """The pixels of an array, or of a batch as one grid: (height, width, 3 or 4).

    `dataformats` names the axes: H, W, C and N in any order, C and N where there
    are such. Bytes are taken as they are; other numbers reach from 0 to 1, and
    what lies beyond is clipped. A single channel becomes three equal ones, as
    torch does it. NaN becomes black, with a warning. Raises CannotLog, which
    names the tag and the argument.
    """
    array = arrange(value, tag, argument, dataformats, ("HW", "HWC", "NHWC"))
    if array.ndim == 2:
        array = array[:, :, None]
    channels = array.shape[-1]
    if channels not in (1, 3, 4):
        fact = f"it has {channels} channels, and pictures have 1, 3 or 4; {_explain(dataformats)}"
        raise CannotLog(refuse(tag, argument, value, fact))
    pixels = as_bytes(array, tag, argument)
    if channels == 1:
        pixels = np.repeat(pixels, 3, axis=-1)
    return np.ascontiguousarray(_lay_out(pixels) if pixels.ndim == 4 else pixels)


def arrange(
    value: Any, tag: str, argument: str, dataformats: Any, orders: Sequence[str]
) -> NDArray[Any]:
    """The array with its axes in that of the orders which has the same letters.

    Raises CannotLog for axes that do not fit, and for an array without elements.
    """
    given = dataformats.upper() if isinstance(dataformats, str) else ""
    order = next((order for order in orders if sorted(order) == sorted(given)), None)
    if order is None:
        known = " or ".join(orders)
        raise CannotLog(refuse(tag, "dataformats", dataformats, f"it is {known}, in any order"))
    array = as_array(value, tag, argument)
    if array.ndim != len(order):
        fact = f"its shape is {array.shape}; {_explain(given)}"
        raise CannotLog(refuse(tag, argument, value, fact))
    if not array.size:
        raise CannotLog(refuse(tag, argument, value, f"it is empty, of shape {array.shape}"))
    if array.dtype.kind == "c":
        raise CannotLog(refuse(tag, argument, value, "its numbers are complex"))
    return array.transpose([given.index(letter) for letter in order])


def as_bytes(array: NDArray[Any], tag: str, argument: str) -> Pixels:
    """Numbers from 0 to 1 as bytes, rounded and clipped as torch does it; bytes as they are."""
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind in "iu" and array.max() > 1:
        # Only bytes count to 255, in torch too; where others do, all is white.
        tell(tag, argument, f"is {array.dtype} and clipped at 1; give uint8 for 0 to 255")
    with np.errstate(over="ignore"):  # float64 beyond float32 is clipped like all else
        scaled = array.astype(np.float32) * np.float32(255)
    if np.isnan(scaled).any():
        tell(tag, argument, "holds NaN, which is drawn black")
        scaled[np.isnan(scaled)] = 0
    return scaled.clip(0, 255).astype(np.uint8)


def encode_picture(tag: str, pixels: Pixels) -> bytes:
    """The `Summary.Value` of a picture, as a PNG file."""
    import PIL.Image

    height, width, channels = pixels.shape
    return values.image(tag, height, width, channels, as_png(PIL.Image.fromarray(pixels)))


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
