"""Conversion of matplotlib figures to pixels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._log.writer.convert import refuse
from runfold.errors import CannotLog

if TYPE_CHECKING:
    from numpy.typing import NDArray


def draw_figures(figures: Any, tag: str, close: bool) -> NDArray[np.uint8]:
    """Return a figure's pixels with shape (height, width, 3); a list of figures adds an axis.

    If `close` is set, also closes the figures that pyplot created. Raises CannotLog, and closes no
    figure, if an item is not a figure or the sizes in a list differ.
    """
    from matplotlib.figure import Figure

    several = list(figures) if isinstance(figures, list | tuple) else [figures]
    if not several or not all(isinstance(figure, Figure) for figure in several):
        reason = "expected a matplotlib Figure or a list of them"
        raise CannotLog(refuse(tag, "figure", figures, reason))
    images = [_draw(figure) for figure in several]
    if len({image.shape for image in images}) > 1:
        sizes = ", ".join(f"{image.shape[1]} x {image.shape[0]}" for image in images)
        reason = f"figures in a list must have the same size, got {sizes}"
        raise CannotLog(refuse(tag, "figure", figures, reason))
    # If pyplot created a figure, pyplot has been imported. Importing it for other figures would
    # choose a backend, which may need a display.
    pyplot = sys.modules.get("matplotlib.pyplot")
    if close and pyplot is not None:
        for figure in several:
            pyplot.close(figure)
    return np.stack(images) if isinstance(figures, list | tuple) else images[0]


def _draw(figure: Any) -> NDArray[np.uint8]:
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    original_canvas = figure.canvas
    try:
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()
    finally:
        # Restore the canvas, so that a figure open in a window is still drawn there.
        figure.set_canvas(original_canvas)
