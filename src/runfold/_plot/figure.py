"""Figures of folded runs, with one panel per tag and a line and a band per group."""

from __future__ import annotations

import math
import os
import warnings
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._atomic import replace_file
from runfold._humanize import did_you_mean, escape
from runfold._plot import theme
from runfold._plot.legend import (
    add_inside,
    add_to_figure,
    be_literal,
    list_recorded,
    record_entries,
)
from runfold._plot.panels import MOST_GROUPS, Panel, Sheet, Stroke, make_sheet
from runfold._plot.theme import Look
from runfold._plot.thinning import thin
from runfold.errors import UnknownFormat

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from runfold._reduce.folded import Folded

    Looks = dict[tuple[str, str], Look]

_FAR = 1e300
# The label of a line that a legend does not list.
_UNLISTED = "_"


def plot_folded(
    folded: Folded,
    tags: str | Iterable[str] | None = None,
    *,
    band: str | None = None,
    smooth: float = 0.0,
    log_x: bool = False,
    log_y: bool = False,
    ax: Axes | None = None,
    title: str | None = None,
    legend: bool = True,
    size: tuple[float, float] | None = None,
    fewer_runs: str = "dash",
    max_groups: int = MOST_GROUPS,
    stacklevel: int = 2,
) -> Figure:
    """Return a figure with one panel per tag, by name or glob, or draw one tag on `ax`.

    The folded statistics determine each group's line and band: mean and std, median
    and quantiles, or ci95. If several bands are possible, `band` selects one
    ("ci95"); "none" draws no band. Statistics that form no band are drawn as lines.

    `smooth` is the weight of TensorBoard's smoothing, from 0 (none) to below 1. It
    applies to the line and both edges of its band, and the legend mentions it. A log
    axis leaves out non-positive values and shows at most one decade of a band below the
    lowest line, with a warning. NaN is a gap, and an isolated point is a dot.
    Series with very many points are thinned to what is visible in print.

    If some runs of a group ended early, the part with fewer runs is dashed, and a small
    mark shows where their number changes. `fewer_runs="hide"` ends the line there, and
    "plain" draws it like the rest.

    `size` is the size of the whole figure in inches; by default each panel is as wide as
    a column of a paper. The legend does not cover any curve: it is inside the panel if there
    is room, otherwise below it, and the figure grows by its height. pyplot and matplotlib's
    settings are not changed.

    On `ax`, colors continue after the existing lines, and the legend also lists existing
    lines that have a label.

    `stacklevel` is the stack level of warnings: 2 is the caller.

    Raises UnknownTag, UnknownStatistic, and RunfoldError if there are no tags or more
    than `max_groups` groups. If there are very many tags, only the first are drawn, with
    a warning.
    """
    sheet = make_sheet(
        folded,
        tags,
        band=band,
        weight=smooth,
        log_x=log_x,
        log_y=log_y,
        fewer_runs=fewer_runs,
        max_groups=max_groups,
    )
    for text in sheet.notes:
        warnings.warn(text, stacklevel=stacklevel)
    looks = theme.choose_looks(
        list(sheet.groups),
        sheet.statistics,
        has_fewer=sheet.has_fewer,
        first=0 if ax is None else _count_drawn(ax),
    )
    if ax is not None:
        if len(sheet.panels) > 1:
            raise ValueError(f"ax can show one tag, not {len(sheet.panels)}. Omit ax.")
        before = len(ax.lines)
        _draw_panel(ax, sheet, sheet.panels[0], looks)
        for line in ax.lines[before:]:
            line.set_label(_UNLISTED)
        record_entries(ax, sheet, looks)
        if title is not None:
            be_literal(ax.set_title(title))
        if legend:
            add_inside(ax)
        return ax.figure.figure  # the whole figure, if ax is in a subfigure
    return _make_figure(sheet, looks, title, legend, size)


def save_figure(
    figure: Figure,
    path: str | os.PathLike[str],
    overwrite: bool = False,
    dpi: float = theme.DPI,
) -> None:
    """Save a figure. The suffix sets the format: PNG, SVG, PDF or another matplotlib format.

    The file appears only once it is complete. Raises UnknownFormat, and OutputExists for
    an existing file unless `overwrite` is set.
    """
    kind = find_format(path)
    with replace_file(path, overwrite) as file:
        figure.savefig(file, format=kind, dpi=dpi)


def find_format(path: str | os.PathLike[str]) -> str:
    """Return the format of a file's suffix. Raises UnknownFormat, which lists near matches."""
    from matplotlib.backend_bases import FigureCanvasBase

    name = os.fspath(path)
    kind = os.path.splitext(name)[1].removeprefix(".").lower()
    known = FigureCanvasBase.get_supported_filetypes()
    if kind not in known:
        hint = did_you_mean(kind, known) or "Use .png, .svg or .pdf."
        raise UnknownFormat(f"{escape(name)}: unknown picture format '{escape(kind)}'. {hint}")
    return kind


def _make_figure(
    sheet: Sheet,
    looks: Looks,
    title: str | None,
    legend: bool,
    size: tuple[float, float] | None,
) -> Figure:
    from matplotlib import rc_context

    from runfold._plot.canvas import CurveFigure

    count = len(sheet.panels)
    columns = _columns(count)
    rows = math.ceil(count / columns)
    width, height = theme.PANEL[0] * columns, theme.PANEL[1] * rows
    with rc_context(theme.STYLE):
        figure = CurveFigure(figsize=size or (width, height), dpi=150, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False).flat
        for ax, panel in zip(grid, sheet.panels, strict=False):
            _draw_panel(ax, sheet, panel, looks)
        for ax in grid[count:]:
            ax.remove()
        if title is not None:
            be_literal(figure.suptitle(title))
        if legend:
            add_to_figure(figure, sheet, looks, can_grow=size is None)
    return figure


def _columns(count: int) -> int:
    """Return the number of panels per row: 2 for four panels, 4 for more than twelve."""
    if count <= 3:
        return count
    return 2 if count == 4 else 3 if count <= 12 else 4


def _count_drawn(ax: Axes) -> int:
    """Return how many colors the axes already use, in earlier drawings and other lines."""
    others = sum(line.get_label() != _UNLISTED for line in ax.lines)
    return len(list_recorded(ax)) + others


def _draw_panel(ax: Axes, sheet: Sheet, panel: Panel, looks: Looks) -> None:
    if sheet.log_x:
        ax.set_xscale("log")
    if sheet.log_y:
        ax.set_yscale("log")
    for stroke in panel.strokes:
        _draw_stroke(ax, stroke, looks[stroke.group, stroke.statistic], panel.floor)
    if not any(np.isfinite(stroke.y).any() for stroke in panel.strokes):
        ax.text(
            0.5,
            0.5,
            theme.NOTHING,
            ha="center",
            va="center",
            transform=ax.transAxes,
            backgroundcolor="white",
        )
    be_literal(ax.set_xlabel(theme.show_name(sheet.x_label, theme.LONGEST_AXIS)))
    be_literal(ax.set_ylabel(panel.label))
    _set_ticks(ax, sheet)


def _draw_stroke(ax: Axes, stroke: Stroke, look: Look, floor: float | None) -> None:
    x, y, edges, fewer, marks = _visible(stroke, ax.get_xscale() == "log")
    isolated = _find_isolated(y)
    line: dict[str, Any] = {"color": look.color, "linewidth": theme.LINE_WIDTH}
    ax.plot(
        x,
        np.where(_dashed_part(fewer, isolated), np.nan, y),
        look.dashes,
        marker="o" if isolated else None,
        markersize=3,
        markevery=isolated,
        label=stroke.group,
        **line,
    )
    style: dict[str, Any] = {"color": look.color, "alpha": theme.BAND_ALPHA, "zorder": 1.5}
    if fewer.any():
        # Include the neighboring points with all runs, so that the line has no gap.
        near = fewer | np.r_[fewer[1:], False] | np.r_[False, fewer[:-1]]
        ax.plot(x, np.where(near, y, np.nan), linestyle=theme.FEWER_DASHES, label=_UNLISTED, **line)
    if marks.any():
        ax.plot(x[marks], y[marks], "|", color=look.color, markersize=7, label=_UNLISTED)
    if look.marker:
        ax.plot(
            x,
            y,
            look.marker,
            color=look.color,
            markersize=theme.MARKER_SIZE,
            markevery=theme.MARKER_DISTANCE,
            label=_UNLISTED,
        )
    if not edges:
        return
    lower, upper = edges
    band = ax.fill_between(x, lower, upper, linewidth=0, **style)
    if floor is not None:
        band.sticky_edges.y.append(floor)
    single = _find_isolated(lower + upper)
    if single:
        ax.vlines(x[single], lower[single], upper[single], linewidth=4, **style)


def _dashed_part(fewer: NDArray[np.bool_], isolated: list[int]) -> NDArray[np.bool_]:
    """Return a mask of the dashed part of a line; isolated points are always dots."""
    dashed = fewer.copy()
    dashed[isolated] = False
    return dashed


def _visible(
    stroke: Stroke, log_x: bool
) -> tuple[
    NDArray[np.float64],
    NDArray[np.float64],
    list[NDArray[np.float64]],
    NDArray[np.bool_],
    NDArray[np.bool_],
]:
    """Return x, y, edges, fewer and marks, thinned to what is visible in print."""
    x = stroke.x.astype(np.float64)
    nowhere = np.zeros(len(x), np.bool_)
    fewer = nowhere if stroke.fewer is None else stroke.fewer
    marks = nowhere if stroke.marks is None else stroke.marks
    series = [stroke.y, *(edge for edge in (stroke.lower, stroke.upper) if edge is not None)]
    # Matplotlib fails if the distance between two numbers is not a finite float.
    drawn = [
        np.where(np.isfinite(values), np.clip(values, -_FAR, _FAR), np.nan) for values in series
    ]
    kept = thin(np.log(x) if log_x else x, [*drawn, fewer.astype(np.float64)], theme.COLUMNS)
    kept = np.union1d(kept, np.flatnonzero(marks))
    y, *edges = (values[kept] for values in drawn)
    return x[kept], y, edges, fewer[kept], marks[kept]


def _find_isolated(values: NDArray[np.float64]) -> list[int]:
    """Return the indices of points without a neighbor, which a line would not show."""
    known = np.concatenate([[False], np.isfinite(values), [False]])
    isolated: list[int] = np.flatnonzero(known[1:-1] & ~known[:-2] & ~known[2:]).tolist()
    return isolated


def _set_ticks(ax: Axes, sheet: Sheet) -> None:
    from matplotlib import dates
    from matplotlib.ticker import MaxNLocator

    from runfold._plot.canvas import LogNumberFormatter, NumberFormatter

    if sheet.x == "wall_time":
        here = datetime.now().astimezone().tzinfo
        locator = dates.AutoDateLocator(here, minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(dates.ConciseDateFormatter(locator, here))  # type: ignore[no-untyped-call]
    elif not sheet.log_x:
        is_whole = sheet.x == "step"
        least = 1 if is_whole else 2
        ax.xaxis.set_major_locator(
            MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=is_whole, min_n_ticks=least)
        )
        ax.xaxis.set_major_formatter(NumberFormatter())
    if not sheet.log_y:
        ax.yaxis.set_major_formatter(NumberFormatter())
    for axis, is_log in ((ax.xaxis, sheet.log_x), (ax.yaxis, sheet.log_y)):
        if is_log and axis.get_scale() == "log":
            axis.set_major_formatter(LogNumberFormatter())
            axis.set_minor_formatter(LogNumberFormatter(labelOnlyBase=False))
