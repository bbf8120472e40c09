"""The command `runfold reduce`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import runfold
from runfold._cli.fold_options import add_folding, fold_options
from runfold._cli.terminal import note, show_tag
from runfold._humanize import escape, human_count

if TYPE_CHECKING:
    from runfold._cli.parser import Parser
    from runfold._reduce.folded import Folded

HELP = """\
Fold many runs into one curve with its uncertainty.

Combines each tag across all runs, or across the runs of each group with --by,
and writes its statistics at every step. Writes event files, with one folder per
statistic (OUT-mean, OUT-std, ...; or OUT/mean if OUT ends in a slash) and a
chart for TensorBoard's CUSTOM SCALARS page, or a table in the format that OUT's
suffix sets. Prints the output paths.

Example:
  runfold reduce demo-runs --by lr -r mean,std -o reduced/ -o reduced.csv

Exit status: 0, or 2 if the runs do not match or the output already exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "-o",
        "--outpath",
        action="append",
        required=True,
        metavar="OUT",
        help="Output file, or prefix of the output folders (repeatable). A file's suffix sets its"
        " format: {formats}. Required.",
    )
    parser.add_argument(
        "-r",
        "--reduce-ops",
        default="mean,std",
        metavar="OPS",
        help="Statistics, separated by commas: {statistics}. Default: mean,std.",
    )
    parser.add_argument(
        "--tags",
        "--tag",
        action="append",
        metavar="TAG",
        help="Only these tags: a name or a quoted glob (repeatable). Default: all scalars"
        " except `system/` of tracked runs.",
    )
    add_folding(parser)
    parser.add_argument(
        "-f",
        "--overwrite",
        action="store_true",
        help="Overwrite the output of an earlier `runfold reduce`, but not a folder with other"
        " files in it. Default: off.",
    )
    parser.add_argument(
        "--float64",
        action="store_true",
        help="Store float64 values in event files; TensorBoard still shows float32. Default: off.",
    )
    parser.add_argument(
        "--digits",
        type=_digits,
        metavar="N",
        help="Round numbers in {rounded_formats} tables to N digits. Default: exact.",
    )
    parser.add_escape_formulas()
    parser.add_memory()
    parser.add_engine()
    parser.add_argument(
        "--verbose", action="store_true", help="Report every group and tag. Default: off."
    )
    parser.add_argument(
        "-v",
        "--version",
        action="version",
        version=f"runfold {runfold.__version__}",
        help="Show the version and exit. Default: off.",
    )


def run(options: argparse.Namespace) -> int:
    """Fold the runs, write the output, and print a summary."""
    from runfold._export.fold_output import check_outputs, is_table, write_output

    for out in options.outpath:
        is_table(out)  # rejects a wrong name before folding
    folded = fold_options(options, options.reduce_ops, options.tags)
    check_outputs(folded, options.outpath, options.overwrite)
    if options.verbose:
        _note_groups(folded)
    for out in options.outpath:
        written = write_output(
            folded,
            out,
            overwrite=options.overwrite,
            float64=options.float64,
            digits=options.digits,
            escape_formulas=options.escape_formulas,
        )
        print("\n".join(map(escape, written)))
    note(summary(folded))
    for remark in folded.remarks:
        note(remark)
    return 0


def summary(folded: Folded) -> str:
    """Return a line that says what was folded and what was left out."""
    left_out = "; ".join(folded.left_out) or "nothing"
    return f"Folded {folded.describe()}. Left out: {left_out}."


def _digits(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive number of digits, got '{text}'")
    return int(text)


def _note_groups(folded: Folded) -> None:
    from runfold._reduce.axes import name_places

    for group in folded.groups.values():
        name = f"{escape(group.name)}: " if group.name else ""
        note(f"{name}{human_count(len(group.runs), 'run')}")
        for curve in group.curves.values():
            runs = human_count(len(curve.runs), "run")
            note(f"  {show_tag(curve.tag)}: {runs} x {name_places(folded.x, len(curve))}")
