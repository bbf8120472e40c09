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

Takes the runs below the paths, brings the same tag of all of them together,
and writes statistics of it at every step: as event files, a folder for each
statistic (OUT-mean, OUT-std, ...; OUT/mean with a slash behind), with a chart
for TensorBoard's CUSTOM SCALARS page; or as a table, by the suffix of OUT.
Prints what was written.

Example:
  runfold reduce demo-runs --by lr -r mean,std -o reduced/ -o reduced.csv

Exit status: 0, or 2 where runs do not fit together, or output exists.
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
        help="Output file, in the format of its suffix: {formats}; or the prefix of output"
        " folders (repeatable). Required.",
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
        help="Only these tags: a name or a glob in quotes (repeatable)."
        " Default: all scalars,"
        " but not `system/` of tracked runs.",
    )
    add_folding(parser)
    parser.add_argument(
        "-f",
        "--overwrite",
        action="store_true",
        help="Replace what an earlier reduce wrote. A folder with anything else in it stays."
        " Default: off.",
    )
    parser.add_argument(
        "--float64",
        action="store_true",
        help="Store float64 values in event files too; TensorBoard shows float32. Default: off.",
    )
    parser.add_argument(
        "--digits",
        type=_digits,
        metavar="N",
        help="Round numbers in {rounded_formats} tables to N digits. Default: exact.",
    )
    parser.add_escape_formulas()
    parser.add_argument(
        "--verbose", action="store_true", help="Tell of every group and tag. Default: off."
    )
    parser.add_argument(
        "-v",
        "--version",
        action="version",
        version=f"runfold {runfold.__version__}",
        help="Show the version and exit. Default: off.",
    )


def run(options: argparse.Namespace) -> int:
    """Fold, write, and say what was done."""
    from runfold._export.fold_output import check_outputs, is_table, write_output

    for out in options.outpath:
        is_table(out)  # so that a slip in a name costs no fold
    folded = fold_options(options, options.reduce_ops, options.tags)
    check_outputs(folded, options.outpath, options.overwrite)
    if options.verbose:
        _tell_all(folded)
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
    """What was folded and what was left out, in one line."""
    left_out = "; ".join(folded.left_out) or "nothing"
    return f"Folded {folded.describe()}. Left out: {left_out}."


def _digits(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 1 on")
    return int(text)


def _tell_all(folded: Folded) -> None:
    from runfold._reduce.axes import name_places

    for group in folded.groups.values():
        name = f"{escape(group.name)}: " if group.name else ""
        note(f"{name}{human_count(len(group.runs), 'run')}")
        for curve in group.curves.values():
            runs = human_count(len(curve.runs), "run")
            note(f"  {show_tag(curve.tag)}: {runs} x {name_places(folded.x, len(curve))}")
