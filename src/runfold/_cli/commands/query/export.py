"""The command `runfold export`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._cli.engine_option import open_paths
from runfold._cli.terminal import note, note_problems
from runfold._events.kinds import TABLES as KIND_TABLES
from runfold._humanize import escape, human_count

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
Export runs as tables, pictures and audio clips.

A file's suffix sets its format. A file contains one kind of data, except that
an .xlsx file has one sheet per kind. A folder (a name that ends in a slash) has
one file per kind. Numbers, including NaN and infinity, are exact in all
formats. Pictures and clips are embedded (in Parquet, as Hugging Face Datasets
expects them) or saved as separate files. Prints the paths of the tables. A note
reports data that a format cannot store.

Example:
  runfold export demo-runs -o everything/

Exit status: 0; 2 if a path, tag or kind does not exist, or if the output
already exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="Output file, or a folder if the name ends in a slash. A file's suffix sets its"
        " format: {formats}. Required.",
    )
    parser.add_argument(
        "--kinds",
        "--kind",
        action="append",
        metavar="KIND",
        help=f"Kinds to export, separated by commas: {', '.join(KIND_TABLES)} or problem"
        " (repeatable). Default: all kinds that the runs have. A file that can hold only one"
        " kind contains scalars by default, images with --images, or audio with --audio.",
    )
    parser.add_argument(
        "--tags",
        "--tag",
        action="append",
        metavar="TAG",
        help="Only these tags: a name or a quoted glob (repeatable). Default: all.",
    )
    parser.add_argument(
        "--runs",
        "--run",
        action="append",
        metavar="RUN",
        help="Only these runs: a name or a quoted glob (repeatable). Default: all.",
    )
    parser.add_argument(
        "--images",
        metavar="DIR",
        help="Save pictures as files in this folder, and put their paths in the table."
        " Default: embed them in the table.",
    )
    parser.add_argument(
        "--audio",
        metavar="DIR",
        help="Save audio clips as files in this folder, and put their paths in the table."
        " Default: embed them in the table.",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        help="Format of the files in an output folder, such as csv or jsonl.gz. Default: parquet.",
    )
    parser.add_overwrite()
    parser.add_escape_formulas()
    parser.add_restarts()
    parser.add_memory()
    parser.add_engine()


def run(options: argparse.Namespace) -> int:
    """Write the files, print their paths and report the number of rows."""
    from runfold._export.dump import TABLES
    from runfold._runs import Runs

    kinds = options.kinds and [name for text in options.kinds for name in text.split(",")]
    logdir = open_paths(options)
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
        note_problems(logdir, read, options.logdirs)
    return 0
