"""The options that say how runs are folded, the same for every command that folds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from runfold._cli.terminal import CommandError, no_runs, tell_problems
from runfold._cli.where_option import choose_logs, none_fulfils

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._cli.parser import Parser
    from runfold._logdir.run_log import RunLog
    from runfold._reduce.folded import Folded

# As in `_reduce.align` and its kin, which bring NumPy along; a test holds them together.
ALIGNMENTS = ("auto", "strict", "intersection", "union", "nearest", "ffill", "interpolate", "bins")
DUPLICATES = ("error", "first", "last", "mean")
NANS = ("skip", "propagate")


def add_folding(parser: Parser, is_strict: bool = True) -> None:
    """Declare the options of a fold; by default a strict one refuses what does not fit together."""
    add_by(parser)
    align = "strict" if is_strict else "auto"
    parser.set_defaults(is_strict=is_strict)
    parser.add_argument(
        "--align",
        choices=ALIGNMENTS,
        metavar="HOW",
        help="How to bring runs together that logged at different steps: 'strict' refuses,"
        " 'intersection' keeps the steps that all have, 'union' those that any has;"
        " 'nearest', 'ffill' and 'interpolate' fill in between a run's first and last"
        " point; 'bins' takes means over equal parts; 'auto' interpolates where steps differ, or"
        f" takes bins where they are too many. Default: {align}.",
    )
    parser.add_argument(
        "--bins", type=int, metavar="N", help="As --align bins, with N bins. Default: none."
    )
    parser.add_argument(
        "--lax-steps",
        action="store_true",
        help="As --align intersection, or union with --min-runs. Default: off.",
    )
    parser.add_argument(
        "--lax-tags",
        action=argparse.BooleanOptionalAction,
        default=not is_strict,
        help="Fold a tag over the runs that have it, also where others lack it."
        f" Default: {'off' if is_strict else 'on'}.",
    )
    parser.add_argument(
        "--min-runs",
        "--min-runs-per-step",
        type=int,
        metavar="N",
        help="Leave out steps that fewer runs have. Default: none are.",
    )
    add_duplicates(parser, "error" if is_strict else "last")
    parser.add_argument(
        "--nan",
        choices=NANS,
        default="skip",
        metavar="POLICY",
        help="'skip' takes a NaN as not logged, 'propagate' makes the statistics NaN there."
        " Default: skip.",
    )
    parser.add_argument(
        "--x",
        default="step",
        metavar="AXIS",
        help="What to fold along: 'step', 'wall_time', 'relative' (seconds since the run's"
        " start) or the name of a tag, such as samples seen. Default: step.",
    )
    parser.add_where()
    parser.add_restarts()


def add_by(parser: Parser) -> None:
    """Declare what makes groups of runs."""
    parser.add_argument(
        "--by",
        action="append",
        metavar="KEY",
        help="What makes a group of runs: the name of an hparam, 'parent' for the folder"
        " that a run is in, 'run' for each run alone, or a pattern with named groups over the"
        " run's name, such as '(?P<algo>\\w+)/seed'. Repeatable. Default: all runs are one"
        " group.",
    )


def add_duplicates(parser: Parser, default: str = "error") -> None:
    """Declare which value counts at a step that was logged more than once."""
    parser.add_argument(
        "--duplicates",
        "--handle-dup-steps",
        type=lambda text: text.removeprefix("keep-"),
        choices=DUPLICATES,
        default=default,
        metavar="WHICH",
        help="Where a run has several values at one step, take the 'first', the 'last' or their"
        " 'mean', or refuse with 'error' ('keep-first' and 'keep-last' also work)."
        f" Default: {default}.",
    )


def fold_options(
    options: argparse.Namespace,
    operations: str | Iterable[str],
    tags: str | Iterable[str] | None = None,
) -> Folded:
    """The runs of a command's paths, folded as its options say."""
    from runfold._reduce.fold import FoldOptions, fold_runs

    fold_options = FoldOptions(
        align=_alignment(options),
        bins=options.bins,
        min_runs=options.min_runs,
        duplicates=options.duplicates,
        nan=options.nan,
        x=options.x,
        lax_tags=options.lax_tags,
        has_hints=not options.is_strict,
    )
    return fold_runs(read_logs(options), operations, tags=tags, by=options.by, options=fold_options)


def read_logs(options: argparse.Namespace) -> list[RunLog]:
    """The runs of a command's paths, read. Raises CommandError where there are none."""
    from runfold._pack.open_logdir import open_logdir

    logdir = open_logdir(*options.logdirs, restarts=options.restarts)
    if not logdir.logs:
        raise CommandError(no_runs(*options.logdirs))
    logs = choose_logs(logdir, options.where)
    if not logs:
        raise CommandError(none_fulfils(logdir, options.where))
    logdir.load(logs)
    # Before they are folded: what is missing may be why they do not fit together.
    tell_problems(logdir, logs, options.logdirs)
    return logs


def _alignment(options: argparse.Namespace) -> str:
    if options.align:
        return str(options.align)
    if options.lax_steps and options.bins is None:
        return "intersection" if options.min_runs is None else "union"
    return "strict" if options.is_strict else "auto"
