"""The command `runfold check`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold._cli.terminal import no_runs, note, print_json
from runfold._humanize import escape, human_bytes, human_count
from runfold._tables.frames.unknown_plugins import PluginLine, describe_plugins, list_plugins
from runfold.errors import BadLog

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser
    from runfold._events.problems import Problem
    from runfold._logdir.loader import Logdir

HELP = """\
Find all problems in event files.

Reads every record, verifies both of its checksums and decodes every value of
every kind once. Also lists side files of runs, such as `.runfold/heartbeat`,
that are too large or are not regular files, and configuration files, such as
`hparams.yaml`, that cannot be read. Prints one line per problem: the file, the
byte offset, what is wrong, and how it was handled. A summary on stderr also
counts the values of plugins that Runfold does not know. A value that only its
plugin can read is not reported as a problem.

Example:
  runfold check demo-runs && echo sound

Exit status: 0 without problems, 1 with problems, 2 if a path does not exist.
"""


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_logdirs()
    parser.add_argument(
        "--strict",
        action="store_true",
        help="Stop at the first problem; do not read further runs. Default: off.",
    )
    parser.add_json()


def run(options: argparse.Namespace) -> int:
    """Print the problems."""
    from runfold._pack.open_logdir import open_logdir

    # Also check values that are hidden by a restart or by another folder of the run.
    logdir = open_logdir(*options.logdirs, restarts="keep", join=False)
    try:
        problems = find_problems(logdir, options.strict)
    except BadLog as stop:
        problems = [stop.problem]  # type: ignore[list-item]
    if options.json:
        print_json({"problems": problems, **_totals(logdir), "unknown": _plugins(logdir)})
        return 1 if problems else 0
    for problem in problems:
        print(f"{_shown(problem.file)}: {problem.message}")
    if logdir.logs or problems:
        note(_summary(logdir, len(problems), options.strict))
        for sentence in describe_plugins(_plugins(logdir)):
            note(sentence)
    else:
        note(no_runs(*options.logdirs))
    return 1 if problems else 0


def find_problems(logdir: Logdir, is_strict: bool = False) -> list[Problem]:
    """Read all runs, decode all their values, and return the problems.

    If strict, raise BadLog at the first problem, and read no further runs.
    """
    from runfold._progress import progress_bar
    from runfold._story.odd_side_files import find_odd_files
    from runfold._tables.found_config.config_reader import check_config
    from runfold._tables.frames.decoded_values import check_values

    if is_strict and logdir.problems:
        raise BadLog(logdir.problems[0])
    if not is_strict:
        logdir.load()
    with progress_bar(lambda: _totals(logdir)["bytes"], "Checking") as advance:
        for log in logdir.logs.values():
            if is_strict:
                logdir.load([log])
                for problem in log.list_problems():
                    raise BadLog(problem)
            log.is_strict = is_strict
            check_values(log)
            for problem in find_odd_files(log.path):
                log.note(problem)
            check_config(log)
            advance(log.size)
    return logdir.list_problems()


def _totals(logdir: Logdir) -> dict[str, int]:
    logs = [log for log in logdir.logs.values() if log.is_loaded]
    files = [file for log in logs for file in log.files]
    return {
        "runs": len(logs),
        "files": len(files),
        "records": sum(file.decoder.events for file in files),
        "bytes": sum(file.size for file in files),
    }


def _plugins(logdir: Logdir) -> list[PluginLine]:
    return [line for log in logdir.logs.values() if log.is_loaded for line in list_plugins(log)]


def _summary(logdir: Logdir, problems: int, is_strict: bool) -> str:
    totals = _totals(logdir)
    read = (
        f"{human_count(totals['files'], 'event file')} with {human_count(totals['records'])}"
        f" records, {human_bytes(totals['bytes'])}"
    )
    if problems and is_strict:
        return f"Stopped at the first problem. Read {read}."
    count = human_count(problems, "problem") if problems else "No problems"
    return f"{count} in {read}."


def _shown(path: str) -> str:
    """Return a path to copy: relative if it is below the current folder, otherwise unchanged."""
    here = os.path.relpath(path)
    return escape(path if here.startswith(os.pardir) else here, 4096)
