"""The command `runfold repair`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold._cli.commands.change.edit import add_places, chosen_places
from runfold._cli.logdir_option import only_logdir
from runfold._cli.terminal import note, print_json
from runfold._humanize import escape

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
Salvage every good record of broken event files.

Writes a copy of the logdir with sound event files, or replaces the logdir and
keeps a backup. Every record whose checksums fit is kept, also after a broken
length. Torn tails, zeros and damaged records are removed, and a missing header
is added. Whole files, and all others, are copied as they are. Prints one line
per stretch of lost bytes, up to ten per file. If no file needs repair, it says
so and writes nothing.

Example:
  runfold repair demo-runs -o sound

Exit status: 0, also with losses; 2 for a path that leads nowhere or output that
exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    add_places(parser)
    parser.add_json()


def run(options: argparse.Namespace) -> int:
    """Repair, and say what was lost."""
    from runfold._edit import repair

    report = repair(only_logdir(options.logdirs), options.output, **chosen_places(options))
    if options.json:
        print_json(report)
    else:
        for file in report.files:
            for line in file.lines:
                print(line)
    text = report.summary
    if report.backup is not None:
        text += f" The logdir as it was: {escape(report.backup, 4096)}"
    note(text)
    return 0
