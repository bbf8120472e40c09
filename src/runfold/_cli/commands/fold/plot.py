"""The command `runfold plot`."""

from __future__ import annotations

import argparse
import math
import warnings
from datetime import datetime
from typing import TYPE_CHECKING

from runfold._cli.commands.fold.reduce import summary
from runfold._cli.fold_options import add_folding, fold_options
from runfold._cli.terminal import (
    can_show,
    has_color,
    has_true_color,
    note,
    plot_width,
    show_tag,
)
from runfold._humanize import cell_width, escape

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from runfold._cli.parser import Parser
    from runfold._plot.panels import Panel, Sheet, Stroke
    from runfold._reduce.folded import Folded

HELP = """\
Draw folded runs as curves with bands.

Folds the runs and draws one panel per tag, with a line and a band per group.
With -o it saves a figure as .png, .svg or .pdf, ready for a paper; otherwise it
draws in the terminal. Unlike `runfold reduce`, it accepts mismatched runs: it
aligns runs with different steps, uses the last value if a run has several at
one step, and draws each tag from the runs that have it. A note reports each
choice and the option that changes it. `--by run` draws each run separately.

Example:
  runfold plot demo-runs --tag val/loss --by lr --smooth 0.6 -o curve.pdf

Exit status: 0; 2 if a path, tag or option is wrong, or the file already exists.
"""

# Marks for terminals without colors. A drawing has at most one stroke per mark.
MARKS = "*o+x#@%="
# The maximum number of drawings in the terminal if no tag is given.
_MOST_DRAWINGS = 12
# Okabe and Ito's colors. Black and dark blue are hard to see on a dark screen, so gray replaces
# black and blue comes late.
COLORS = (
    (86, 180, 233),
    (230, 159, 0),
    (0, 158, 115),
    (204, 121, 167),
    (213, 94, 0),
    (0, 114, 178),
    (240, 228, 66),
    (150, 150, 150),
)


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "--tag",
        "--tags",
        action="append",
        metavar="TAG",
        help="Tags to draw: a name or a quoted glob (repeatable). Default: all scalars except"
        " `system/` of tracked runs.",
    )
    parser.add_argument(
        "-r",
        "--reduce-ops",
        metavar="OPS",
        help="Statistics, as in `runfold reduce`. The line shows whichever of {centers} comes"
        " first. The band shows {spreads}, ci95, two quantiles, or min and max. ci95 is the"
        " bootstrap interval of whichever statistic the line shows. If the statistics do"
        " not form a line and a band, each one is drawn as a line. Default: mean,std; mean"
        " with --by run.",
    )
    parser.add_argument(
        "--band",
        metavar="OP",
        help="Statistic to draw as the band, if several are possible; 'none' draws only the line."
        " Default: the first.",
    )
    parser.add_argument(
        "--smooth",
        type=_weight,
        default=0.0,
        metavar="WEIGHT",
        help="Weight of TensorBoard's smoothing of the line and the band, at least 0 and below 1."
        " Default: 0.",
    )
    parser.add_argument(
        "--fewer-runs",
        choices=("dash", "hide", "plain"),
        default="dash",
        metavar="HOW",
        help="How to draw the parts where only some runs of a group have values because others"
        " ended early: 'dash' draws them dashed, 'hide' leaves them out, 'plain' draws"
        " them like the rest. Default: dash.",
    )
    parser.add_argument(
        "--max-groups",
        type=int,
        default=100,
        metavar="N",
        help="Refuse to draw more than N groups. Default: 100.",
    )
    for axis in "xy":
        parser.add_argument(
            f"--log-{axis}", action="store_true", help=f"Logarithmic {axis}-axis. Default: off."
        )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="Save a figure as .png, .svg or .pdf. Default: draw in the terminal.",
    )
    parser.add_overwrite()
    add_folding(parser, is_strict=False)


def run(options: argparse.Namespace) -> int:
    """Fold the runs and draw them."""
    if options.output:
        _save(options)
    else:
        _show(options)
    return 0


def _save(options: argparse.Namespace) -> None:
    from runfold._atomic import check_file
    from runfold._plot.figure import find_format, plot_folded, save_figure

    find_format(options.output)
    check_file(options.output, options.overwrite)
    folded = _fold(options)
    with warnings.catch_warnings(record=True) as caught:
        # Matplotlib also warns about characters that the font lacks.
        warnings.simplefilter("always")
        figure = plot_folded(
            folded,
            band=options.band,
            smooth=options.smooth,
            log_x=options.log_x,
            log_y=options.log_y,
            fewer_runs=options.fewer_runs,
            max_groups=options.max_groups,
        )
        save_figure(figure, options.output, options.overwrite)
    print(escape(options.output))
    _print_notes(folded, dict.fromkeys(str(warning.message) for warning in caught))


def _show(options: argparse.Namespace) -> None:
    from runfold._plot.panels import MOST_PANELS, NO_BAND, find_band, make_sheet

    folded = _fold(options)
    find_band(folded.statistics, options.band)  # rejects a wrong name even if no band is drawn
    sheet = make_sheet(
        folded,
        # Marks are too coarse for the bands of several groups.
        band=NO_BAND if len(folded.groups) > 1 and not _paints() else options.band,
        weight=options.smooth,
        log_x=options.log_x,
        log_y=options.log_y,
        fewer_runs=options.fewer_runs,
        max_panels=MOST_PANELS if options.tag else _MOST_DRAWINGS,
        max_groups=options.max_groups,
    )
    print("\n\n".join("\n".join(_draw(sheet, panel)) for panel in sheet.panels))
    _print_notes(folded, sheet.notes)


def _fold(options: argparse.Namespace) -> Folded:
    from runfold._reduce.bands import choose_operations

    operations, text = choose_operations(options.reduce_ops or None, options.by)
    if text:
        note(text)
    return fold_options(options, operations, options.tag)


def _print_notes(folded: Folded, notes: Sequence[str] | dict[str, None]) -> None:
    for text in dict.fromkeys((*notes, summary(folded), *folded.remarks)):
        note(text)


def _draw(sheet: Sheet, panel: Panel) -> Iterator[str]:
    """Yield a heading, and a drawing with its legend for each group of strokes."""
    from runfold._plot.terminal_curves import draw_curves
    from runfold._plot.theme import NOTHING

    yield show_tag(panel.tag) + (f": {sheet.caption}" if sheet.caption else "")
    for first in range(0, len(panel.strokes), len(MARKS)):
        strokes = panel.strokes[first : first + len(MARKS)]
        lines = draw_curves(
            strokes,
            plot_width(),
            among=panel.strokes,
            marks=MARKS,
            paints=_paints(),
            has_braille=_has_braille(),
            log_x=sheet.log_x,
            log_y=sheet.log_y,
            x_label=escape(sheet.x_label),
            show_x=_date if sheet.x == "wall_time" else "{:.4g}".format,
        )
        yield from lines or [f"  {NOTHING}"]
        yield from _legend(sheet, strokes)


def _legend(sheet: Sheet, strokes: Sequence[Stroke]) -> Iterator[str]:
    """Yield lines with each stroke's mark and name, as many per line as fit."""
    if paints := _paints():
        marks = [f"\x1b[{paint}m━━\x1b[0m " for paint in paints]
    else:
        marks = ["━━ "] if len(strokes) == 1 and _has_braille() else [f"{mark} " for mark in MARKS]
    line, used, most = "", 0, plot_width()
    for stroke, mark in zip(strokes, marks, strict=False):
        name = sheet.groups[stroke.group]
        if len(sheet.statistics) > 1:
            name = f"{name} {stroke.statistic}"
        size = 5 + cell_width(name)
        if used and used + size > most:
            yield line
            line, used = "", 0
        line, used = f"{line}  {mark}{name}", used + size
    yield line


def _has_braille() -> bool:
    return can_show("⣿│└─━")


def _paints() -> list[str]:
    """Return the code of each color, or [] if the terminal has no colors or no Braille."""
    if not (has_color() and _has_braille()):
        return []
    from runfold._plot.terminal_drawings import color_code

    exact = has_true_color()
    return [f"38;{color_code(*color, has_true_color=exact)}" for color in COLORS]


def _date(days: float) -> str:
    """Return a time in days, the figure's unit, as a local date and time."""
    return datetime.fromtimestamp(days * 86400).strftime("%Y-%m-%d %H:%M")


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError:
        weight = math.nan
    if not 0 <= weight < 1:
        raise argparse.ArgumentTypeError(
            f"expected a number that is at least 0 and below 1, got '{text}'"
        )
    return weight
