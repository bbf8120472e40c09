"""Subclasses of matplotlib's classes: a figure that keeps its style, legend entries, tick labels.

Imported only when a figure is created, because matplotlib is slow to import.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context  # noqa: TID253
from matplotlib.container import Container  # noqa: TID253
from matplotlib.figure import Figure  # noqa: TID253
from matplotlib.ticker import Formatter, LogFormatterSciNotation  # noqa: TID253

from runfold._plot.theme import DPI, FILES, STYLE, shorten_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.backend_bases import RendererBase

# Without a date, the same figure always produces the same file.
_UNDATED: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "svgz": {"Date": None},
}


class CurveFigure(Figure):
    """A figure that does not use pyplot or global settings, and displays itself in a notebook.

    Otherwise it is a normal matplotlib Figure, which you can change as you like.
    """

    def draw(self, renderer: RendererBase) -> None:
        """Draw the figure in the style in which it was made.

        Matplotlib creates ticks only when it draws them, with the settings at that moment.
        """
        with rc_context(STYLE):
            super().draw(renderer)

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save as matplotlib does, but with printable fonts and without a date."""
        suffix = str(options.get("format") or str(fname).rpartition(".")[2]).lower()
        defaults = {"dpi": DPI, "metadata": _UNDATED.get(suffix)}
        with rc_context(STYLE | FILES):
            super().savefig(fname, **(defaults | options))

    def _repr_png_(self) -> bytes:
        """Return the picture for a notebook in which pyplot is not set up."""
        picture = io.BytesIO()
        self.savefig(picture, format="png", dpi=self.dpi)
        return picture.getvalue()


class LegendEntry(Container):
    """A legend entry that stays in the caller's axes, so that later drawings list it too.

    Matplotlib's own `ax.legend()` shows it with the same line and band.
    """

    def __init__(self, handles: tuple[Artist, ...], name: str, tag: str, caption: str) -> None:
        super().__init__(handles, label=name)
        self.name = name
        self.tag = tag
        self.caption = caption


class NumberFormatter(Formatter):
    """Tick labels that are as short as possible but distinct: 5k, 10k."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """Return all labels."""
        return shorten_numbers(values)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the text for one number, for example at the mouse pointer's position."""
        return f"{x:g}"


class LogNumberFormatter(LogFormatterSciNotation):
    """Tick labels for a log axis: powers of ten, or values such as 0.6 within one decade."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of one tick, which can be empty."""
        label = str(super().__call__(x, pos))
        low, high = sorted(self.axis.get_view_interval())  # type: ignore[union-attr]
        is_plain = low >= 1e-4 and high <= min(10 * low, 1e6)
        return f"{x:g}" if label and is_plain else label
