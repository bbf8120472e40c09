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
Save a view of the page as a standalone HTML file.

The file contains the page and the data of one view. You can zoom into and
inspect its charts, and sort or hide its runs. The file needs no server, makes
no network requests, and does not contain the runs that the view leaves out.
"Save as report" on the page of `runfold serve` writes the same file for the
current view.

Example:
  runfold report demo-runs -o report.html --view 'by=lr&isFolded=true'

Exit status: 0; 2 if a path has no runs, the view or condition is invalid, the
report would be too large, or the output already exists.
"""

# Longer than a server allows, because no other request has to wait.
_SECONDS = 3600.0


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "-o",
        "--output",
        default="report.html",
        metavar="FILE",
        help="HTML file to write. Default: report.html.",
    )
    parser.add_argument(
        "--view",
        default="",
        metavar="URL",
        help="View to save: the URL of the page, or the part of the URL after '?' or '#'."
        " Default: the curves of all runs.",
    )
    parser.add_where()
    parser.add_overwrite()
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
