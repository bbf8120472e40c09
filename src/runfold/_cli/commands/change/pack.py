"""The command `runfold pack`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold._cli.terminal import note
from runfold._humanize import escape, human_bytes, human_count
from runfold._pack.pack_layout import SUFFIX

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
Put a whole logdir into one Parquet file.

Every point of every kind is kept, and all that makes up the event files, so
that `runfold unpack` gives the same bytes again. Every command and `rf.open`
take a pack in place of a logdir; DuckDB and pandas read it as Parquet. Other
files (artifacts, the files of a projector) are left out, and counted.

Example:
  runfold pack demo-runs -o demo.parquet

Exit status: 0; 2 for a path without runs, or where the output exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="The pack; with a slash at its end, a folder as with --partition."
        " Default: the logdir's name and '.parquet'.",
    )
    parser.add_argument(
        "--partition",
        action="store_true",
        help="Write a folder with one pack for each run. Default: one file.",
    )
    parser.add_argument(
        "--runs",
        action="append",
        metavar="RUN",
        help="Only these runs: a name or a glob in quotes (repeatable). Default: all.",
    )
    parser.add_argument(
        "-f",
        "--overwrite",
        action="store_true",
        help="Replace an earlier pack. A folder with anything else in it stays. Default: off.",
    )


def run(options: argparse.Namespace) -> int:
    """Pack, and say what became of it."""
    from runfold._logdir.discover import discover
    from runfold._logdir.run_parts import add_parts, find_parts
    from runfold._pack.pack import pack_logdir
    from runfold._select import select
    from runfold._storage.local_paths import fetch

    logdirs = fetch(*options.logdirs)
    output = options.output or _name(options.logdirs[0])
    only = None
    if options.runs:
        runs = discover(*logdirs).runs
        chosen = select(list(runs), options.runs, noun="run")
        # The folders that add_hparams made hold the hparams of their run.
        only = add_parts(chosen, runs, find_parts(runs))
    packed = pack_logdir(
        logdirs,
        output,
        partition=options.partition,
        overwrite=options.overwrite,
        only=only,
    )
    print(escape(output, 4096))
    factor = packed.source_bytes / packed.pack_bytes
    smaller = f" ({factor:.1f} times smaller)" if factor > 1 else ""
    note(
        f"Packed {human_count(packed.runs, 'run')}, {human_count(packed.files, 'event file')},"
        f" {human_bytes(packed.source_bytes)} into {human_bytes(packed.pack_bytes)}{smaller}."
    )
    if packed.problems:
        note(f"{human_count(packed.problems, 'problem')} kept with them; see `runfold check`.")
    if packed.left_out:
        verb = "is not an event file" if packed.left_out == 1 else "are not event files"
        note(f"Left out {human_count(packed.left_out, 'file')} that {verb}.")
    return 0


def _name(logdir: str) -> str:
    """The name of the pack of a logdir, here."""
    return (os.path.basename(os.path.abspath(logdir)) or "logs") + SUFFIX
