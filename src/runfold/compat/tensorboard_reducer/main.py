"""The command `tb-reducer`, for scripts that call it from Python."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from runfold import __version__
from runfold.compat.tensorboard_reducer.load import load_tb_events
from runfold.compat.tensorboard_reducer.reduce import reduce_events
from runfold.compat.tensorboard_reducer.write import is_data_file, write_data_file, write_tb_events

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Reduce runs according to the arguments, write the result and return exit status 0.

    Raises the exceptions of the functions that it calls; an invalid option exits with status 2.
    On the command line, `runfold reduce` accepts the same arguments.
    """
    options = _parser().parse_args(argv)
    events = load_tb_events(
        options.input_dirs,
        strict_tags=not options.lax_tags,
        strict_steps=not options.lax_steps,
        handle_dup_steps=options.handle_dup_steps,
        min_runs_per_step=options.min_runs_per_step,
        verbose=options.verbose,
    )
    reduced = reduce_events(events, options.reduce_ops, verbose=options.verbose)
    write = write_data_file if is_data_file(options.outpath) else write_tb_events
    write(reduced, options.outpath, overwrite=options.overwrite, verbose=options.verbose)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "TensorBoard Reducer",
        description="Reduce the scalars of several TensorBoard runs to statistics per step.",
    )
    add = parser.add_argument
    add("input_dirs", nargs="+", help="Folders of the runs, one per run.")
    add(
        *("-o", "--outpath"),
        required=True,
        help="Output: a data file (.csv, .json, .xlsx, or compressed, such as .csv.gz), or a "
        "prefix for the names of event folders (OUTPATH-mean and so on). Required.",
    )
    add(
        *("-r", "--reduce-ops"),
        type=lambda names: names.split(","),
        default=["mean"],
        help="Names of pandas reductions, separated by commas: mean,std,min. Default: mean.",
    )
    add(
        *("-f", "--overwrite"),
        action="store_true",
        help="Overwrite the output of an earlier call. Default: off.",
    )
    add(
        "--lax-tags",
        action="store_true",
        help="Reduce each tag over the runs that have it. Default: all runs must have all tags.",
    )
    add(
        "--lax-steps",
        action="store_true",
        help="Keep the steps that all runs have. Default: all runs must have the same steps.",
    )
    add(
        "--handle-dup-steps",
        choices=("keep-first", "keep-last", "mean"),
        help="How to handle several values of a run at the same step. Default: reject them.",
    )
    add(
        "--min-runs-per-step",
        type=int,
        metavar="N",
        help="With --lax-steps, keep the steps that at least N runs have, so that curves continue "
        "after some runs have ended. Default: the steps that all runs have.",
    )
    add(
        "--verbose",
        action="store_true",
        help="Show progress and the data shapes. Default: off.",
    )
    add("-v", "--version", action="version", version=f"%(prog)s v{__version__}")
    return parser
