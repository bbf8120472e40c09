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
    has_colour,
    has_true_colour,
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

Folds the runs below the paths, and draws a line and a band for each group, a
panel for each tag: into a file by its suffix, .png, .svg or .pdf, ready for a
paper; or here in the terminal where no file is named. Where `runfold reduce`
refuses runs that do not fit together, plot chooses: it aligns different steps,
takes the last of several values at one step, and draws a tag of the runs that
have it. A note names each choice and the option that changes it. `--by run`
draws each run alone.

Example:
  runfold plot demo-runs --tag val/loss --by lr --smooth 0.6 -o curve.pdf

Exit status: 0; 2 for a wrong path, tag or option, or where the file exists.
"""

# Marks for terminals without colours; as many strokes share a drawing.
MARKS = "*o+x#@%="
# As many drawings follow each other in the terminal where no tag is named.
_MOST_UNASKED = 12
# Okabe and Ito's colours, of which black and dark blue would be lost on a dark
# screen: grey is instead of black, and blue comes late.
COLOURS = (
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
        help="Tags to draw: a name or a glob in quotes (repeatable). Default: all scalars,"
        " but not `system/` of tracked runs.",
    )
    parser.add_argument(
        "-r",
        "--reduce-ops",
        metavar="OPS",
        help="Statistics, as of `runfold reduce`: the first of {centres} is the line; {spreads},"
        " ci95, two quantiles, or min and max its band. ci95 is the interval of the line:"
        " with iqm it means ci95-iqm, with median ci95-median. Without such a pair each is a"
        " line. Default: mean,std; mean with --by run.",
    )
    parser.add_argument(
        "--band",
        metavar="OP",
        help="Which of the statistics is the band, where there are several; 'none' draws the"
        " line alone. Default: the first.",
    )
    parser.add_argument(
        "--smooth",
        type=_weight,
        default=0.0,
        metavar="WEIGHT",
        help="TensorBoard's smoothing, from 0 to below 1, of line and band alike. Default: 0.",
    )
    parser.add_argument(
        "--fewer-runs",
        choices=("dash", "hide", "plain"),
        default="dash",
        metavar="HOW",
        help="How to draw the parts where only some runs of a group have a value, because others"
        " ended early: 'dash', 'hide', or 'plain' as elsewhere. Default: dash.",
    )
    parser.add_argument(
        "--max-groups",
        type=int,
        default=100,
        metavar="N",
        help="Refuse to draw more groups than this. Default: 100.",
    )
    for axis in "xy":
        parser.add_argument(
            f"--log-{axis}", action="store_true", help=f"A logarithmic {axis}-axis. Default: off."
        )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="Save a figure, by the suffix: .png, .svg, .pdf. Default: draw in the terminal.",
    )
    parser.add_argument(
        "-f", "--overwrite", action="store_true", help="Replace FILE if it exists. Default: off."
    )
    add_folding(parser, is_strict=False)


def run(options: argparse.Namespace) -> int:
    """Fold and draw."""
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
        # Also a letter that the font lacks is a warning of matplotlib's.
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
    _tell(folded, dict.fromkeys(str(one.message) for one in caught))


def _show(options: argparse.Namespace) -> None:
    from runfold._plot.panels import MOST_PANELS, NO_BAND, find_band, make_sheet

    folded = _fold(options)
    find_band(folded.statistics, options.band)  # a wrong name is refused also where none is drawn
    sheet = make_sheet(
        folded,
        # Marks are too coarse for the bands of several groups.
        band=NO_BAND if len(folded.groups) > 1 and not _paints() else options.band,
        weight=options.smooth,
        log_x=options.log_x,
        log_y=options.log_y,
        fewer_runs=options.fewer_runs,
        max_panels=MOST_PANELS if options.tag else _MOST_UNASKED,
        max_groups=options.max_groups,
    )
    print("\n\n".join("\n".join(_draw(sheet, panel)) for panel in sheet.panels))
    _tell(folded, sheet.notes)


def _fold(options: argparse.Namespace) -> Folded:
    from runfold._reduce.bands import match_intervals

    # A run alone has no spread.
    given = options.reduce_ops or ("mean" if options.by == ["run"] else "mean,std")
    operations = match_intervals(given)
    if operations != given:
        note(f"Drawn with the interval of the line: -r {operations}.")
    return fold_options(options, operations, options.tag)


def _tell(folded: Folded, notes: Sequence[str] | dict[str, None]) -> None:
    for text in dict.fromkeys((*notes, summary(folded), *folded.remarks)):
        note(text)


def _draw(sheet: Sheet, panel: Panel) -> Iterator[str]:
    """A heading, and a drawing with its legend for each handful of strokes."""
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
    """The name of each stroke after its mark, as many on a line as there is room for."""
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
    """A code for each colour, where the terminal has them and the dots to be coloured."""
    if not (has_colour() and _has_braille()):
        return []
    from runfold._plot.terminal_drawings import colour_code

    exact = has_true_colour()
    return [f"38;{colour_code(*colour, has_true_colour=exact)}" for colour in COLOURS]


def _date(days: float) -> str:
    """A time as the figure has it, in days, as people write it here."""
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
