"""A table for a notebook, with thumbnails of its images."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING, Any

from runfold._events.kinds.image import Image, as_png
from runfold._tables.frames.column_values import is_pil

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

_PIXELS = 96
# Limits, because a notebook file stores all its output.
_PICTURES = 60
_BYTES = 2_000_000


class _Cell:
    """An image that is drawn only if pandas shows its row; a placeholder until then."""

    def __init__(self, picture: Any, shown: list[Any], placeholder: str) -> None:
        self._picture = picture
        self._shown = shown
        self._placeholder = placeholder

    def __str__(self) -> str:
        self._shown.append(self._picture)
        return f"{self._placeholder}{len(self._shown) - 1}."

    __repr__ = __str__


def show_html(table: pd.DataFrame, render: Callable[[pd.DataFrame], str | None]) -> str | None:
    """Return a table's HTML as rendered by pandas, with thumbnails of the first images."""
    shown: list[Any] = []
    # Short, because pandas truncates long cells; random, so that no log can contain it.
    placeholder = f"~{os.urandom(4).hex()}."
    drawn = {}
    for number, dtype in enumerate(table.dtypes):
        cells = table.iloc[:, number].tolist() if dtype.kind == "O" else []
        if any(_is_picture(cell) for cell in cells):
            drawn[number] = [
                _Cell(cell, shown, placeholder) if _is_picture(cell) else cell for cell in cells
            ]
    if not drawn:
        return render(table)
    copy = table.copy(deep=False)
    for number, cells in drawn.items():
        copy.isetitem(number, cells)
    html = render(copy)
    return html and _draw(html, placeholder, shown)


def _draw(html: str, placeholder: str, shown: list[Any]) -> str:
    """Replace placeholders by images, up to the limits."""
    count = spent = 0

    def draw(match: re.Match[str]) -> str:
        nonlocal count, spent
        picture = shown[int(match[1])]
        if count >= _PICTURES or spent >= _BYTES:
            return escape(repr(picture))
        cell = _thumbnail(picture)
        count += 1
        spent += len(cell)
        return cell

    return re.sub(re.escape(placeholder) + r"(\d+)\.", draw, html)


def _is_picture(cell: object) -> bool:
    return isinstance(cell, Image) or is_pil(type(cell))


def _thumbnail(picture: Any) -> str:
    title = escape(repr(picture) if isinstance(picture, Image) else "{}x{}".format(*picture.size))
    try:
        small = (picture.pil() if isinstance(picture, Image) else picture).copy()
        if small.mode not in ("1", "L", "RGB", "RGBA"):
            small = small.convert("RGBA" if "transparency" in small.info else "RGB")
        small.thumbnail((_PIXELS, _PIXELS))
    except (ValueError, OSError) as error:  # such as boxes that do not match their image
        return f"{title}: {escape(str(error))}"
    source = b64encode(as_png(small)).decode("ascii")
    return f'<img src="data:image/png;base64,{source}" alt="{title}" title="{title}">'
