"""The content of a figure, independent of how it is drawn: panels of lines with bands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import did_you_mean, escape, human_count
from runfold._plot.fewer_runs import (
    DASH,
    PLAIN,
    check_style,
    count_runs,
    explain_fewer,
    find_changes,
    find_fewer,
)
from runfold._plot.smoothing import smooth
from runfold._plot.theme import LONGEST_AXIS, show_name, show_names
from runfold._reduce.bands import (
    Band,
    choose_band,
    explain_stray_edges,
    find_centers,
    find_stray_edges,
    list_bands,
)
from runfold._select import select
from runfold.errors import RunfoldError, UnknownStatistic

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from runfold._reduce.folded import Curve, Folded

NO_BAND = "none"
MOST_PANELS = 60
MOST_GROUPS = 100

# Each unit's size and name, and the smallest number for it; below that, a smaller unit is used.
_DAY = 86400.0
_UNITS = ((_DAY, "d", 2), (3600.0, "h", 2), (60.0, "min", 2), (1.0, "s", 0))


@dataclass(frozen=True, slots=True, eq=False)
class Stroke:
    """A line of one group, and the edges of the band around it, if any.

    Points that are not drawn are NaN: gaps, and values that a log axis cannot show.
    `fewer` is a mask of the points with fewer runs, or None if there are none or they
    are not shown. `marks` is a mask of the points where the number of runs changes.
    """

    group: str
    statistic: str
    x: NDArray[np.int64] | NDArray[np.float64]
    y: NDArray[np.float64]
    lower: NDArray[np.float64] | None = None
    upper: NDArray[np.float64] | None = None
    fewer: NDArray[np.bool_] | None = None
    marks: NDArray[np.bool_] | None = None

    def start_at(self, first: int) -> Stroke:
        """Return the stroke from this point to the end."""
        kept: dict[str, Any] = {}
        for name in ("x", "y", "lower", "upper", "fewer", "marks"):
            values = getattr(self, name)
            kept[name] = None if values is None else values[first:]
        return replace(self, **kept)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One tag, with the label of its axis.

    `floor` is where a band is cut off if it continues below a log axis.
    """

    tag: str
    label: str
    strokes: list[Stroke]
    floor: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Several panels, and the text that they share.

    Attributes:
        panels: one per tag.
        groups: the label of each group by name, such as `lr=0.1 (n=5)`, on one line and
            distinct from all others.
        statistics: the statistics that are drawn as lines.
        caption: the folder that is left out of the labels, and a description of the line
            and band, such as `mean ± std, smoothed 0.6`.
        x: the x-axis, as in Folded.
        x_label: the label of the x-axis.
        log_x, log_y: which axes are logarithmic.
        notes: sentences on what is not drawn.
    """

    panels: list[Panel]
    groups: dict[str, str]
    statistics: list[str]
    caption: str
    x: str
    x_label: str
    log_x: bool
    log_y: bool
    notes: list[str]

    @property
    def has_band(self) -> bool:
        """Whether any band is visible. A single run has none."""
        return any(
            stroke.lower is not None and bool(np.isfinite(stroke.lower).any())
            for panel in self.panels
            for stroke in panel.strokes
        )

    @property
    def has_fewer(self) -> bool:
        """Whether any part of a line is dashed because it has fewer runs."""
        return any(stroke.fewer is not None for panel in self.panels for stroke in panel.strokes)


def make_sheet(
    folded: Folded,
    tags: str | Iterable[str] | None = None,
    *,
    band: str | None = None,
    weight: float = 0.0,
    log_x: bool = False,
    log_y: bool = False,
    fewer_runs: str = DASH,
    max_panels: int = MOST_PANELS,
    max_groups: int = MOST_GROUPS,
) -> Sheet:
    """Return the curves to draw, smoothed, without values that the axes cannot show.

    See `plot_folded` for the options. Raises UnknownTag, UnknownStatistic, and
    RunfoldError if there is nothing to draw or too much.
    """
    check_style(fewer_runs)
    chosen = select(folded.tags, tags)
    if not chosen:
        raise RunfoldError("Nothing to plot: no tag was folded.")
    notes = []
    if len(chosen) > max_panels:
        notes.append(
            f"Only the first {max_panels} of {len(chosen):,} tags are drawn. Choose others by"
            " name or glob (tags=, --tag)."
        )
        chosen = chosen[:max_panels]
    names = [name for name, group in folded.groups.items() if group.curves.keys() & set(chosen)]
    if len(names) > max_groups:
        raise RunfoldError(
            f"{human_count(len(names), 'group')} are too many for one figure; the limit is"
            f" {max_groups}. Draw fewer runs (--where, or runs.where() in Python), group them by"
            " something else (by=, --by), or raise the limit (max_groups=, --max-groups)."
        )
    ring = find_band(folded.statistics, band)
    lines = _lines(folded.statistics, ring, band)
    scale, x_label = _x_axis(folded, chosen)
    panels = []
    for tag, label in show_names(chosen, LONGEST_AXIS).shown.items():
        curves = {name: group.curves.get(tag) for name, group in folded.groups.items()}
        strokes = [
            _show_fewer(_stroke(name, line, curve, ring, weight, scale), curve, fewer_runs)
            for name, curve in curves.items()
            if curve is not None
            for line in lines
        ]
        panels.append(Panel(tag, label, strokes))
    if band is None and (text := explain_stray_edges(folded.statistics)):
        notes.append(text)
    notes += explain_fewer(folded, chosen, fewer_runs)
    if log_x:
        panels = [_without_negative_x(panel, notes) for panel in panels]
    if log_y:
        panels = [_without_negative_y(panel, notes) for panel in panels]
    labels = show_names(names, drop_folder=True)
    groups = {
        name: _name(folded, name, label, chosen, fewer_runs) for name, label in labels.shown.items()
    }
    sheet = Sheet(panels, groups, lines, "", folded.x, x_label, log_x, log_y, notes)
    return replace(sheet, caption=_caption(folded, sheet, ring, weight, labels.folder))


def find_band(statistics: Sequence[str], edge: str | None) -> Band | None:
    """Return the band with this statistic as its edge, or the first band if `edge` is None.

    Raises UnknownStatistic if the statistic was not folded or is not the edge of a band.
    """
    if edge is None or edge == NO_BAND:
        return choose_band(statistics) if edge is None else None
    for band in list_bands(statistics):
        # Around the iqm, "ci95" means "ci95-iqm".
        if {band.lower, band.upper} & {edge, f"{edge}-low", f"{edge}-{band.center}-low"}:
            return band
    known = [name.removesuffix("-low") for name in statistics if not name.endswith("-high")]
    quoted = f"'{escape(edge)}'"
    fact = (
        f"{quoted} is not the edge of a band"
        if edge in known
        else f"Statistic {quoted} was not computed"
    )
    hint = did_you_mean(edge, [name for name in known if name != edge])
    if {edge, f"{edge}-low"} & set(find_stray_edges(statistics)):
        hint = explain_stray_edges([*find_centers(statistics), edge, f"{edge}-low"])
    hint = hint or "A band needs a line and a spread, such as mean and std."
    raise UnknownStatistic(f"{fact}. Available: {', '.join(known)}. {hint}")


def _lines(statistics: Sequence[str], ring: Band | None, edge: str | None) -> list[str]:
    if ring is not None:
        return [ring.center]
    centers, strays = find_centers(statistics), find_stray_edges(statistics)
    if edge == NO_BAND and centers:
        return centers[:1]
    return [name for name in statistics if name not in strays]


def _x_axis(folded: Folded, tags: list[str]) -> tuple[float, str]:
    """Return the divisor of x and its label: seconds become minutes, hours or days.

    Wall times become days since 1970, as matplotlib expects.
    """
    if folded.x == "wall_time":
        return _DAY, "time"
    if folded.x != "relative":
        return 1.0, folded.x
    longest = max(
        (
            float(curve.x[-1])
            for group in folded.groups.values()
            for tag, curve in group.curves.items()
            if tag in tags and len(curve)
        ),
        default=0.0,
    )
    size, unit = next((size, unit) for size, unit, least in _UNITS if longest >= least * size)
    return size, f"relative time ({unit})"


def _stroke(
    group: str, line: str, curve: Curve, ring: Band | None, weight: float, scale: float
) -> Stroke:
    x = curve.x if scale == 1.0 else curve.x / scale
    if ring is None:
        return Stroke(group, line, x, smooth(curve[line], weight))
    # Smooth the edges like the line, so that the band surrounds the smoothed line.
    y, lower, upper = (smooth(values, weight) for values in ring.of(curve))
    return Stroke(group, line, x, y, lower, upper)


def _show_fewer(stroke: Stroke, curve: Curve, fewer_runs: str) -> Stroke:
    fewer = find_fewer(curve)
    if fewer is None or fewer_runs == PLAIN:
        return stroke
    marks = find_changes(curve)
    if fewer_runs == DASH:
        return replace(stroke, fewer=fewer, marks=marks)
    kept: dict[str, Any] = {
        name: np.where(fewer, np.nan, values)
        for name in ("y", "lower", "upper")
        if (values := getattr(stroke, name)) is not None
    }
    return replace(stroke, marks=marks, **kept)


def _without_negative_x(panel: Panel, notes: list[str]) -> Panel:
    strokes = [
        stroke.start_at(int(np.searchsorted(stroke.x, 0, side="right"))) for stroke in panel.strokes
    ]
    lost = sum(map(_points, panel.strokes)) - sum(map(_points, strokes))
    if lost:
        notes.append(_not_drawn(panel.tag, lost, "x"))
    return replace(panel, strokes=strokes)


def _without_negative_y(panel: Panel, notes: list[str]) -> Panel:
    strokes = [replace(stroke, y=_positive(stroke.y)) for stroke in panel.strokes]
    lost = sum(map(_points, panel.strokes)) - sum(map(_points, strokes))
    if lost:
        notes.append(_not_drawn(panel.tag, lost, "y"))
    lowest = [np.nanmin(stroke.y) for stroke in strokes if _points(stroke)]
    # A band can come arbitrarily close to 0. Show only one decade below the lowest line;
    # otherwise, the lines would be squeezed into the top of the panel.
    floor = float(min(lowest, default=1.0)) / 10
    is_cut = False
    for number, stroke in enumerate(strokes):
        if stroke.lower is not None and stroke.upper is not None:
            is_cut = is_cut or bool(np.any(stroke.lower < floor))
            upper = _positive(stroke.upper)
            strokes[number] = replace(stroke, lower=np.maximum(stroke.lower, floor), upper=upper)
    if is_cut:
        notes.append(
            f"The band of '{escape(panel.tag)}' is cut off one decade below the lowest line, to"
            " limit the range of the log y-axis."
        )
    return replace(panel, strokes=strokes, floor=floor if is_cut else None)


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values > 0, values, np.nan)


def _points(stroke: Stroke) -> int:
    return int(np.isfinite(stroke.y).sum())


def _not_drawn(tag: str, count: int, axis: str) -> str:
    verb = "is" if count == 1 else "are"
    values = human_count(count, "value")
    return (
        f"{values} of '{escape(tag)}' {verb} not drawn: a log {axis}-axis can only show values"
        " above 0."
    )


def _name(folded: Folded, group: str, label: str, tags: list[str], fewer_runs: str) -> str:
    """Return a group's label with the number of runs per point, over all tags."""
    if folded.groups[group].runs == (group,):
        return label  # a single run with its own name
    curves = folded.groups[group].curves
    number = count_runs([curves[tag] for tag in tags if tag in curves], fewer_runs)
    if group:
        return f"{label} (n={number})"
    return "1 run" if number == "1" else f"{number} runs"


def _caption(folded: Folded, sheet: Sheet, ring: Band | None, weight: float, folder: str) -> str:
    # The folder that all groups share appears only here.
    parts = [show_name(folder)] if folder else []
    has_several_runs = any(len(group.runs) > 1 for group in folded.groups.values())
    if ring is not None and sheet.has_band:
        parts.append(ring.label)
    elif len(sheet.statistics) == 1 and has_several_runs:
        parts.append(sheet.statistics[0])
    if weight:
        parts.append(f"smoothed {weight:g}")
    if sheet.has_fewer:
        parts.append("dashed: fewer runs")
    return ", ".join(parts)
