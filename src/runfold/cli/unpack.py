"""The command `runfold unpack`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runfold.cli.terminal import note
from runfold.text import escape, human_count

if TYPE_CHECKING:
    import argparse

    from runfold.cli.parser import Parser

HELP = """\
Give back the event files of a pack.

They are the same, byte for byte, in the same folders; TensorBoard shows them as
it showed the logdir. The folder must not be there yet: nothing is overwritten.

Example:
  runfold unpack runs.parquet -o runs/

Exit status: 0; 2 for a file that is no pack, or where the folder exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument("pack", metavar="PACK", help="What `runfold pack` wrote.")
    parser.add_argument(
        "-o", "--output", metavar="DIR", required=True, help="The folder, which is made."
    )


def run(options: argparse.Namespace) -> int:
    """Unpack, and say how much there was."""
    from runfold.export.pack import unpack_logdir

    count = unpack_logdir(options.pack, options.output)
    print(escape(options.output, 4096))
    note(f"Unpacked {human_count(count, 'event file')}.")
    return 0
