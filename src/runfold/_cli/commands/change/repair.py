"""The command `runfold repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._cli.commands.change.edit import add_output_options, output_options
from runfold._cli.logdir_option import only_logdir
from runfold._cli.terminal import note, print_json
from runfold._humanize import escape

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
Salvage every good record from broken event files.

Writes a repaired copy of the logdir, or replaces the logdir and keeps a backup.
Keeps every record with valid checksums, even if the length of an earlier record
is damaged. Removes damaged records, ranges of zero bytes, and an incomplete
record at the end of a file, and adds a missing header. Copies intact event
files and all other files unchanged. Prints one line per range of lost bytes, up
to ten per file. If no file needs repair, says so and writes nothing.

Example:
  runfold repair demo-runs -o sound

Exit status: 0, even if data was lost; 2 if a path does not exist or
the output already exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    add_output_options(parser)
    parser.add_json()


def run(options: argparse.Namespace) -> int:
    """Repair the logdir, and report what was lost."""
    from runfold._edit import repair

    report = repair(only_logdir(options.logdirs), options.output, **output_options(options))
    if options.json:
        print_json(report)
    else:
        for file in report.files:
            for line in file.lines:
                print(line)
    text = report.summary
    if report.backup is not None:
        text += f" Backup of the original: {escape(report.backup, 4096)}"
    note(text)
    return 0
