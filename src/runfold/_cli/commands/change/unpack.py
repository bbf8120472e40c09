"""The command `runfold unpack`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold._cli.logdir_option import find_logdirs, only_logdir
from runfold._cli.terminal import CommandError, note
from runfold._humanize import escape, human_count
from runfold._pack.pack_layout import SUFFIX

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser

HELP = """\
Restore the event files from a pack.

The restored files are identical to the originals, byte for byte, and are in the
same folders, so TensorBoard shows them exactly as it shows the original logdir.
The output folder must not exist yet; nothing is overwritten.

Example:
  runfold pack demo-runs -o archive.parquet
  runfold unpack archive.parquet -o copy

Exit status: 0; 2 if the file is not a pack, or if the folder already
exists.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument(
        "pack", nargs="?", metavar="PACK", help="Pack to unpack: a file or a folder."
    )
    parser.add_argument(
        "--logdir",
        action="append",
        metavar="PACK",
        help="The pack, as an alternative to the positional argument. Default: none.",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="New folder for the event files. Default: the pack's name without '.parquet'.",
    )


def run(options: argparse.Namespace) -> int:
    """Unpack the event files, and report how many there are."""
    from runfold._pack.pack import unpack_logdir

    if not (options.pack or options.logdir):
        raise CommandError("Specify the pack to unpack.")
    pack = only_logdir(find_logdirs([options.pack] if options.pack else [], options))
    name = os.path.basename(os.path.abspath(pack))
    output = options.output or name.removesuffix(SUFFIX)
    count = unpack_logdir(pack, output)
    print(escape(output, 4096))
    note(f"Unpacked {human_count(count, 'event file')}.")
    return 0
