"""The command `runfold run`."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from runfold._cli.terminal import CommandError, note
from runfold._humanize import escape

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from runfold._cli.parser import Parser
    from runfold._story.status import State

USAGE = "runfold run [options] -- COMMAND ..."
HELP = """\
Track a script without changing it.

Runs the command and records everything you need to understand and reproduce it:
code, command line, host, packages, system metrics, standard output and error,
and how it ended. The record is an event file in the run's folder. '{logdir}' in
the command is replaced by the path of that folder, which is also in the
environment variable RUNFOLD_LOGDIR. In Python programs, Runfold, torch and
tensorboardX writers log to that folder by default. If a torch, tensorboardX or
TensorFlow writer logs to another folder, the run's folder contains a link to
that folder.

Example:
  echo "print('hello')" > hello.py
  runfold run --logdir runs/hello -- python hello.py

Exit status: the command's status, or 2 if the command cannot be started.
"""

_NOT_STARTED = 2
_INTERRUPTED = 128 + signal.SIGINT
_KILLED = (128 + signal.SIGTERM, 128 + signal.SIGKILL)


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="Command to run, after '--'.")
    parser.add_argument(
        "--logdir",
        metavar="DIR",
        help="The run's folder, or a URL such as s3://bucket/run. Default: runs/<script>-<time>.",
    )
    parser.add_argument(
        "--no-autolog",
        action="store_true",
        help="Do not change where other writers log, and do not link to their folders. Default:"
        " off.",
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
        help="Continue the earlier run in the --logdir folder. Default: off.",
    )
    parser.add_argument(
        "--storage",
        metavar="URL",
        help="As the run grows, upload it to a URL such as s3://bucket/runs or to a shared folder,"
        " under the name of the run's folder. Default: no upload.",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command, and return its exit status."""
    from runfold._cli.autolog import add_hook, list_linked
    from runfold._log.summary.summary_writer import LOGDIR_VARIABLE
    from runfold._log.track.tracker import Tracker
    from runfold._log.writer.run_uploads import STORAGE_VARIABLE

    _check_program(options.command[0])
    folder = options.logdir or _default_folder(options.command)
    child = _Child()
    tracker = Tracker(
        folder,
        resume=options.resume,
        code=not options.no_code,
        system=not options.no_system,
        output=not options.no_output,
        command=options.command,
        on_stop=lambda _: child.ask_to_stop(),
        storage=options.storage,
    )
    with tracker, ExitStack() as stack:
        command = [part.replace("{logdir}", tracker.folder) for part in options.command]
        environment = {**os.environ, LOGDIR_VARIABLE: os.path.abspath(tracker.folder)}
        if not options.no_autolog:
            environment = stack.enter_context(add_hook(environment))
        if tracker.storage:
            environment[STORAGE_VARIABLE] = tracker.storage
        try:
            status = child.run(command, environment)
        except OSError as error:
            tracker.fail(_NOT_STARTED)
            raise CommandError(
                f"{escape(command[0])}: {error.strerror}. Nothing was run."
            ) from None
        if child.is_terminated or (status in _KILLED and not tracker.should_stop):
            tracker.fail(status, "killed")
        elif status:
            is_interrupt = status == _INTERRUPTED
            state: State = "interrupted" if is_interrupt else "failed"
            tracker.fail(status, "stopped" if tracker.should_stop else state)
    shown = escape(shlex.join(command))
    location = tracker.folder if os.path.isdir(tracker.folder) else tracker.storage or ""
    linked = list_linked(tracker.folder)
    other = f" The run links to {escape(', '.join(linked))}." if linked else ""
    note(f"{shown} ended with status {status}. Tracked in {escape(location)}.{other}")
    return status


class _Child:
    """The running command and the signals forwarded to it."""

    def __init__(self) -> None:
        self.is_terminated = False
        self._process: subprocess.Popen[bytes] | None = None
        self._pending: list[int] = []

    def run(self, command: list[str], environment: Mapping[str, str]) -> int:
        """Return the status as a shell would. Raises OSError if the command cannot be started."""
        # Install the handlers first: a signal can arrive before Popen returns.
        previous = {
            number: signal.signal(number, self._forward)
            for number in (signal.SIGINT, signal.SIGTERM)
            if signal.getsignal(number) is not signal.SIG_IGN
        }
        try:
            self._process = subprocess.Popen(command, env=environment)
            self._send_pending()
            status = self._process.wait()
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
        return status if status >= 0 else 128 - status

    def ask_to_stop(self) -> None:
        """Interrupt the command."""
        # Jobs that a shell script starts with `&` ignore SIGINT, and so do their children.
        ignores_sigint = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        self._send(signal.SIGTERM if ignores_sigint else signal.SIGINT)

    def _forward(self, number: int, _: object) -> None:
        if number == signal.SIGTERM:
            self.is_terminated = True
        elif _is_in_foreground():
            return  # the terminal interrupts both; a second signal would cut a clean exit short
        self._send(number)

    def _send(self, number: int) -> None:
        self._pending.append(number)
        self._send_pending()

    def _send_pending(self) -> None:
        # Two threads can get here at once if a stop request arrives as the process starts.
        with suppress(IndexError):
            while self._process is not None:
                self._process.send_signal(self._pending.pop())


def _is_in_foreground() -> bool:
    """Return whether a terminal's Ctrl-C reaches this process and its children."""
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


def _check_program(program: str) -> None:
    """Raise CommandError if the program cannot be run, before its run folder is created."""
    if "{logdir}" in program or shutil.which(program) is not None:
        return
    if not os.path.isfile(program):
        reason, hint = "No such program", ""
    else:
        reason = "Not an executable file"
        hint = f" Did you mean `python {escape(program)}`?" if program.endswith(".py") else ""
    raise CommandError(f"{escape(program)}: {reason}. Nothing was run.{hint}")


def _default_folder(command: list[str]) -> str:
    from runfold._log.capture.script_imports import find_script

    path = os.path.splitext(find_script(command) or command[0])[0]
    stem = os.path.basename(path.removesuffix(f"{os.sep}__main__"))
    return os.path.join("runs", f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}")
