"""The command `runfold pack`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold._cli.engine_option import check_engine
from runfold._cli.terminal import note
from runfold._humanize import escape, human_bytes, human_count
from runfold._pack.pack_layout import SUFFIX

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
Pack a whole logdir into one Parquet file.

Keeps every point of every kind, and everything else in the event files, so that
`runfold unpack` restores the files byte for byte. `rf.open` and the commands
that read logs accept a pack in place of a logdir. DuckDB and pandas can read it
as plain Parquet. Other files, such as artifacts and projector files, are left
out; a note reports how many.

Example:
  runfold pack demo-runs -o demo.parquet

Exit status: 0; 2 if a path has no runs or the output already exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="Pack file to write. A name that ends in a slash creates a folder, as with"
        " --partition. Default: the logdir's name plus '.parquet'.",
    )
    parser.add_argument(
        "--partition",
        action="store_true",
        help="Write a folder with one pack per run. Default: one file.",
    )
    parser.add_argument(
        "--runs",
        action="append",
        metavar="RUN",
        help="Only these runs: a name or a quoted glob (repeatable). Default: all.",
    )
    parser.add_argument(
        "-f",
        "--overwrite",
        action="store_true",
        help="Overwrite an earlier pack, but not a folder with other files in it. Default: off.",
    )
    parser.add_engine()
    parser.add_memory()


def run(options: argparse.Namespace) -> int:
    """Pack the logdir, and report the sizes."""
    from runfold._logdir.discover import discover
    from runfold._logdir.point_cache import PointCache
    from runfold._logdir.run_parts import add_parts, find_parts
    from runfold._pack.open_logdir import connect_engine
    from runfold._pack.pack import pack_logdir
    from runfold._select import select
    from runfold._storage.local_paths import copy_files

    check_engine(options)
    engine = connect_engine(options.engine, options.address)
    logdirs = copy_files(*options.logdirs)
    output = options.output or _name(options.logdirs[0])
    only = None
    if options.runs:
        runs = discover(*logdirs).runs
        chosen = select(list(runs), options.runs, noun="run")
        # Folders created by add_hparams contain the hparams of their run.
        only = add_parts(chosen, runs, find_parts(runs))
    packed = pack_logdir(
        logdirs,
        output,
        partition=options.partition,
        overwrite=options.overwrite,
        only=only,
        engine=engine,
        cache=None if options.memory is None else PointCache(options.memory),
    )
    print(escape(output, 4096))
    factor = packed.source_bytes / packed.pack_bytes
    smaller = f" ({factor:.1f} times smaller)" if factor > 1 else ""
    note(
        f"Packed {human_count(packed.runs, 'run')}, {human_count(packed.files, 'event file')},"
        f" {human_bytes(packed.source_bytes)} into {human_bytes(packed.pack_bytes)}{smaller}."
    )
    if packed.problems:
        note(f"{human_count(packed.problems, 'problem')} in the log; see `runfold check`.")
    if packed.left_out:
        verb = "is not an event file" if packed.left_out == 1 else "are not event files"
        note(f"Left out {human_count(packed.left_out, 'file')} that {verb}.")
    return 0


def _name(logdir: str) -> str:
    """Return the default name of a logdir's pack."""
    return (os.path.basename(os.path.abspath(logdir)) or "logs") + SUFFIX
