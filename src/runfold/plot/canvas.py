"""The figure that is handed out, which keeps its looks wherever it is drawn.

Imported only where a figure is made, because matplotlib takes its time.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from matplotlib import rc_context  # noqa: TID253
from matplotlib.figure import Figure  # noqa: TID253
from matplotlib.ticker import Formatter  # noqa: TID253

from runfold.plot.theme import DPI, FILES, STYLE, shorten_numbers

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
