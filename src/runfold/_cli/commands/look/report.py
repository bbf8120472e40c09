"""The command `runfold report`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from runfold._cli.terminal import CommandError, no_runs, note
from runfold._humanize import escape, human_bytes

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
Write what the page shows as one HTML file, which opens without a server.

The file holds the page itself and the data of one view: its charts can be
zoomed and pointed at, its runs sorted and switched off. It asks no network for
anything, and the runs that the view leaves out are not in it. "Save as report"
in the page of `runfold serve` writes the same for what one looks at.

Example:
  runfold report demo-runs -o report.html --view 'by=lr&isFolded=true'

Exit status: 0; 2 for a path without runs, a wrong view or condition, a report
that would be too large, or where the output exists.
"""

# Nobody else waits, as they do for a server.
_SECONDS = 3600.0


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="The HTML file. Default: report.html.",
    )
    parser.add_argument(
        "--view",
        default="",
        metavar="ADDRESS",
        help="What to show: what stands behind the question mark in the address of the page,"
        " or all of the address. Default: the curves of all runs.",
    )
    parser.add_where()
    parser.add_argument(
        "-f",
        "--overwrite",
        action="store_true",
        help="Replace a file that is there. Default: off.",
    )
    parser.add_restarts()


def run(options: argparse.Namespace) -> int:
    """Write the file and print its name."""
    from runfold._atomic import check_file, replace_file
    from runfold._serve.app import make_app
    from runfold._serve.report.page_view import read_view
    from runfold._serve.report.report_file import make_report
    from runfold._serve.run_source import Source

    check_file(options.output, options.overwrite)
    view = read_view(options.view)
    if options.where is not None:
        view = view.narrow(options.where)
    source = Source(*options.logdirs, restarts=options.restarts, seconds=_SECONDS)
    try:
        if not source.runs():
            raise CommandError(no_runs(*options.logdirs))
        data = asyncio.run(make_report(make_app(source), view))
    finally:
        source.close()
    with replace_file(options.output, options.overwrite) as file:
        file.write(data)
    print(escape(options.output, 4096))
    note(f"Wrote {human_bytes(len(data))}. It opens in any browser.")
    return 0
