"""Options for folding runs, shared by every command that folds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from runfold._cli.engine_option import open_paths
from runfold._cli.terminal import CommandError, no_runs, note_problems
from runfold._cli.where_option import choose_logs, no_match

if TYPE_CHECKING:
    from collections.abc import Iterable

    from runfold._cli.parser import Parser
    from runfold._logdir.run_log import RunLog
    from runfold._reduce.folded import Folded
    from runfold._reduce.operations import Operation

# Copied from `_reduce.align` and other modules that import NumPy; a test keeps them in sync.
ALIGNMENTS = ("auto", "strict", "intersection", "union", "nearest", "ffill", "interpolate", "bins")
DUPLICATES = ("error", "first", "last", "mean")
NANS = ("skip", "propagate")


def add_folding(parser: Parser, is_strict: bool = True) -> None:
    """Declare the options of a fold. A strict fold rejects mismatched runs by default."""
    add_by(parser)
    align = "strict" if is_strict else "auto"
    parser.set_defaults(is_strict=is_strict)
    parser.add_argument(
        "--align",
        choices=ALIGNMENTS,
        metavar="HOW",
        help="How to align runs that logged at different steps: 'strict' rejects them,"
        " 'intersection' keeps the steps that all runs have, 'union' the steps that any run"
        " has; 'nearest', 'ffill' and 'interpolate' fill gaps between a run's first and"
        " last point; 'bins' averages over equal intervals; 'auto' interpolates if steps"
        f" differ, or uses bins if there are too many steps. Default: {align}.",
    )
    parser.add_argument(
        "--bins", type=int, metavar="N", help="Same as --align bins, with N bins. Default: off."
    )
    parser.add_argument(
        "--lax-steps",
        action="store_true",
        help="Same as --align intersection, or as --align union if --min-runs is given."
        " Default: off.",
    )
    parser.add_argument(
        "--lax-tags",
        action=argparse.BooleanOptionalAction,
        default=not is_strict,
        help="Fold a tag over the runs that have it, even if other runs lack it."
        f" Default: {'off' if is_strict else 'on'}.",
    )
    parser.add_argument(
        "--min-runs",
        "--min-runs-per-step",
        type=int,
        metavar="N",
        help="Leave out steps that fewer than N runs have. Default: no minimum.",
    )
    add_duplicates(parser, "error" if is_strict else "last")
    parser.add_argument(
        "--nan",
        choices=NANS,
        default="skip",
        metavar="POLICY",
        help="How to treat NaN: 'skip' ignores it, 'propagate' makes the statistics at that"
        " step NaN. Default: skip.",
    )
    parser.add_argument(
        "--x",
        default="step",
        metavar="AXIS",
        help="Axis to fold along: 'step', 'wall_time', 'relative' (seconds since the start of"
        " the run) or a tag, such as samples_seen. Default: step.",
    )
    parser.add_where()
    parser.add_restarts()


def add_by(parser: Parser) -> None:
    """Declare --by, which groups runs."""
    parser.add_argument(
        "--by",
        action="append",
        metavar="KEY",
        help="Group runs by the value of an hparam, by 'parent' (the folder that contains the"
        " run), by 'run' (each run alone), or by a regular expression with named groups that"
        " matches the run's name, such as '(?P<algo>\\w+)/seed' (repeatable). Default: one"
        " group of all runs.",
    )


def add_duplicates(parser: Parser, default: str = "error") -> None:
    """Declare --duplicates, which selects the value at a step that was logged more than once."""
    parser.add_argument(
        "--duplicates",
        "--handle-dup-steps",
        type=lambda text: text.removeprefix("keep-"),
        choices=DUPLICATES,
        default=default,
        metavar="WHICH",
        help="If a run has several values at one step, use the 'first', the 'last' or their"
        " 'mean', or fail with 'error' ('keep-first' and 'keep-last' also work)."
        f" Default: {default}.",
    )


def fold_options(
    options: argparse.Namespace,
    operations: Operation | Iterable[Operation],
    tags: str | Iterable[str] | None = None,
) -> Folded:
    """Return the runs in a command's paths, folded according to its options."""
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
    """Load and return the runs in a command's paths. Raises CommandError if there are none."""
    logdir = open_paths(options)
    if not logdir.logs:
        raise CommandError(no_runs(*options.logdirs))
    logs = choose_logs(logdir, options.where)
    if not logs:
        raise CommandError(no_match(logdir, options.where))
    logdir.load(logs)
    # Report problems before folding: missing data may be why the runs do not match.
    note_problems(logdir, logs, options.logdirs)
    return logs


def _alignment(options: argparse.Namespace) -> str:
    if options.align:
        return str(options.align)
    if options.lax_steps and options.bins is None:
        return "intersection" if options.min_runs is None else "union"
    return "strict" if options.is_strict else "auto"
