"""A table for a notebook, with the pictures in it drawn small."""

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
# A notebook keeps all that it shows.
_PICTURES = 60
_BYTES = 2_000_000


class _Cell:
    """A picture that is drawn only if pandas shows its row; until then a word that nobody logs."""

    def __init__(self, picture: Any, shown: list[Any], word: str) -> None:
        self._picture = picture
        self._shown = shown
        self._word = word

    def __str__(self) -> str:
        self._shown.append(self._picture)
        return f"{self._word}{len(self._shown) - 1}."

    __repr__ = __str__


def show_html(table: pd.DataFrame, render: Callable[[pd.DataFrame], str | None]) -> str | None:
    """What pandas shows of a table, with the first pictures in it as thumbnails."""
    shown: list[Any] = []
    # Short, because pandas cuts what is long; and nothing that a log could hold.
    word = f"~{os.urandom(4).hex()}."
    drawn = {}
    for number, dtype in enumerate(table.dtypes):
        cells = table.iloc[:, number].tolist() if dtype.kind == "O" else []
        if any(_is_picture(cell) for cell in cells):
            drawn[number] = [
                _Cell(cell, shown, word) if _is_picture(cell) else cell for cell in cells
            ]
    if not drawn:
        return render(table)
    copy = table.copy(deep=False)
    for number, cells in drawn.items():
        copy.isetitem(number, cells)
    html = render(copy)
    return html and _draw(html, word, shown)


def _draw(html: str, word: str, shown: list[Any]) -> str:
    """Put pictures in the place of words, as long as there is room."""
    count = spent = 0

    def draw(found: re.Match[str]) -> str:
        nonlocal count, spent
        picture = shown[int(found[1])]
        if count >= _PICTURES or spent >= _BYTES:
            return escape(repr(picture))
        cell = _thumbnail(picture)
        count += 1
        spent += len(cell)
        return cell

    return re.sub(re.escape(word) + r"(\d+)\.", draw, html)


def _is_picture(cell: object) -> bool:
    return isinstance(cell, Image) or is_pil(type(cell))


def _thumbnail(picture: Any) -> str:
    title = escape(repr(picture) if isinstance(picture, Image) else "{}x{}".format(*picture.size))
    try:
        small = (picture.pil() if isinstance(picture, Image) else picture).copy()
        if small.mode not in ("1", "L", "RGB", "RGBA"):
            small = small.convert("RGBA" if "transparency" in small.info else "RGB")
        small.thumbnail((_PIXELS, _PIXELS))
    except (ValueError, OSError) as error:  # such as boxes whose picture is another one
        return f"{title}: {escape(str(error))}"
    source = b64encode(as_png(small)).decode("ascii")
    return f'<img src="data:image/png;base64,{source}" alt="{title}" title="{title}">'
