"""What a figure shows, before anything is drawn: panels of lines with their bands."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._humanize import did_you_mean, escape, human_count
from runfold._plot.fewer_runs import (
    DASH,
    PLAIN,
    check_way,
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
    find_centres,
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

# Below this many of a unit the next smaller one is easier to read.
_DAY = 86400.0
_UNITS = ((_DAY, "d", 2), (3600.0, "h", 2), (60.0, "min", 2), (1.0, "s", 0))


@dataclass(frozen=True, slots=True, eq=False)
class Stroke:
    """A line of one group, and the edges of the band around it, or None.

    What is not to be seen is NaN: gaps, and what a log axis has no place for.
    `fewer` is where fewer runs were folded than elsewhere, None where all were or
    it is not shown; `marks` are the points at which their number changes.
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
        """The stroke without the points before one."""
        kept: dict[str, Any] = {}
        for name in ("x", "y", "lower", "upper", "fewer", "marks"):
            values = getattr(self, name)
            kept[name] = None if values is None else values[first:]
        return replace(self, **kept)


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """One tag, and what it is called next to its axis.

    Where a band goes on below a log axis, `floor` is where it is cut off.
    """

    tag: str
    label: str
    strokes: list[Stroke]
    floor: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Sheet:
    """Several panels, and what is said of all of them.

    Attributes:
        panels: one for each tag.
        groups: how each group is called, by its name: `lr=0.1 (n=5)`; on one line,
            and no two alike.
        statistics: those that are drawn as lines.
        caption: what line and band are: `mean ± std, smoothed 0.6`; first the folder
            that the labels of groups leave out.
        x: what the x-axis is, as in Folded.
        x_label: the same, to be written below it.
        log_x, log_y: which axes are logarithmic.
        notes: what is not drawn, in sentences.
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
        """Whether any band is to be seen; around one run there is none."""
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
    """Choose what to draw, smooth it, and leave out what the axes cannot show.

    See `plot_folded` for the options. Raises UnknownTag, UnknownStatistic, and
    RunfoldError for nothing to draw or too much.
    """
    check_way(fewer_runs)
    chosen = select(folded.tags, tags)
    if not chosen:
        raise RunfoldError("There is nothing to plot: no tag was folded.")
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
            f"{human_count(len(names), 'group')} do not fit into one figure, which holds"
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


def find_band(statistics: Sequence[str], wanted: str | None) -> Band | None:
    """The band that is wanted, by a statistic that makes its edge; None takes the first.

    Raises UnknownStatistic for one that was not folded, or is no edge of a band.
    """
    if wanted is None or wanted == NO_BAND:
        return choose_band(statistics) if wanted is None else None
    for found in list_bands(statistics):
        # Around the iqm, "ci95" means "ci95-iqm".
        if {found.lower, found.upper} & {wanted, f"{wanted}-low", f"{wanted}-{found.centre}-low"}:
            return found
    known = [name.removesuffix("-low") for name in statistics if not name.endswith("-high")]
    fact = f"'{escape(wanted)}' makes no band" if wanted in known else f"No '{escape(wanted)}'"
    hint = did_you_mean(wanted, [name for name in known if name != wanted])
    if {wanted, f"{wanted}-low"} & set(find_stray_edges(statistics)):
        hint = explain_stray_edges([*find_centres(statistics), wanted, f"{wanted}-low"])
    hint = hint or "A band needs a line and what lies around it, such as mean and std."
    raise UnknownStatistic(f"{fact} among {', '.join(known)}. {hint}")


def _lines(statistics: Sequence[str], ring: Band | None, wanted: str | None) -> list[str]:
    if ring is not None:
        return [ring.centre]
    centres, strays = find_centres(statistics), find_stray_edges(statistics)
    if wanted == NO_BAND and centres:
        return centres[:1]
    return [name for name in statistics if name not in strays]


def _x_axis(folded: Folded, tags: list[str]) -> tuple[float, str]:
    """By what to divide x, and its label: seconds become minutes, hours or days.

    Wall times become days since 1970, which is how matplotlib knows them.
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
    # All three alike, so that a band smoothed is the band of the statistics smoothed.
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
        where = "left of the log x-axis, at or below 0"
        notes.append(_lost(panel.tag, lost, where))
    return replace(panel, strokes=strokes)


def _without_negative_y(panel: Panel, notes: list[str]) -> Panel:
    strokes = [replace(stroke, y=_positive(stroke.y)) for stroke in panel.strokes]
    lost = sum(map(_points, panel.strokes)) - sum(map(_points, strokes))
    if lost:
        notes.append(_lost(panel.tag, lost, "below the log y-axis, at or below 0"))
    lowest = [np.nanmin(stroke.y) for stroke in strokes if _points(stroke)]
    # A band may come as near to 0 as it likes. One decade of that is enough to see,
    # or the lines would be squeezed into the top of the panel.
    floor = float(min(lowest, default=1.0)) / 10
    is_cut = False
    for number, stroke in enumerate(strokes):
        if stroke.lower is not None and stroke.upper is not None:
            is_cut = is_cut or bool(np.any(stroke.lower < floor))
            upper = _positive(stroke.upper)
            strokes[number] = replace(stroke, lower=np.maximum(stroke.lower, floor), upper=upper)
    if is_cut:
        notes.append(
            f"The band of '{escape(panel.tag)}' goes on below the log y-axis, where it is cut off."
        )
    return replace(panel, strokes=strokes, floor=floor if is_cut else None)


def _positive(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(values > 0, values, np.nan)


def _points(stroke: Stroke) -> int:
    return int(np.isfinite(stroke.y).sum())


def _lost(tag: str, count: int, where: str) -> str:
    verb = "lies" if count == 1 else "lie"
    return f"{human_count(count, 'value')} of '{escape(tag)}' {verb} {where}."


def _name(folded: Folded, group: str, label: str, tags: list[str], fewer_runs: str) -> str:
    """The group's label and over how many runs its points are folded, over all tags."""
    if folded.groups[group].runs == (group,):
        return label  # a run alone, under its own name
    curves = folded.groups[group].curves
    number = count_runs([curves[tag] for tag in tags if tag in curves], fewer_runs)
    if group:
        return f"{label} (n={number})"
    return "1 run" if number == "1" else f"{number} runs"


def _caption(folded: Folded, sheet: Sheet, ring: Band | None, weight: float, folder: str) -> str:
    # What the names of all groups begin with is said once.
    said = [show_name(folder)] if folder else []
    if ring is not None and sheet.has_band:
        said.append(ring.label)
    elif len(sheet.statistics) == 1 and any(len(one.runs) > 1 for one in folded.groups.values()):
        said.append(sheet.statistics[0])
    if weight:
        said.append(f"smoothed {weight:g}")
    if sheet.has_fewer:
        said.append("dashed: fewer runs")
    return ", ".join(said)
