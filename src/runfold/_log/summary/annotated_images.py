"""Images with bounding boxes, drawn for TensorBoard and stored as data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events import value_encoding
from runfold._events.kinds.boxes import Boxes, Mask
from runfold._events.kinds.image import as_png
from runfold._humanize import utf8
from runfold._log.summary.box_drawing import PALETTE, choose_color, draw_boxes
from runfold._log.summary.pixels import encode_image
from runfold._log.writer.convert import as_array, as_number, as_real, refuse, warn_about
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


def encode_boxes(
    tag: str,
    pixels: NDArray[np.uint8],
    box_tensor: Any,
    rescale: Any = 1,
    labels: Any = None,
    scores: Any = None,
    colors: Any = None,
    masks: Any = None,
) -> list[bytes]:
    """Return two `Summary.Value` messages: the drawn image, and the boxes as data.

    See `add_media.add_image_with_boxes` for the arguments, and `_events.kinds.boxes` for the
    stored data. Boxes with a NaN or infinite corner are left out, with a warning. Raises CannotLog
    for invalid input; the message names the tag and the argument.
    """
    import PIL.Image

    if pixels.shape[2] == 2:  # expand gray to RGB, for colored lines
        pixels = pixels[:, :, [0, 0, 0, 1]]
    height, width = pixels.shape[:2]
    positions = _as_boxes(box_tensor, tag)
    names = _as_labels(labels, tag, len(positions))
    numbers = _as_scores(scores, tag, len(positions))
    areas = _as_masks(masks, tag, (len(positions), height, width))
    colors = _as_colors(colors, tag, names, len(positions))
    is_drawn = np.asarray(np.isfinite(positions).all(axis=1))
    if not is_drawn.all():
        count = f"{(~is_drawn).sum()} of {len(positions)}"
        fact = f"contains boxes with a NaN or infinite corner; {count} were left out"
        warn_about(tag, "box_tensor", fact)
        positions, colors = positions[is_drawn], colors[is_drawn]
        names = names and tuple(compress(names, is_drawn))
        numbers = None if numbers is None else numbers[is_drawn]
        areas = None if areas is None else areas[is_drawn]

    bare, factors = _resize(pixels, rescale, tag)
    drawn = draw_boxes(
        bare,
        positions * np.tile(factors, 2),
        [tuple(color) for color in colors],
        _caption(names, numbers, len(positions)),
        [_fit(area, bare) for area in areas] if areas is not None else (),
    )
    content = Boxes(
        width,
        height,
        positions,
        tuple("#{:02x}{:02x}{:02x}".format(*color) for color in colors),
        names,
        numbers,
        None if areas is None else tuple(map(Mask.of, areas)),
    )
    difference = as_png(PIL.Image.fromarray(bare - drawn))
    return [encode_image(tag, drawn), value_encoding.boxes(tag, content, difference)]


def _resize(
    pixels: NDArray[np.uint8], rescale: Any, tag: str
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """Return the resized image, and its scale factors in x and y."""
    import PIL.Image

    height, width = pixels.shape[:2]
    factor = as_number(rescale, tag, "rescale")
    if not math.isfinite(factor) or int(factor * min(height, width)) < 1:
        fact = f"an image of {width} x {height} pixels would get an invalid size"
        raise CannotLog(refuse(tag, "rescale", rescale, fact))
    size = int(width * factor), int(height * factor)
    if size == (width, height):
        return pixels, np.ones(2)
    resized = PIL.Image.fromarray(pixels).resize(size, PIL.Image.Resampling.LANCZOS)
    return np.asarray(resized), np.array(size) / (width, height)


def _fit(area: NDArray[np.bool_], image: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return a mask resized to the size of the image."""
    rows, columns = (
        np.arange(target) * source // target
        for source, target in zip(area.shape, image.shape, strict=False)
    )
    resized: NDArray[np.bool_] = area[rows[:, None], columns]
    return resized


def _as_boxes(value: Any, tag: str) -> NDArray[np.float64]:
    """Return boxes with shape (count, 4). A single box can be a list of four numbers.

    Further columns, such as scores and classes, are ignored, as in torch.
    """
    array = as_real(value, tag, "box_tensor")
    if array.size == 0:
        return np.empty((0, 4))
    if array.ndim not in (1, 2) or array.shape[-1] < 4:
        fact = f"its shape is {array.shape}; expected rows of x1, y1, x2, y2"
        raise CannotLog(refuse(tag, "box_tensor", value, fact))
    return array[..., :4].reshape(-1, 4).astype(np.float64)


def _as_labels(value: Any, tag: str, count: int) -> tuple[str, ...] | None:
    if value is None:
        return None
    try:
        entries = [value] if isinstance(value, str) else list(value)
    except TypeError:
        raise CannotLog(refuse(tag, "labels", value, "expected one label per box")) from None
    if len(entries) != count:
        # Not an error: torch also draws the boxes without labels, and without a warning.
        warn_about(
            tag, "labels", f"has {len(entries)} labels for {count} boxes; no labels are drawn"
        )
        return None
    names = (str(entry.item() if hasattr(entry, "item") else entry) for entry in entries)
    return tuple(map(utf8, names))


def _as_scores(value: Any, tag: str, count: int) -> NDArray[np.float64] | None:
    if value is None:
        return None
    array = as_array(value, tag, "scores").reshape(-1)
    if len(array) != count or array.dtype.kind == "c":
        fact = f"expected one score for each of {count} boxes"
        raise CannotLog(refuse(tag, "scores", value, fact))
    return array.astype(np.float64)


def _as_masks(value: Any, tag: str, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Return masks with shape (count, height, width), without torchvision's channel axis."""
    if value is None:
        return None
    array = as_array(value, tag, "masks")
    if array.ndim == 4 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != shape and not (array.size == 0 and shape[0] == 0):
        fact = f"its shape is {array.shape}; expected {shape}, one mask of the image's size per box"
        raise CannotLog(refuse(tag, "masks", value, fact))
    inside: NDArray[np.bool_] = array > 0.5 if array.dtype.kind == "f" else array != 0
    return inside.reshape(shape)


def _as_colors(
    value: Any, tag: str, labels: tuple[str, ...] | None, count: int
) -> NDArray[np.uint8]:
    """Return the RGB color of each box: the given color, or else one chosen by label."""
    names = labels if labels is not None else [None] * count
    chosen: list[Any] = [PALETTE[0] if name is None else choose_color(name) for name in names]
    if isinstance(value, str):
        chosen = [value] * count
    elif isinstance(value, Mapping):
        chosen = [value.get(name, color) for name, color in zip(names, chosen, strict=True)]
    elif value is not None:
        chosen = list(value) if hasattr(value, "__iter__") else []
        if len(chosen) != count:
            fact = f"expected one color for each of {count} boxes"
            raise CannotLog(refuse(tag, "colors", value, fact))
    return np.array([_as_color(color, tag) for color in chosen], np.uint8).reshape(-1, 3)


def _as_color(value: Any, tag: str) -> Sequence[int]:
    """Return RGB from a name, "#rrggbb", integers up to 255 or floats up to 1."""
    import PIL.ImageColor

    if isinstance(value, str):
        try:
            return PIL.ImageColor.getrgb(value)[:3]
        except ValueError:
            fact = "unknown color; expected one such as 'red' or '#ff0000'"
            raise CannotLog(refuse(tag, "colors", value, fact)) from None
    array = as_array(value, tag, "colors")
    scaled = array * 255 if array.dtype.kind == "f" else array
    if (
        array.shape != (3,)
        or array.dtype.kind == "c"
        or not ((scaled >= 0) & (scaled <= 255)).all()
    ):
        fact = "expected red, green and blue: integers up to 255, or floats up to 1"
        raise CannotLog(refuse(tag, "colors", value, fact))
    return [round(float(channel)) for channel in scaled]


def _caption(
    labels: tuple[str, ...] | None, scores: NDArray[np.float64] | None, count: int
) -> list[tuple[str, str]]:
    names = labels if labels is not None else [""] * count
    numbers = [""] * count if scores is None else [f"{score:.2f}" for score in scores.tolist()]
    return list(zip(names, numbers, strict=True))
