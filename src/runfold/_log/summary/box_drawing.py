"""Boxes, masks and captions drawn into a picture, legible on any size of it."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    import PIL.ImageDraw
    from numpy.typing import NDArray

    Colour = tuple[int, int, int]
    Place = tuple[float, float, float, float]

# Far apart from one another, and none so dark or pale that it is lost in a photograph.
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

# The place in the palette of each label of this process; no more than the palette has.
_places: dict[str, int] = {}


def choose_colour(label: str) -> str:
    """The colour of a label: its own in this process while the palette lasts.

    It depends on the name first, so that it is mostly the same in other runs too.
    """
    size = len(PALETTE)
    # The numbers of neighbouring classes lead to different colours at once.
    is_number = label.isdecimal() and len(label) < 10
    wanted = (int(label) if is_number else zlib.crc32(label.encode())) % size
    if label not in _places:
        taken = set(_places.values())
        if len(taken) == size:
            return PALETTE[wanted]
        _places[label] = next(
            place for step in range(size) if (place := (wanted + step) % size) not in taken
        )
    return PALETTE[_places[label]]


def draw_boxes(
    pixels: NDArray[np.uint8],
    boxes: NDArray[np.float64],
    colours: Sequence[Colour],
    captions: Sequence[tuple[str, str]],
    masks: Sequence[NDArray[np.bool_]] = (),
) -> NDArray[np.uint8]:
    """A copy of the picture with masks, then boxes, then captions drawn into it.

    Boxes and masks are in the picture's own pixels; a caption is a label and a
    score, of which either may be empty. The first box lies on top: detectors give
    the best ones first. A caption that has no place beside those of the boxes
    before it is left out, because neither could be read.
    """
    import PIL.Image
    import PIL.ImageDraw

    drawn = pixels.copy()
    for mask, colour in reversed(list(zip(masks, colours, strict=False))):
        blend = drawn[mask][:, :3] * (1 - _OPACITY) + np.array(colour) * _OPACITY
        drawn[mask, :3] = np.rint(blend).astype(np.uint8)
    picture = PIL.Image.fromarray(drawn)
    draw = PIL.ImageDraw.Draw(picture)
    height, width = pixels.shape[:2]
    # Beyond this nothing is seen, and PIL has no such coordinates.
    limit = np.array([width, height, width, height], np.float64)
    places = [_sort(box) for box in np.clip(boxes, -limit, 2 * limit)]
    thickness = max(1, round(min(width, height) / 200))
    for place, colour in reversed(list(zip(places, colours, strict=True))):
        draw.rectangle(place, outline=colour, width=thickness)
    tabs = _Tabs(draw, (width, height))
    for place, colour, caption in zip(places, colours, captions, strict=True):
        tabs.add(place, colour, caption)
    return np.asarray(picture)


def _sort(box: NDArray[np.float64]) -> Place:
    """Left, top, right, bottom, whichever corners were given."""
    x1, y1, x2, y2 = box.tolist()
    return min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2)


class _Tabs:
    """The captions of a picture, each on a tab of its box's colour, none on another."""

    def __init__(self, draw: PIL.ImageDraw.ImageDraw, size: tuple[int, int]) -> None:
        from PIL import ImageFont

        # In proportion, so that a large picture can be read where it is shown small.
        points = max(_SMALLEST_FONT, round(max(size) / 45))
        font: Any = ImageFont.load_default(points)
        self._font = font
        self._margin = max(1, round(points / 6))
        self._tall = sum(font.getmetrics()) + self._margin
        self._draw, self._size = draw, size
        self._taken = np.empty((0, 2))

    def add(self, place: Place, colour: Colour, caption: tuple[str, str]) -> None:
        """Draw a caption: on the box, or else in it, under it, or not at all."""
        text = self._shorten(caption, self._size[0] - 2 * self._margin)
        wide = self._font.getlength(text) + 2 * self._margin
        at = self._find_room(place, wide) if text else None
        if at is None:
            return
        left, top = at
        corner = left + wide - 1, top + self._tall - 1
        self._draw.rectangle((left, top, *corner), fill=colour)
        red, green, blue = colour
        is_bright = 0.299 * red + 0.587 * green + 0.114 * blue > 140
        ink = (0, 0, 0) if is_bright else (255, 255, 255)
        spot = left + self._margin, top + self._margin / 2
        self._draw.text(spot, text, fill=ink, font=self._font)

    def _find_room(self, place: Place, wide: float) -> tuple[float, float] | None:
        """The left and top of the first spot that is free and in the picture."""
        width, height = self._size
        left = max(0.0, min(place[0], width - wide))
        tall = self._tall
        for top in (place[1] - tall, place[1], place[3] - tall, place[3]):
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
        """Label and score as far as there is room: the label loses its end first."""
        label, score = escape(caption[0], 60), caption[1]
        text = f"{label} {score}".strip()
        while label and self._font.getlength(text) > room:
            label = label[:-1]
            text = f"{label}… {score}".rstrip() if label else score
        return text if self._font.getlength(text) <= room else ""
