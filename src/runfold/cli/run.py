"""The command `runfold run`."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from runfold.cli.terminal import CommandError, note
from runfold.text import escape

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from runfold.cli.parser import Parser
    from runfold.log.status import State

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

_NOT_STARTED = 2
_INTERRUPTED = 128 + signal.SIGINT
_KILLED = (128 + signal.SIGTERM, 128 + signal.SIGKILL)


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
    children: list[subprocess.Popen[bytes]] = []
    tracker = Tracker(
        folder,
        resume=options.resume,
        code=not options.no_code,
        system=not options.no_system,
        output=not options.no_output,
        command=options.command,
        on_stop=lambda _: _ask_to_stop(children),
    )
    with tracker:
        command = [part.replace("{logdir}", tracker.folder) for part in options.command]
        environment = {**os.environ, LOGDIR_VARIABLE: os.path.abspath(tracker.folder)}
        with _passing_on_signals(children) as came:
            try:
                child = subprocess.Popen(command, env=environment)
            except OSError as error:
                tracker.fail(_NOT_STARTED)
                raise CommandError(
                    f"{escape(command[0])}: {error.strerror}. Nothing was run."
                ) from None
            children.append(child)
            if signal.SIGTERM in came:  # before there was a child
                child.terminate()
            status = child.wait()
        if status < 0:
            status = 128 - status  # as a shell counts it
        if signal.SIGTERM in came or (status in _KILLED and not tracker.should_stop):
            tracker.fail(status, "killed")
        elif status:
            is_interrupt = status == _INTERRUPTED
            state: State = "interrupted" if is_interrupt else "failed"
            tracker.fail(status, "stopped" if tracker.should_stop else state)
    shown = escape(shlex.join(command))
    note(f"{shown} ended with status {status}. Tracked in {escape(tracker.folder)}.")
    return status


@contextmanager
def _passing_on_signals(children: list[subprocess.Popen[bytes]]) -> Iterator[list[int]]:
    """Leave Ctrl-C and SIGTERM to the child, from before it begins; gives those that came."""
    came: list[int] = []

    def pass_on(number: int, _: object) -> None:
        came.append(number)
        # A terminal interrupts both, and twice would cut short what the first began.
        if number == signal.SIGTERM or not _is_in_foreground():
            for child in children:
                child.send_signal(number)

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # which the child inherits
        numbers.append(signal.SIGINT)
    previous = [signal.signal(number, pass_on) for number in numbers]
    try:
        yield came
    finally:
        for number, handler in zip(numbers, previous, strict=True):
            signal.signal(number, handler)


def _ask_to_stop(children: list[subprocess.Popen[bytes]]) -> None:
    # A shell script lets what it starts with `&` ignore SIGINT, and so do its children.
    is_deaf = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    for child in children:
        child.send_signal(signal.SIGTERM if is_deaf else signal.SIGINT)


def _is_in_foreground() -> bool:
    """Whether a terminal's Ctrl-C comes to this process and its children."""
    try:
        terminal = os.open(os.ctermid(), os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _default_folder(command: list[str]) -> str:
    script = next((part for part in command if part.endswith(".py")), command[0])
    stem = os.path.splitext(os.path.basename(script))[0]
    return os.path.join("runs", f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}")
