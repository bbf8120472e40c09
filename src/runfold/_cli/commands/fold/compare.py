"""The command `runfold compare`."""

from __future__ import annotations

import argparse
import contextlib
from typing import TYPE_CHECKING

from runfold._cli.fold_options import add_by, add_duplicates, read_logs
from runfold._cli.terminal import Column, fits_window, note, print_json, print_table
from runfold._humanize import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._cli.parser import Parser
    from runfold._compare.comparison import Comparison

HELP = """\
Test whether one group of runs is better than another.

Each run contributes one score per tag: its last value, or the value that --at
selects. For each group, prints n, mean, std, confidence interval, median and
interquartile mean (iqm). For each pair of groups, prints the difference between
the means with Welch's interval, the p-values of Welch's t-test, the
Mann-Whitney test and a permutation test (a narrow window shows only the first
p-value), Hedges' g, and how often a run of one group beats a run of the other.
The interval of the difference and the p-values are Holm-corrected for the
number of pairs. The written conclusion is based on Welch's test. For several
tags, also prints each group's iqm over all tags. Its interval comes from a
bootstrap that resamples whole runs, because the scores of one run are
correlated.

Example:
  runfold compare demo-runs --tag val/loss --by lr

Exit status: 0, even if the groups do not differ; 2 if a path, tag or option is
wrong, or the output already exists.
"""

_NAMES = ("tag", "group", "a", "b", "over all tags")
# Columns that are dropped in a narrow window.
_DROPPED = ("p M-W", "p perm", "median")


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "--tag",
        "--tags",
        action="append",
        required=True,
        metavar="TAG",
        help="Scalar tags to compare: a name or a quoted glob (repeatable). Required.",
    )
    add_by(parser)
    parser.add_argument(
        "--at",
        type=_at,
        default="last",
        metavar="WHICH",
        help="Score of a run: last, best, min, max, auc (area under the curve), or a step, for"
        " the last value up to that step. Default: last.",
    )
    parser.add_argument(
        "--better",
        choices=("higher", "lower"),
        metavar="DIRECTION",
        help="Which values are better: higher or lower. Default: guessed from the tag's name.",
    )
    parser.add_argument(
        "--level",
        type=_fraction,
        default=0.95,
        metavar="PERCENT",
        help="Confidence level of the intervals and the conclusion, such as 95 or 0.95. Default:"
        " 95.",
    )
    parser.add_argument(
        "--normalize",
        choices=("range",),
        metavar="HOW",
        help="How to put several tags on a common scale: 'range' maps the worst score of any run"
        " to 0 and the best to 1. Default: no scaling.",
    )
    add_duplicates(parser, "last")
    parser.add_argument(
        "-o",
        "--outpath",
        action="append",
        metavar="FILE",
        help="Also write the tables, one file per table. The suffix sets the format: 'cmp.csv'"
        " writes cmp-groups.csv, cmp-pairs.csv, cmp-scores.csv and, for several tags,"
        " cmp-overall.csv and cmp-overall-pairs.csv. Formats: {formats}. Repeatable."
        " Default: none.",
    )
    parser.add_overwrite()
    parser.add_argument(
        "--digits",
        type=_digits,
        metavar="N",
        help="Round numbers in {rounded_formats} tables to N digits. Default: exact.",
    )
    parser.add_where()
    parser.add_json()
    parser.add_restarts()
    parser.add_memory()
    parser.add_engine()


def run(options: argparse.Namespace) -> int:
    """Print the comparison."""
    from runfold._compare.compare import compare

    outs = options.outpath or []
    if outs:
        from runfold._export.fold_output import write_comparison
        from runfold._export.table_file import check_path

        for out in outs:
            check_path(out)  # reject a wrong name before reading
    comparison = compare(
        read_logs(options),
        options.tag,
        options.by,
        options.at,
        options.better,
        level=options.level,
        normalize=options.normalize,
        duplicates=options.duplicates,
    )
    written = []
    if outs:
        written = write_comparison(
            comparison, outs, overwrite=options.overwrite, digits=options.digits
        )
    if options.json:
        print_json(comparison)
    else:
        _print(comparison)
    for file in written:
        # With --json, stdout is for a program, so paths go to stderr.
        (note if options.json else print)(escape(file))
    return 0


def _print(comparison: Comparison) -> None:
    for heads, *rows in comparison.show_tables():
        columns = _columns(heads)
        if not fits_window(columns, rows):
            # The conclusion needs only Welch's test; --json and -o include the others.
            kept = [number for number, head in enumerate(heads) if head not in _DROPPED]
            columns = _columns([heads[number] for number in kept])
            rows = [[row[number] for number in kept] for row in rows]
        print_table(columns, rows)
        print()
    if comparison.correction:
        print(comparison.correction, end="\n\n")
    print(comparison.sentence)
    for remark in comparison.remarks:
        note(remark)


def _columns(heads: Sequence[str]) -> list[Column]:
    return [Column(head, is_number=head not in _NAMES, is_name=head in _NAMES) for head in heads]


def _at(text: str) -> str | int:
    """Return a step, which can be written as 1e6, or the name of a score."""
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        if (step := float(text)).is_integer():
            return int(step)
    return text


def _digits(text: str) -> int:
    if text.isdecimal() and (digits := int(text)):
        return digits
    raise argparse.ArgumentTypeError(f"expected a positive number of digits, got '{text}'")


def _fraction(text: str) -> float:
    """Return a level in percent as a fraction. A number below 1 is already a fraction."""
    with contextlib.suppress(ValueError):
        if 0 < (level := float(text)) < 100:
            return level if level < 1 else level / 100
    raise argparse.ArgumentTypeError(f"expected a percentage between 0 and 100, got '{text}'")
