"""The legend of a figure: its entries, and a position where it covers no curve."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from runfold._plot import theme
from runfold._plot.theme import Look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    from runfold._plot.canvas import LegendEntry
    from runfold._plot.panels import Sheet

    Looks = dict[tuple[str, str], Look]
    Entry = tuple[tuple[Artist, ...], str]

# More entries than this would fill the panel.
_MOST_INSIDE = 4
Position = Literal[
    "upper right", "upper left", "lower left", "lower right", "upper center", "lower center"
]
_POSITIONS: tuple[Position, ...] = get_args(Position)
_MARGIN = 3.0  # pixels between the legend and a curve, at 100 dots per inch
# A legend in the caller's axes can push the curves down by up to this share of the height.
_MOST_HEADROOM = 0.6


def add_inside(ax: Axes) -> None:
    """Add the legend to the caller's axes: at a free position, or above the curves.

    The legend lists everything with a label in the axes, including earlier drawings.

    If no position is free, the y-axis grows until the legend fits above the curves. If
    that would take most of the axes, the legend goes next to them.
    """
    captions = {entry.caption for entry in list_recorded(ax)}
    caption = captions.pop() if len(captions) == 1 else ""
    entries = list(zip(*ax.get_legend_handles_labels(), strict=True))
    legend = _make(ax, caption, entries, loc=_POSITIONS[0], alignment="left")
    if _find_position(ax, legend):
        return
    legend.set_loc(_POSITIONS[0])
    box = legend.get_window_extent()
    share = (ax.bbox.y1 - box.y0 + _margin(ax)) / ax.bbox.height
    if share > _MOST_HEADROOM:
        legend.set_loc("upper left")
        legend.set_bbox_to_anchor((1.02, 1.0), transform=ax.transAxes)
        return
    scale = ax.yaxis.get_transform()
    low, high = (float(scale.transform([end])[0]) for end in ax.get_ylim())
    top = scale.inverted().transform([low + (high - low) / (1 - share)])
    ax.set_ylim(top=float(top[0]), auto=None)


def add_to_figure(figure: Figure, sheet: Sheet, looks: Looks, can_grow: bool) -> None:
    """Add the legend to a whole figure: inside its only panel if there is room, otherwise below.

    A legend below the panels adds its height to the figure, if the figure can grow.
    """
    entries = list_entries(sheet, looks)
    if len(sheet.panels) == 1 and len(entries) <= _MOST_INSIDE:
        (ax,) = figure.axes
        legend = _make(ax, sheet.caption, entries, loc=_POSITIONS[0], alignment="left")
        if _find_position(ax, legend):
            return
        legend.remove()
    width, height = figure.get_size_inches()
    columns = _count_columns(entries, width)
    legend = _make(figure, sheet.caption, entries, loc="outside lower center", ncols=columns)
    if can_grow:
        pixels = legend.get_window_extent().height
        figure.set_size_inches(width, height + pixels / figure.dpi)


def list_entries(sheet: Sheet, looks: Looks) -> list[Entry]:
    """Return the legend's entries: the groups, and the statistics if there are several."""
    groups = list(sheet.groups.items())
    first, only = sheet.statistics[0], groups[0][0]
    if len(sheet.statistics) == 1:
        return [(_handle(looks[group, first], sheet), name) for group, name in groups]
    if len(groups) == 1:
        return [(_handle(looks[only, name], sheet), name) for name in sheet.statistics]
    return [(_handle(Look(looks[group, first].color), sheet), name) for group, name in groups] + [
        (_handle(replace(looks[only, name], color=theme.GRAY), sheet), name)
        for name in sheet.statistics
    ]


def record_entries(ax: Axes, sheet: Sheet, looks: Looks) -> None:
    """Add a drawing's entries to the caller's axes, after those of earlier drawings.

    If drawings have different tags, each entry names its tag, and the y-axis has no label.
    The same applies to captions.
    """
    from runfold._plot.canvas import LegendEntry

    (panel,) = sheet.panels
    for handles, name in list_entries(sheet, looks):
        ax.add_container(LegendEntry(handles, name, panel.label, sheet.caption))
    entries = list_recorded(ax)
    has_tags = len({entry.tag for entry in entries}) > 1
    has_captions = len({entry.caption for entry in entries}) > 1
    for entry in entries:
        details = (entry.tag if has_tags else "", entry.caption if has_captions else "")
        entry.set_label(", ".join(filter(None, (entry.name, *details))))
    if has_tags:
        ax.set_ylabel("")


def list_recorded(ax: Axes) -> list[LegendEntry]:
    """Return the entries of all drawings in the caller's axes."""
    from runfold._plot.canvas import LegendEntry

    return [part for part in ax.containers if isinstance(part, LegendEntry)]


def covers(ax: Axes, box: Bbox) -> bool:
    """Return whether a box on the screen overlaps a line, dot or band of the axes."""
    for line in ax.lines:
        path = line.get_path().transformed(line.get_transform())
        if path.intersects_bbox(box, filled=False) or box.count_contains(path.vertices):
            return True
    return any(
        path.transformed(part.get_transform()).intersects_bbox(box)
        for part in ax.collections
        for path in part.get_paths()
    )


def be_literal(text: Text) -> None:
    """Show a name literally: matplotlib could treat a `$` or `_` in a tag as TeX."""
    text.set_parse_math(False)
    text.set_usetex(False)


def _find_position(ax: Axes, legend: Legend) -> bool:
    """Move the legend to a position where it covers nothing; return False if there is none."""
    ax.figure.figure.draw_without_rendering()  # computes the layout
    for position in _POSITIONS:
        legend.set_loc(position)
        box = legend.get_window_extent().padded(_margin(ax))
        if box.width <= ax.bbox.width and box.height <= ax.bbox.height and not covers(ax, box):
            return True
    return False


def _margin(ax: Axes) -> float:
    return _MARGIN * ax.figure.dpi / 100


def _handle(look: Look, sheet: Sheet) -> tuple[Artist, ...]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    line = Line2D(
        [],
        [],
        color=look.color,
        linestyle=look.dashes,
        linewidth=theme.LINE_WIDTH,
        marker=look.marker,
        markersize=theme.MARKER_SIZE,
    )
    band = Patch(color=look.color, alpha=theme.BAND_ALPHA, linewidth=0)
    return (band, line) if sheet.has_band else (line,)


def _count_columns(entries: list[Entry], width: float) -> int:
    """Return how many entries fit next to each other, with an estimated letter width."""
    widest = max((len(name) for _, name in entries), default=0)
    return max(1, int(width / (0.45 + 0.056 * min(widest, theme.LONGEST_LINE))))


def _make(
    parent: Axes | Figure, caption: str, entries: Sequence[tuple[Any, str]], **options: Any
) -> Legend:
    from matplotlib.legend_handler import HandlerTuple

    legend = parent.legend(
        [handle for handle, _ in entries],
        ["\n".join(textwrap.wrap(name, theme.LONGEST_LINE)) for _, name in entries],
        title=caption or None,
        handler_map={tuple: HandlerTuple(ndivide=1, pad=0)},
        **options,
    )
    for text in (*legend.get_texts(), legend.get_title()):
        be_literal(text)
    return legend
