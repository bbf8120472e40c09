"""The style of figures: colors for color-blind readers, sizes and fonts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from runfold._humanize import escape
from runfold._labels import Labels, label_names

if TYPE_CHECKING:
    from collections.abc import Sequence

# In inches; as wide as a column of a paper, so that a figure is printed at its original size.
PANEL = (3.5, 2.6)
DPI = 300
# The resolution of a good printer over the width of a page.
COLUMNS = 4000

LINE_WIDTH = 1.1
BAND_ALPHA = 0.2
LONGEST_NAME = 40
LONGEST_AXIS = 32
# Longer labels are broken into lines.
LONGEST_LINE = 48

# The eight colors of Okabe and Ito. Darker ones come first, and yellow, which is weak on
# white, comes last.
OKABE_ITO = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#F0E442",
)
Dashes = Literal["-", "--", ":", "-."]
DASHES: tuple[Dashes, ...] = ("-", "--", ":", "-.")

# Markers replace line styles in figures where dashed means fewer runs.
MARKERS = ("", "s", "^", "D")
MARKER_SIZE = 3.5
# The distance between two markers on a line, as a share of the panel's diagonal.
MARKER_DISTANCE = 0.12

FEWER_DASHES = (0, (1.8, 1.2))

# Shown in a panel that has nothing to draw.
NOTHING = "No finite values."

GRAY = "#444444"
STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": GRAY,
    "axes.facecolor": "white",
    "axes.grid": True,
    "axes.labelcolor": "black",
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "axes.unicode_minus": True,
    "axes.xmargin": 0.02,
    "axes.ymargin": 0.05,
    "figure.facecolor": "white",
    "figure.titlesize": 9,
    "font.family": ["DejaVu Sans"],
    "font.size": 8,
    "grid.alpha": 1.0,
    "grid.color": "#E6E6E6",
    "grid.linestyle": "-",
    "grid.linewidth": 0.5,
    "legend.columnspacing": 1.5,
    "legend.edgecolor": "none",
    "legend.facecolor": "white",
    "legend.fontsize": 7,
    "legend.framealpha": 0.8,
    "legend.title_fontsize": 7,
    "lines.solid_capstyle": "round",
    "text.color": "black",
    "text.usetex": False,
    "xtick.color": GRAY,
    "xtick.labelcolor": "black",
    "xtick.labelsize": 7,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.6,
    "xtick.minor.size": 1.5,
    "xtick.minor.width": 0.4,
    "ytick.color": GRAY,
    "ytick.labelcolor": "black",
    "ytick.labelsize": 7,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.6,
    "ytick.minor.size": 1.5,
    "ytick.minor.width": 0.4,
}
# TrueType text in a PDF can still be edited. Text in an SVG is drawn as paths, so that it
# looks the same without the font.
FILES: dict[Any, Any] = {
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "runfold",
}


@dataclass(frozen=True, slots=True)
class Look:
    """The color, line style and marker of a line."""

    color: str
    dashes: Dashes = "-"
    marker: str = ""


def choose_looks(
    groups: Sequence[str],
    statistics: Sequence[str],
    *,
    has_fewer: bool = False,
    first: int = 0,
) -> dict[tuple[str, str], Look]:
    """Return a distinct look for each statistic of each group.

    Each group has a color and each statistic a line style; the statistics of a single
    group have colors instead. If there are more groups than colors, groups also have
    line styles. More than 24 groups take their colors from a color map, in order.

    With `has_fewer`, a dashed part of a line means fewer runs, so lines are solid and
    markers replace line styles.

    `first` is the number of colors to skip. After the last color, the first one is used again.
    """
    if len(groups) == 1:
        looks = _color(len(statistics), len(DASHES), has_fewer, first)
        return {(groups[0], name): look for name, look in zip(statistics, looks, strict=True)}
    if len(statistics) == 1:
        looks = _color(len(groups), 3, has_fewer, first)
        return {(group, statistics[0]): look for group, look in zip(groups, looks, strict=True)}
    return {
        (group, name): _style(look.color, number, has_fewer)
        for group, look in zip(groups, _color(len(groups), 1, has_fewer, first), strict=True)
        for number, name in enumerate(statistics)
    }


def _color(count: int, styles: int, has_fewer: bool, first: int) -> list[Look]:
    most = len(OKABE_ITO) * styles
    if count <= most:
        indices = (divmod((first + number) % most, len(OKABE_ITO)) for number in range(count))
        return [_style(OKABE_ITO[color], style, has_fewer) for style, color in indices]
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    # Leave out the yellow end, which is weak on white.
    shades = colormaps["viridis"]
    return [Look(to_hex(shades(0.92 * number / (count - 1)))) for number in range(count)]


def _style(color: str, number: int, has_fewer: bool) -> Look:
    """Return a look with this color, and the line style or marker at this index."""
    number %= len(DASHES)
    return Look(color, marker=MARKERS[number]) if has_fewer else Look(color, DASHES[number])


def show_name(name: str, size: int = LONGEST_NAME) -> str:
    """Return a name as a label; a long name loses its middle.

    More of the end is kept, because it distinguishes `sweep-3/lr-0.1` from similar names.
    """
    head = size // 3
    return escape(name if len(name) <= size else f"{name[:head]}…{name[head + 1 - size :]}")


def show_names(names: Sequence[str], size: int = LONGEST_NAME, drop_folder: bool = False) -> Labels:
    """Return names as distinct labels, shortened by `label_names`.

    If names have too little in common for that, they are shortened in the middle, provided
    that they stay distinct.
    """
    labels = label_names(names, size, drop_folder)
    if len(labels.shown) > 1 and labels.width <= size:
        return labels
    cut = {name: show_name(name, size) for name in names}
    return Labels("", cut) if len(set(cut.values())) == len(cut) else labels


def shorten_numbers(values: Sequence[float]) -> list[str]:
    """Return numbers as uniform tick labels, with the fewest digits that keep them distinct.

    [0, 5000, 10000]  ->  ["0", "5k", "10k"]
    """
    largest = max(map(abs, values), default=0.0)
    size, unit = next(((s, u) for least, s, u in _UNITS if least <= largest < 1e15), (1.0, ""))
    scaled = [value / size for value in values]
    shown: list[str] = []
    for digits in range(4, 18):
        shown = [f"{value:.{digits}g}" for value in scaled]
        if len(set(shown)) == len(set(values)):
            break
    if not any("e" in text for text in shown):
        decimals = max((len(text.partition(".")[2]) for text in shown), default=0)
        shown = [f"{value:.{decimals}f}" for value in scaled]
    if unit:
        shown = [text + unit if value else "0" for text, value in zip(shown, values, strict=True)]
    return [text.replace("-", "−") for text in shown]


# The smallest value for which a unit is used, the unit's size and its symbol. Numbers
# below 10,000 have no unit.
_UNITS = ((1e12, 1e12, "T"), (1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))
