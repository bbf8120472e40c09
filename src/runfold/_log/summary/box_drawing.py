"""Drawing of boxes, masks and captions, legible at any image size."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    import PIL.ImageDraw
    from numpy.typing import NDArray

    Color = tuple[int, int, int]
    Rectangle = tuple[float, float, float, float]

# Distinct colors, none too dark or too pale for a photograph.
PALETTE = (
    "#ff4040",
    "#3296ff",
    "#ffb400",
    "#32cd5a",
    "#c864ff",
    "#00d2dc",
    "#ff7d28",
    "#ff69b4",
    "#a5e11e",
    "#b4783c",
    "#5a6eff",
    "#f5eb46",
    "#14a08c",
    "#d7b4ff",
    "#e61e8c",
    "#82e6aa",
    "#ffaa96",
    "#96a5b4",
    "#8c46e6",
    "#c8d2ff",
)
_OPACITY = 0.45
_SMALLEST_FONT = 10

# The palette index of each label seen in this process; at most one label per color.
_indices: dict[str, int] = {}


def choose_color(label: str) -> str:
    """Return the color of a label, unique in this process while the palette lasts.

    The choice depends on the label, so that most labels keep their color in other runs.
    """
    size = len(PALETTE)
    # Adjacent class numbers get different colors.
    is_number = label.isdecimal() and len(label) < 10
    preferred = (int(label) if is_number else zlib.crc32(label.encode())) % size
    if label not in _indices:
        taken = set(_indices.values())
        if len(taken) == size:
            return PALETTE[preferred]
        _indices[label] = next(
            index for step in range(size) if (index := (preferred + step) % size) not in taken
        )
    return PALETTE[_indices[label]]


def draw_boxes(
    pixels: NDArray[np.uint8],
    boxes: NDArray[np.float64],
    colors: Sequence[Color],
    captions: Sequence[tuple[str, str]],
    masks: Sequence[NDArray[np.bool_]] = (),
) -> NDArray[np.uint8]:
    """Return a copy of the image with masks, then boxes, then captions drawn on it.

    Boxes and masks are in pixels of the image. A caption is a label and a score; either can be
    empty. The first box is on top, because detectors return the best boxes first. A caption is
    omitted if it would overlap an earlier one.
    """
    import PIL.Image
    import PIL.ImageDraw

    drawn = pixels.copy()
    for mask, color in reversed(list(zip(masks, colors, strict=False))):
        blend = drawn[mask][:, :3] * (1 - _OPACITY) + np.array(color) * _OPACITY
        drawn[mask, :3] = np.rint(blend).astype(np.uint8)
    image = PIL.Image.fromarray(drawn)
    draw = PIL.ImageDraw.Draw(image)
    height, width = pixels.shape[:2]
    # PIL does not support coordinates far outside the image.
    limit = np.array([width, height, width, height], np.float64)
    rectangles = [_sort(box) for box in np.clip(boxes, -limit, 2 * limit)]
    thickness = max(1, round(min(width, height) / 200))
    for rectangle, color in reversed(list(zip(rectangles, colors, strict=True))):
        draw.rectangle(rectangle, outline=color, width=thickness)
    tabs = _Tabs(draw, (width, height))
    for rectangle, color, caption in zip(rectangles, colors, captions, strict=True):
        tabs.add(rectangle, color, caption)
    return np.asarray(image)


def _sort(box: NDArray[np.float64]) -> Rectangle:
    """Return left, top, right and bottom, whatever the order of the two corners."""
    x1, y1, x2, y2 = box.tolist()
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


class _Tabs:
    """Draws captions on tabs in the colors of their boxes, without overlaps."""

    def __init__(self, draw: PIL.ImageDraw.ImageDraw, size: tuple[int, int]) -> None:
        from PIL import ImageFont

        # Scaled with the image, so that captions stay legible if a large image is scaled down.
        points = max(_SMALLEST_FONT, round(max(size) / 45))
        font: Any = ImageFont.load_default(points)
        self._font = font
        self._margin = max(1, round(points / 6))
        self._tall = sum(font.getmetrics()) + self._margin
        self._draw, self._size = draw, size
        self._taken = np.empty((0, 2))

    def add(self, rectangle: Rectangle, color: Color, caption: tuple[str, str]) -> None:
        """Draw a caption above, inside or below its box; omit it if there is no room."""
        text = self._shorten(caption, self._size[0] - 2 * self._margin)
        wide = self._font.getlength(text) + 2 * self._margin
        at = self._find_room(rectangle, wide) if text else None
        if at is None:
            return
        left, top = at
        corner = left + wide - 1, top + self._tall - 1
        self._draw.rectangle((left, top, *corner), fill=color)
        red, green, blue = color
        is_bright = 0.299 * red + 0.587 * green + 0.114 * blue > 140
        ink = (0, 0, 0) if is_bright else (255, 255, 255)
        spot = left + self._margin, top + self._margin / 2
        self._draw.text(spot, text, fill=ink, font=self._font)

    def _find_room(self, rectangle: Rectangle, wide: float) -> tuple[float, float] | None:
        """Return the left and top coordinates of the first free position, or None."""
        width, height = self._size
        left = max(0.0, min(rectangle[0], width - wide))
        tall = self._tall
        for top in (rectangle[1] - tall, rectangle[1], rectangle[3] - tall, rectangle[3]):
            if not 0 <= top <= height - tall:
                continue
            spot = np.array([[left, top], [left + wide, top + tall]])
            others = self._taken.reshape(-1, 2, 2)
            overlaps = (others[:, 0] < spot[1]) & (spot[0] < others[:, 1])
            if not overlaps.all(axis=1).any():
                self._taken = np.concatenate([self._taken, spot])
                return left, top
        return None

    def _shorten(self, caption: tuple[str, str], room: float) -> str:
        """Return the label and the score, shortened to fit; the label is shortened first."""
        label, score = escape(caption[0], 60), caption[1]
        text = f"{label} {score}".strip()
        while label and self._font.getlength(text) > room:
            label = label[:-1]
            text = f"{label}… {score}".rstrip() if label else score
        return text if self._font.getlength(text) <= room else ""
