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
Say whether one group of runs is better than another.

Each run gives one number a tag: its last value, its best, or another. Groups
are described by n, mean, std, interval, median and interquartile mean (iqm);
pairs of groups by the difference of their means with Welch's interval, by the
p-values of Welch's t, Mann-Whitney's and a permutation test (a narrow window
shows only the first), by Hedges' g, and by how often a run of the one beats a
run of the other. The interval of the difference and the p-values are corrected
by Holm for the number of pairs. Then comes the answer in
words, which is Welch's. Several tags are also taken together: the iqm over all
of them, with a bootstrap that draws whole runs, as the tags of one run share
its luck.

Example:
  runfold compare demo-runs --tag val/loss --by lr

Exit status: 0, also when nothing differs; 2 for a wrong path, tag or option, or
where output exists.
"""

_NAMES = ("tag", "group", "a", "b", "over all tags")
# What a narrow window goes without.
_LESS = ("p M-W", "p perm", "median")


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "--tag",
        "--tags",
        action="append",
        required=True,
        metavar="TAG",
        help="What to compare: the name of a scalar tag or a glob; more than once for several."
        " Default: none, it must be given.",
    )
    add_by(parser)
    parser.add_argument(
        "--at",
        type=_at,
        default="last",
        metavar="WHICH",
        help="What counts of a run: last, best, min, max, auc (area under the curve), or a step,"
        " for the last value up to it. Default: last.",
    )
    parser.add_argument(
        "--better",
        choices=("higher", "lower"),
        metavar="WAY",
        help="Which way is better: higher or lower. Default: guessed from the tag's name.",
    )
    parser.add_argument(
        "--level",
        type=_share,
        default=0.95,
        metavar="PERCENT",
        help="The level of the intervals, and of what is called clear: 95 or 0.95. Default: 95.",
    )
    parser.add_argument(
        "--normalize",
        choices=("range",),
        metavar="HOW",
        help="How several tags come to one scale: 'range' makes the worst score of any run 0"
        " and the best 1. Default: they are taken as they are.",
    )
    add_duplicates(parser, "last")
    parser.add_argument(
        "-o",
        "--outpath",
        action="append",
        metavar="FILE",
        help="Write the tables too, in the format of the suffix, a file each: 'cmp.csv' makes"
        " cmp-groups.csv, cmp-pairs.csv, cmp-scores.csv and, for several tags,"
        " cmp-overall.csv and cmp-overall-pairs.csv. Formats: {formats}. Repeatable."
        " Default: none.",
    )
    parser.add_argument(
        "-f", "--overwrite", action="store_true", help="Replace those files. Default: off."
    )
    parser.add_argument(
        "--digits",
        type=_digits,
        metavar="N",
        help="Round numbers in {rounded_formats} tables to N digits. Default: exact.",
    )
    parser.add_where()
    parser.add_json()
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Print the comparison."""
    from runfold._compare.compare import compare

    outs = options.outpath or []
    if outs:
        from runfold._export.fold_output import write_comparison
        from runfold._export.table_file import check_path

        for out in outs:
            check_path(out)  # so that a slip in a name costs no reading
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
        # What --json prints is for a program, to which a path is noise.
        (note if options.json else print)(escape(file))
    return 0


def _print(comparison: Comparison) -> None:
    for heads, *rows in comparison.show_tables():
        columns = _columns(heads)
        if not fits_window(columns, rows):
            # Welch's test decides; --json and -o have the others.
            kept = [number for number, head in enumerate(heads) if head not in _LESS]
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
    """A step, also as 1e6, or the name of a score."""
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        if (step := float(text)).is_integer():
            return int(step)
    return text


def _digits(text: str) -> int:
    if text.isdecimal() and (digits := int(text)):
        return digits
    raise argparse.ArgumentTypeError(f"'{text}' is no number of digits, which is 1 or more")


def _share(text: str) -> float:
    """A level in percent as a share; 0.95 is one already, and nobody means 0.95%."""
    with contextlib.suppress(ValueError):
        if 0 < (level := float(text)) < 100:
            return level if level < 1 else level / 100
    raise argparse.ArgumentTypeError(f"'{text}' is no percentage between 0 and 100")
