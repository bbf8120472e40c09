"""The figure that is handed out, which keeps its looks wherever it is drawn.

Imported only where a figure is made, because matplotlib takes its time.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context  # noqa: TID253
from matplotlib.figure import Figure  # noqa: TID253
from matplotlib.ticker import Formatter, LogFormatterSciNotation  # noqa: TID253

from runfold._plot.theme import DPI, FILES, STYLE, shorten_numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.backend_bases import RendererBase

# A file made twice is the same file.
_UNDATED: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None},
    "svg": {"Date": None},
    "svgz": {"Date": None},
}


class CurveFigure(Figure):
    """A figure apart from pyplot and the global settings, which shows itself in a notebook.

    It is a matplotlib Figure in all else: change what you like of it.
    """

    def draw(self, renderer: RendererBase) -> None:
        """Draw, in the same style in which the figure was made.

        Matplotlib makes the marks of the axes not before they are drawn, and
        takes their sizes from the settings of that moment.
        """
        with rc_context(STYLE):
            super().draw(renderer)

    def savefig(self, fname: Any, **options: Any) -> None:
        """Save as matplotlib does, with fonts that print and without a date."""
        suffix = str(options.get("format") or str(fname).rpartition(".")[2]).lower()
        given = {"dpi": DPI, "metadata": _UNDATED.get(suffix)}
        with rc_context(STYLE | FILES):
            super().savefig(fname, **(given | options))

    def _repr_png_(self) -> bytes:
        """What a notebook shows where pyplot is not set up to do it."""
        shown = io.BytesIO()
        self.savefig(shown, format="png", dpi=self.dpi)
        return shown.getvalue()


class NumberFormatter(Formatter):
    """Labels of an axis as short as they can be told apart: 5k, 10k."""

    def format_ticks(self, values: Sequence[float]) -> list[str]:
        """All labels at once."""
        return shorten_numbers(values)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """One number, as where a mouse points."""
        return f"{x:g}"


class LogNumberFormatter(LogFormatterSciNotation):
    """Labels of a log axis: powers of ten, but 0.6 and 0.8 where it spans a decade or less."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """One label, empty for a mark that goes without."""
        label = str(super().__call__(x, pos))
        low, high = sorted(self.axis.get_view_interval())  # type: ignore[union-attr]
        is_plain = low >= 1e-4 and high <= min(10 * low, 1e6)
        return f"{x:g}" if label and is_plain else label
