"""Figures of matplotlib as pixels, left as they were."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._log.writer.convert import refuse
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from numpy.typing import NDArray


def draw_figures(figures: Any, tag: str, close: bool) -> NDArray[np.uint8]:
    """The pixels of a figure, (height, width, 3), or of a list of them with one axis more.

    With `close`, pyplot forgets the figures, if they are its own. Raises
    CannotLog, and closes none, where one is no figure or sizes differ in a list.
    """
    from matplotlib.figure import Figure

    several = list(figures) if isinstance(figures, list | tuple) else [figures]
    if not several or not all(isinstance(one, Figure) for one in several):
        raise CannotLog(refuse(tag, "figure", figures, "a matplotlib Figure or a list is meant"))
    pictures = [_draw(figure) for figure in several]
    if len({picture.shape for picture in pictures}) > 1:
        sizes = ", ".join(f"{one.shape[1]} x {one.shape[0]}" for one in pictures)
        raise CannotLog(refuse(tag, "figure", figures, f"in a list all have one size, not {sizes}"))
    # Figures that pyplot made have imported it; importing it for others would
    # choose a backend, which may need a display.
    pyplot = sys.modules.get("matplotlib.pyplot")
    if close and pyplot is not None:
        for figure in several:
            pyplot.close(figure)
    return np.stack(pictures) if isinstance(figures, list | tuple) else pictures[0]


def _draw(figure: Any) -> NDArray[np.uint8]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    shown_on = figure.canvas
    try:
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
    finally:
        # A figure that stays open in a window is still drawn there.
        figure.set_canvas(shown_on)
