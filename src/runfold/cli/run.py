"""The command `runfold run`."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from typing import TYPE_CHECKING

from runfold.cli.terminal import CommandError, note
from runfold.text import escape

if TYPE_CHECKING:
    import argparse

    from runfold.cli.parser import Parser

USAGE = "runfold run [options] -- COMMAND ..."
HELP = """\
Track a script that was not changed.

Runs the command and records what makes it reproducible into an event file of
the run's folder: code, command line, host, packages, system metrics, standard
output and error, and how it ended. '{logdir}' in the command stands for that
folder, which is also in the variable RUNFOLD_LOGDIR, and is where Runfold's own
SummaryWriter writes if it is given no other.

Example:
  runfold run --logdir runs/seed-1 -- python train.py --log-dir {logdir}

Exit status: 0 where the command ended well, or else its own; 2 where it cannot
be started.
"""

NOT_FOUND = 2


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="What to run, after '--'.")
    parser.add_argument(
        "--logdir",
        metavar="DIR",
        help="The run's folder. Default: runs/<script>-<time>.",
    )
    parser.add_argument(
        "--no-output",
        action="store_true",
        help="Do not record standard output and error. Default: off.",
    )
    parser.add_argument(
        "--no-code", action="store_true", help="Do not record the code. Default: off."
    )
    parser.add_argument(
        "--no-system", action="store_true", help="Do not log system metrics. Default: off."
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="Go on with the run in that folder. Default: off.",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command, and give its exit status."""
    from runfold.log.summary import LOGDIR_VARIABLE
    from runfold.log.track import Tracker

    folder = options.logdir or _default_folder(options.command)
    tracker = Tracker(
        folder,
        resume=options.resume,
        code=not options.no_code,
        system=not options.no_system,
        output=not options.no_output,
        command=options.command,
    )
    with tracker:
        command = [part.replace("{logdir}", tracker.folder) for part in options.command]
        environment = {**os.environ, LOGDIR_VARIABLE: os.path.abspath(tracker.folder)}
        try:
            child = subprocess.Popen(command, env=environment)
        except OSError as error:
            tracker.fail(NOT_FOUND)
            raise CommandError(
                f"{escape(command[0])}: {error.strerror}. Nothing was run."
            ) from None
        status = _wait(child)
        if status:
            tracker.fail(status)
    note(f"{shlex.join(command)} ended with status {status}. Tracked in {escape(tracker.folder)}.")
    return status if status >= 0 else 128 - status


def _wait(child: subprocess.Popen[bytes]) -> int:
    """Wait for the child; signals to this process go on to it."""
    previous = signal.signal(signal.SIGTERM, lambda number, _: child.send_signal(number))
    try:
        while True:
            try:
                return child.wait()
            except KeyboardInterrupt:
                # A terminal interrupts both; a stop request only this process.
                child.send_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGTERM, previous)


def _default_folder(command: list[str]) -> str:
    script = next((part for part in command if part.endswith(".py")), command[0])
    stem = os.path.splitext(os.path.basename(script))[0]
    return os.path.join("runs", f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}")
