"""Pictures with boxes on them: drawn for TensorBoard, and kept as data."""

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
from runfold._log.summary.box_drawing import PALETTE, choose_colour, draw_boxes
from runfold._log.summary.pixels import encode_picture
from runfold._log.writer.convert import as_array, as_number, as_real, refuse, tell
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
    """Return the two `Summary.Value` of a picture with boxes: drawn, and as data.

    See `add_media.add_image_with_boxes` for the arguments, and `_events.kinds.boxes`
    for what is stored. Boxes with a corner that is NaN or infinite are left out, with a
    warning. Raises CannotLog, which names the tag and the argument.
    """
    import PIL.Image

    if pixels.shape[2] == 2:  # grey and opacity, which take no coloured lines
        pixels = pixels[:, :, [0, 0, 0, 1]]
    height, width = pixels.shape[:2]
    places = _as_boxes(box_tensor, tag)
    names = _as_labels(labels, tag, len(places))
    numbers = _as_scores(scores, tag, len(places))
    areas = _as_masks(masks, tag, (len(places), height, width))
    colours = _as_colours(colors, tag, names, len(places))
    is_drawn = np.asarray(np.isfinite(places).all(axis=1))
    if not is_drawn.all():
        missing = f"{(~is_drawn).sum()} of {len(places)} boxes with a corner that is not finite"
        tell(tag, "box_tensor", f"has {missing}; they are left out")
        places, colours = places[is_drawn], colours[is_drawn]
        names = names and tuple(compress(names, is_drawn))
        numbers = None if numbers is None else numbers[is_drawn]
        areas = None if areas is None else areas[is_drawn]

    bare, factors = _resize(pixels, rescale, tag)
    drawn = draw_boxes(
        bare,
        places * np.tile(factors, 2),
        [tuple(colour) for colour in colours],
        _caption(names, numbers, len(places)),
        [_fit(area, bare) for area in areas] if areas is not None else (),
    )
    content = Boxes(
        width,
        height,
        places,
        tuple("#{:02x}{:02x}{:02x}".format(*colour) for colour in colours),
        names,
        numbers,
        None if areas is None else tuple(map(Mask.of, areas)),
    )
    difference = as_png(PIL.Image.fromarray(bare - drawn))
    return [encode_picture(tag, drawn), value_encoding.boxes(tag, content, difference)]


def _resize(
    pixels: NDArray[np.uint8], rescale: Any, tag: str
) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The picture larger or smaller, and by how much in x and y."""
    import PIL.Image

    height, width = pixels.shape[:2]
    factor = as_number(rescale, tag, "rescale")
    if not math.isfinite(factor) or int(factor * min(height, width)) < 1:
        fact = f"it leaves nothing of {width} x {height} pixels, or too much"
        raise CannotLog(refuse(tag, "rescale", rescale, fact))
    size = int(width * factor), int(height * factor)
    if size == (width, height):
        return pixels, np.ones(2)
    resized = PIL.Image.fromarray(pixels).resize(size, PIL.Image.Resampling.LANCZOS)
    return np.asarray(resized), np.array(size) / (width, height)


def _fit(area: NDArray[np.bool_], picture: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """A mask in the size of the picture that it is drawn into."""
    rows, columns = (
        np.arange(there) * here // there
        for here, there in zip(area.shape, picture.shape, strict=False)
    )
    fitting: NDArray[np.bool_] = area[rows[:, None], columns]
    return fitting


def _as_boxes(value: Any, tag: str) -> NDArray[np.float64]:
    """Return boxes as (count, 4); a single one may be four numbers.

    Further columns, such as scores and classes, are ignored, as in torch.
    """
    array = as_real(value, tag, "box_tensor")
    if array.size == 0:
        return np.empty((0, 4))
    if array.ndim not in (1, 2) or array.shape[-1] < 4:
        fact = f"its shape is {array.shape}; boxes are rows of x1, y1, x2, y2"
        raise CannotLog(refuse(tag, "box_tensor", value, fact))
    return array[..., :4].reshape(-1, 4).astype(np.float64)


def _as_labels(value: Any, tag: str, count: int) -> tuple[str, ...] | None:
    if value is None:
        return None
    try:
        entries = [value] if isinstance(value, str) else list(value)
    except TypeError:
        raise CannotLog(refuse(tag, "labels", value, "one for each box is meant")) from None
    if len(entries) != count:
        # Not refused, because torch goes on without labels too, and says nothing.
        tell(tag, "labels", f"has {len(entries)} for {count} boxes, which are drawn without")
        return None
    names = (str(one.item() if hasattr(one, "item") else one) for one in entries)
    return tuple(map(utf8, names))


def _as_scores(value: Any, tag: str, count: int) -> NDArray[np.float64] | None:
    if value is None:
        return None
    array = as_array(value, tag, "scores").reshape(-1)
    if len(array) != count or array.dtype.kind == "c":
        fact = f"there are {count} boxes, and as many scores are meant"
        raise CannotLog(refuse(tag, "scores", value, fact))
    return array.astype(np.float64)


def _as_masks(value: Any, tag: str, shape: tuple[int, ...]) -> NDArray[np.bool_] | None:
    """Masks as (count, height, width); torchvision has an axis of one channel in between."""
    if value is None:
        return None
    array = as_array(value, tag, "masks")
    if array.ndim == 4 and array.shape[1] == 1:
        array = array[:, 0]
    if array.shape != shape and not (array.size == 0 and shape[0] == 0):
        fact = f"its shape is {array.shape}, not {shape}: a mask of the picture's size for each box"
        raise CannotLog(refuse(tag, "masks", value, fact))
    inside: NDArray[np.bool_] = array > 0.5 if array.dtype.kind == "f" else array != 0
    return inside.reshape(shape)


def _as_colours(
    value: Any, tag: str, labels: tuple[str, ...] | None, count: int
) -> NDArray[np.uint8]:
    """Red, green and blue of each box: as told, or else by label."""
    names = labels if labels is not None else [None] * count
    chosen: list[Any] = [PALETTE[0] if one is None else choose_colour(one) for one in names]
    if isinstance(value, str):
        chosen = [value] * count
    elif isinstance(value, Mapping):
        chosen = [value.get(one, colour) for one, colour in zip(names, chosen, strict=True)]
    elif value is not None:
        chosen = list(value) if hasattr(value, "__iter__") else []
        if len(chosen) != count:
            fact = f"there are {count} boxes, and as many colours are meant"
            raise CannotLog(refuse(tag, "colors", value, fact))
    return np.array([_as_colour(one, tag) for one in chosen], np.uint8).reshape(-1, 3)


def _as_colour(value: Any, tag: str) -> Sequence[int]:
    """A name or #rrggbb as PIL knows them, or three numbers: to 255, or to 1 if they are floats."""
    import PIL.ImageColor

    if isinstance(value, str):
        try:
            return PIL.ImageColor.getrgb(value)[:3]
        except ValueError:
            fact = "no such colour; there are 'red' and '#ff0000'"
            raise CannotLog(refuse(tag, "colors", value, fact)) from None
    array = as_array(value, tag, "colors")
    scaled = array * 255 if array.dtype.kind == "f" else array
    if (
        array.shape != (3,)
        or array.dtype.kind == "c"
        or not ((scaled >= 0) & (scaled <= 255)).all()
    ):
        fact = "a colour is red, green, blue: integers to 255, or floats to 1"
        raise CannotLog(refuse(tag, "colors", value, fact))
    return [round(float(one)) for one in scaled]


def _caption(
    labels: tuple[str, ...] | None, scores: NDArray[np.float64] | None, count: int
) -> list[tuple[str, str]]:
    names = labels if labels is not None else [""] * count
    numbers = [""] * count if scores is None else [f"{score:.2f}" for score in scores.tolist()]
    return list(zip(names, numbers, strict=True))
