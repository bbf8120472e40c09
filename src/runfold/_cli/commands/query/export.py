"""The command `runfold export`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._cli.terminal import note, tell_problems
from runfold._events.kinds import TABLES as KIND_TABLES
from runfold._humanize import escape, human_count

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
Write what runs hold as tables, pictures and clips.

A file holds one kind, in the format of its suffix. One that ends in .xlsx has a
sheet for each kind, and a folder, named with a slash at its end, a file for
each. Numbers are exact in all of them, NaN and infinity too. Pictures and
clips go inside, in Parquet as Hugging Face datasets shows them, or to files of
their own. Prints the files of tables; what a format cannot hold is said.

Example:
  runfold export demo-runs -o everything/

Exit status: 0; 2 for a path, tag or kind that does not exist, or where the
output exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="A file, in the format of its suffix: {formats}; or a folder with a slash at its"
        " end. Required.",
    )
    parser.add_argument(
        "--kinds",
        "--kind",
        action="append",
        metavar="KIND",
        help=f"{', '.join(KIND_TABLES)} or problem, separated by commas (repeatable). Default:"
        " all existing kinds; for a file that holds one kind, scalar, or image with --images,"
        " or audio with --audio.",
    )
    parser.add_argument(
        "--tags",
        "--tag",
        action="append",
        metavar="TAG",
        help="Only these tags: a name or a glob in quotes (repeatable). Default: all.",
    )
    parser.add_argument(
        "--runs",
        "--run",
        action="append",
        metavar="RUN",
        help="Only these runs: a name or a glob in quotes (repeatable). Default: all.",
    )
    parser.add_argument(
        "--images",
        metavar="DIR",
        help="Write pictures to files in this folder, and their paths into the table."
        " Default: inside the table.",
    )
    parser.add_argument(
        "--audio",
        metavar="DIR",
        help="The same for clips. Default: inside the table.",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        help="Of the files in a folder, such as csv or jsonl.gz. Default: parquet.",
    )
    parser.add_argument(
        "-f",
        "--overwrite",
        action="store_true",
        help="Replace files that are there. Default: off.",
    )
    parser.add_escape_formulas()
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Write the files, print their names and say what they hold."""
    from runfold._export.dump import TABLES
    from runfold._pack.open_logdir import open_logdir
    from runfold._runs import Runs

    kinds = options.kinds and [name for one in options.kinds for name in one.split(",")]
    logdir = open_logdir(*options.logdirs, restarts=options.restarts)
    done = Runs(logdir).export(
        options.output,
        kinds,
        options.tags,
        runs=options.runs,
        images=options.images,
        audio=options.audio,
        format=options.format,
        overwrite=options.overwrite,
        escape_formulas=options.escape_formulas,
    )
    print("\n".join(escape(file, 4096) for file in done.files))
    counts = [f"{human_count(count)} {TABLES[kind]}" for kind, count in done.rows.items()]
    note(f"Wrote {', '.join(counts)}.")
    for remark in done.notes:
        note(escape(remark, 1000))
    if "problem" not in done.rows:
        read = [log for log in logdir.logs.values() if log.is_loaded]
        tell_problems(logdir, read, options.logdirs)
    return 0
