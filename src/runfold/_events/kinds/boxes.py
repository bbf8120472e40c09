"""Boxes and masks on images, stored as data next to the image they are drawn on.

This is Runfold's own kind. `SummaryWriter.add_image_with_boxes` writes one event with
two values: the image with everything drawn on it, under its tag, for TensorBoard;
and a tensor of two strings under `runfold/boxes/<tag>`, which TensorBoard ignores.
The first string is JSON, with sizes and positions in pixels of the original image:

    {"width": 640, "height": 480, "boxes": [[x1, y1, x2, y2], ...],
     "colors": ["#rrggbb", ...], "labels": [...], "scores": [...],
     "masks": [{"size": [480, 640], "counts": [...]}, ...]}

Each list has one entry per box. The lists after `boxes` can be missing, and a score can
be null. A mask consists of run lengths that alternate between pixels outside and inside,
column by column, as in COCO's uncompressed masks. The second string is a PNG file: the
original image minus the drawn one, modulo 256, which is nearly all zeros.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._conventions import BOXES_PREFIX
from runfold._events.kinds import stored_value
from runfold._events.kinds.image import MAX_PIXELS, Image, as_png

if TYPE_CHECKING:
    from numpy.typing import NDArray

PLUGIN = "runfold_boxes"
_COLOR = "#ff4040"


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """The pixels of an object: run lengths that alternate between outside and inside, by column."""

    width: int
    height: int
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, inside: NDArray[np.bool_]) -> Mask:
        """Return the mask for an array of shape (height, width)."""
        flat = inside.ravel(order="F")
        turns = np.flatnonzero(flat[1:] != flat[:-1]) + 1
        counts = np.diff(turns, prepend=0, append=flat.size)
        height, width = inside.shape
        return cls(width, height, np.insert(counts, 0, 0) if flat[:1].any() else counts)

    def numpy(self) -> NDArray[np.bool_]:
        """Return the mask as an array of shape (height, width)."""
        inside = np.arange(len(self.counts)) % 2 == 1
        return np.repeat(inside, self.counts).reshape((self.height, self.width), order="F")


@dataclass(frozen=True, slots=True, eq=False)
class Boxes:
    """The boxes on one image, with their labels, scores and masks.

    `boxes` has one row `x1, y1, x2, y2` per box, in pixels of an image of this
    width and height. `labels`, `scores` and `masks` are None if missing.
    """

    width: int
    height: int
    boxes: NDArray[np.float64]
    colors: tuple[str, ...]
    labels: tuple[str, ...] | None = None
    scores: NDArray[np.float64] | None = None
    masks: tuple[Mask, ...] | None = None

    def __len__(self) -> int:
        return len(self.boxes)


def encode(boxes: Boxes) -> str:
    """Return the boxes as JSON."""
    entries: dict[str, Any] = {
        "width": boxes.width,
        "height": boxes.height,
        "boxes": boxes.boxes.tolist(),
        "colors": boxes.colors,
    }
    if boxes.labels is not None:
        entries["labels"] = boxes.labels
    if boxes.scores is not None:
        # JSON has no NaN, and browsers reject it.
        entries["scores"] = [
            score if np.isfinite(score) else None for score in boxes.scores.tolist()
        ]
    if boxes.masks is not None:
        entries["masks"] = [
            {"size": [mask.height, mask.width], "counts": mask.counts.tolist()}
            for mask in boxes.masks
        ]
    return json.dumps(entries, separators=(",", ":"), ensure_ascii=False)


def decode(value: bytes) -> Boxes:
    """Return the boxes in a value. Raises ValueError if the value is malformed."""
    entries = _parse(_strings(value)[0])
    width, height = (_size(entries.get(name)) for name in ("width", "height"))
    corners = entries.get("boxes")
    if not isinstance(corners, list):
        raise ValueError("the value has no list of boxes")
    count = len(corners)
    colors = _column(entries, "colors", count)
    labels = _column(entries, "labels", count)
    scores = _column(entries, "scores", count)
    masks = _column(entries, "masks", count)
    return Boxes(
        width,
        height,
        _numbers(corners, "boxes", (count, 4)),
        tuple(map(str, colors or [_COLOR] * count)),
        None if labels is None else tuple(map(str, labels)),
        None if scores is None else _numbers(scores, "scores", (count,)),
        None if masks is None else tuple(_mask(mask, width, height) for mask in masks),
    )


def tag_of(tag: str) -> str:
    """Return the tag of the image that the boxes under a tag belong to."""
    return tag.removeprefix(BOXES_PREFIX)


def restore(value: bytes, drawn: bytes) -> bytes:
    """Return the image without drawings as PNG, given the value and the image with drawings.

    Raises ValueError if the two do not match.
    """
    import PIL.Image

    difference, pixels = _pixels(_strings(value)[1]), _pixels(drawn)
    if difference.shape != pixels.shape:
        raise ValueError(
            f"the boxes were drawn on an image of shape {difference.shape}, not {pixels.shape}"
        )
    return as_png(PIL.Image.fromarray(pixels + difference))


def _strings(value: bytes) -> tuple[bytes, bytes]:
    array = stored_value.tensor_of(stored_value.parse(value), "boxes")
    if array.dtype != object or array.shape != (2,):
        raise ValueError(f"expected two strings as boxes, got {stored_value.describe(array)}")
    return array[0], array[1]


def _parse(text: bytes) -> dict[str, Any]:
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the boxes are not JSON: {error}") from None
    if not isinstance(entries, dict):
        raise ValueError("the boxes are not a JSON object")
    return entries


def _column(entries: dict[str, Any], name: str, count: int) -> list[Any] | None:
    column = entries.get(name)
    if column is not None and (not isinstance(column, list) or len(column) != count):
        raise ValueError(f"{name} must have {count} entries, one per box")
    return column


def _numbers(entries: list[Any], name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    try:
        numbers = np.array(entries, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} are not numbers") from None
    if shape[0] and numbers.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {numbers.shape}")
    return numbers.reshape(shape)


def _size(entry: Any) -> int:
    if not isinstance(entry, int) or not 0 <= entry < 1 << 31:
        raise ValueError("the width or height of the image is not a valid size")
    return entry


def _mask(entry: Any, width: int, height: int) -> Mask:
    if not isinstance(entry, dict) or entry.get("size") != [height, width]:
        raise ValueError(f"a mask does not have the image's size, {width} x {height}")
    if width * height > MAX_PIXELS:
        raise ValueError(f"a mask claims to have {width} x {height} pixels")
    counts = entry.get("counts")
    if not isinstance(counts, list) or not all(
        isinstance(count, int) and 0 <= count <= MAX_PIXELS for count in counts
    ):
        raise ValueError("the counts of a mask are not pixel counts")
    if sum(counts) != width * height:
        raise ValueError(f"the counts of a mask do not add up to {width} x {height}")
    return Mask(width, height, np.array(counts, np.int64))


def _pixels(data: bytes) -> NDArray[np.uint8]:
    image = Image(0, 0, lambda: data)
    if image.problem is not None:
        raise ValueError(image.problem)
    pixels = image.numpy()
    return pixels.astype(np.uint8, copy=False)
