"""The command `runfold stop`."""

from __future__ import annotations

import argparse
import math
import os
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from runfold._cli.logdir_option import default_logdir, find_logdir
from runfold._cli.terminal import CommandError, note, print_json
from runfold._humanize import escape, human_duration
from runfold._storage.local_paths import locate_run
from runfold._storage.url import is_url, mask_url
from runfold.errors import LogdirNotFound, RunfoldError, UnknownTrial

if TYPE_CHECKING:
    from runfold._cli.parser import Parser
    from runfold._story.stopping import Stop

HELP = """\
Ask runs to stop, and wait until they have stopped.

The request is a file in the run's folder, so you can send it from any machine
that can write to that folder, and the training job needs no open port. A run
tracked with `rf.track` sees the request within a second or two. The run is then
interrupted as if by Ctrl-C, or calls its `on_stop` function. A command started
by `runfold run` is interrupted. Progress is printed at each stage. With --kill,
a run that outlasts the grace period is ended if its process is on this machine:
the process gets SIGTERM. If the process is still running ten seconds later, it
gets SIGKILL, and so do all processes that it started. All actions are recorded
in the audit log. A run can be stopped only once it has started; the loop in the
example waits for that.

Example:
  runfold run --logdir runs/slow -- sleep 600 &
  until runfold stop slow --reason "it takes too long"; do sleep 1; done

Exit status: 0 if all runs have ended, 1 if any run is still running, 2 if any
run does not exist, was not running or cannot be stopped.
"""

_OUTSIDE = (os.curdir + os.sep, os.pardir + os.sep)


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    from runfold._story.stopping import GRACE

    parser.add_argument(
        "runs",
        nargs="+",
        metavar="RUN",
        help="Run name or a unique prefix of it, trial id, or run folder.",
    )
    parser.add_logdir(is_only=True)
    parser.add_argument(
        "--reason",
        default="",
        metavar="TEXT",
        help="Reason to record in the run's log. Default: none.",
    )
    parser.add_argument(
        "--grace",
        type=_read_seconds,
        default=GRACE,
        metavar="SECONDS",
        help=f"Seconds to wait for a run to end. Default: {GRACE:g}.",
    )
    parser.add_argument(
        "--kill",
        action="store_true",
        help="End the process of a run that outlasts the grace period. Default: off.",
    )
    parser.add_argument(
        "--no-wait", action="store_true", help="Send the request and do not wait. Default: off."
    )
    parser.add_json()


def run(options: argparse.Namespace) -> int:
    """Request the stops, wait, and report how each run ended."""
    if options.kill and options.no_wait:
        raise CommandError("--kill waits for the run to end. Remove --no-wait or --kill.")
    # Find all runs before stopping any.
    has_names = options.logdir or not all(map(_is_folder, options.runs))
    logdir = find_logdir(options) if has_names else default_logdir()
    folders = dict.fromkeys(_find(text, logdir, options) for text in options.runs)
    jobs = [_Job(name, folder, options) for name, folder in folders]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    for job in jobs:
        job.report()
    if options.json:
        print_json([job.describe() for job in jobs])
    return max(job.status for job in jobs)


def _is_folder(text: str) -> bool:
    """Return whether text is a run's folder or URL rather than a name in a logdir."""
    return is_url(text) or os.path.isabs(text) or os.path.isdir(text)


def _find(text: str, logdir: str, options: argparse.Namespace) -> tuple[str, str]:
    """Return a run's display name and its folder. Raises UnknownTrial."""
    if is_url(text):
        return mask_url(text), locate_run(text)
    if not (os.path.isabs(text) or text.startswith(_OUTSIDE)):
        from runfold._experiments import open_experiments

        try:
            trial = open_experiments(logdir, is_written=False).find_trial(text)
        except (UnknownTrial, LogdirNotFound):
            if options.logdir is not None or not os.path.isdir(text):
                raise
        else:
            return trial.name, trial.path
    return text, os.path.abspath(text)


@dataclass
class _Job:
    """A job that stops one run in its own thread. Ctrl-C ends the wait but keeps the request."""

    name: str
    folder: str
    options: argparse.Namespace
    stop: Stop | None = None
    error: RunfoldError | None = None

    def start(self) -> None:
        self._begun = time.monotonic()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    @property
    def status(self) -> int:
        """The exit status for this run."""
        if self.error is not None:
            return 2
        assert self.stop is not None
        return 0 if self.stop.is_over or self.options.no_wait else 1

    def report(self) -> None:
        """Print how the run ended, or what to do if it has not."""
        if self.error is not None:
            note(str(self.error))
        elif self.stop is not None and self.status:
            has_seen = self.stop.stage == "seen"
            response = "has seen the request but" if has_seen else "has not responded and"
            grace = human_duration(self.options.grace)
            note(
                f"{escape(self.name)} {response} is still running after {grace}."
                " Wait longer with --grace, or end it with --kill."
            )
        elif self.stop is not None and self.stop.is_over and not self.options.json:
            print(f"{escape(self.name)}: {escape(self.stop.state)}")

    def describe(self) -> dict[str, Any]:
        """Return the result for --json."""
        return {
            "run": self.name,
            "folder": self.folder,
            "stage": None if self.stop is None else self.stop.stage,
            "state": None if self.stop is None else self.stop.state,
            "request": None if self.stop is None else self.stop.request,
            "error": None if self.error is None else str(self.error),
        }

    def _work(self) -> None:
        from runfold._story.stopping import stop_run

        options = self.options
        try:
            self.stop = stop_run(
                self.folder,
                reason=options.reason,
                grace=options.grace,
                kill=options.kill,
                wait=not options.no_wait,
                how="command",
                on_stage=self._note_stage,
            )
        except RunfoldError as error:
            self.error = error

    def _note_stage(self, stop: Stop) -> None:
        after = human_duration(time.monotonic() - self._begun)
        message = {
            "asked": "asked to stop" if stop.is_new else _describe_earlier(stop),
            "seen": f"saw the request after {after}",
            "terminated": f"sent SIGTERM after {after}",
            "killed": f"killed after {after}",
            "ended": f"ended after {after}",
        }[stop.stage]
        note(f"{escape(self.name)}: {message}.")


def _describe_earlier(stop: Stop) -> str:
    request = stop.request
    who = f" by {escape(request.who)}" if request is not None and request.who else ""
    why = f" ({escape(request.reason)})" if request is not None and request.reason else ""
    return f"was already asked to stop{who}{why}"


def _read_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds <= threading.TIMEOUT_MAX:
        raise argparse.ArgumentTypeError(f"expected a non-negative number of seconds, got '{text}'")
    return seconds
