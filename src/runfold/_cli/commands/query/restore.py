"""The command `runfold restore`."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

from runfold._cli.commands.query.diff import is_commit, open_run
from runfold._cli.logdir_option import find_run_logdir
from runfold._cli.terminal import CommandError, note
from runfold._humanize import escape, human_list

if TYPE_CHECKING:
    import argparse

    from runfold._cli.parser import Parser
    from runfold._story.story_records import Code

USAGE = """\
runfold restore [options] RUN
       runfold restore [options] LOGDIR RUN"""

HELP = """\
Write a patch that restores the code of a run.

The patch contains the uncommitted changes and untracked files of the run. The
commands that restore the code are printed, not run; only the patch is written.
If the run was not in a git repository, the patch creates all recorded files.

Example:
  echo "print('hello')" > hello.py
  runfold run --logdir runs/hello -- python hello.py
  runfold restore runs/hello -o hello.patch

Exit status: 0; 2 if the run does not exist or has no recorded code, or if the
patch already exists.
"""

_MOST_NAMED = 20


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument(
        "run",
        nargs="+",
        metavar="RUN",
        help="Run folder; or a logdir and a run, as listed by `runfold ls`.",
    )
    parser.add_logdir()
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="Patch to write. Default: the run's name plus '.patch'.",
    )
    parser.add_overwrite()


def run(options: argparse.Namespace) -> int:
    """Write the patch and print the commands."""
    from runfold._atomic import replace_file
    from runfold._log.capture.code import make_patch
    from runfold._tables.by_run.run_story import read_code

    if len(options.run) > 2:
        raise CommandError("Expected a run folder, or a logdir and a run.")
    label, log = open_run([*find_run_logdir(options, options.run, 1), options.run[-1]])
    code = read_code(log)
    for problem in log.late_problems:
        note(str(problem.in_run(label)))
    patch = "" if code is None else make_patch(code)
    if code is None or not (patch or is_commit(code.commit)):
        raise CommandError(
            f"{escape(label)} has no recorded code. `rf.track` and `runfold run` record it."
        )
    name = os.path.basename(log.path) if log.name == "." else log.name
    path = options.output or re.sub(r"[^\w.+=-]", "-", name) + ".patch"
    if patch:
        with replace_file(path, options.overwrite) as file:
            file.write(patch.encode("utf-8", "backslashreplace"))
    _print_commands(code, os.path.abspath(path) if patch else None)
    return 0


def _print_commands(code: Code, patch: str | None) -> None:
    """Print the commands that restore the code, and note what is missing."""
    apply = [] if patch is None else [f"git apply {shlex.quote(patch)}"]
    if is_commit(code.commit):
        where = f"a clone of {escape(code.remote)}" if code.remote else "a clone of the project"
        note(f"In the top-level folder of {where}:")
        print(" && ".join([f"git checkout {code.commit}", *apply]))
        if not code.remote:
            note("The run does not record a URL to clone the project from.")
    else:
        note("The run records no commit. To restore its code in a new folder:")
        print(" && ".join(["git init", *apply]))
    if code.left_out:
        reasons = [f"{path} ({reason})" for path, reason in code.left_out.items()]
        note(f"Not in the log, so not restored: {human_list(reasons, _MOST_NAMED)}.")
    if code.masked:
        names = human_list(code.masked, _MOST_NAMED)
        note(f"Secrets are masked as '***' in {names}.")
    if patch is None and not (code.is_dirty or code.left_out):
        note("All of the code was committed, so there is no patch.")
    for remark in code.notes:
        note(escape(remark))
