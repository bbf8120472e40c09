"""The command `runfold restore`."""

from __future__ import annotations

import os
import re
import shlex
from typing import TYPE_CHECKING

from runfold._cli.commands.query.diff import is_commit, open_run
from runfold._cli.logdir_option import find_place
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
Write the patch that gives back the code of a run.

The patch holds what was not committed and the files that git did not know. The
commands that bring the code back are printed, not run: nothing but the patch is
written. Where there was no git, the patch makes all files anew.

Example:
  echo "print('hello')" > hello.py
  runfold run --logdir runs/hello -- python hello.py
  runfold restore runs/hello -o hello.patch

Exit status: 0; 2 for a run that does not exist or has no recorded code, or
where the patch exists.
"""

_MOST_NAMED = 20


def add_arguments(parser: Parser) -> None:
    """Declare the options."""
    parser.add_argument(
        "run",
        nargs="+",
        metavar="RUN",
        help="The folder of a run; or a logdir and a run, as `runfold ls` names it.",
    )
    parser.add_logdir()
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="The patch. Default: the run's name and '.patch'."
    )
    parser.add_argument(
        "-f", "--overwrite", action="store_true", help="Replace that file. Default: off."
    )


def run(options: argparse.Namespace) -> int:
    """Write the patch and print the commands."""
    from runfold._atomic import replace_file
    from runfold._log.capture.code import make_patch
    from runfold._tables.by_run.run_story import read_code

    if len(options.run) > 2:
        raise CommandError("One run is restored: give its folder, or a logdir and its name.")
    label, log = open_run([*find_place(options, options.run, 1), options.run[-1]])
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
    _advise(code, os.path.abspath(path) if patch else None)
    return 0


def _advise(code: Code, patch: str | None) -> None:
    """Say how the code comes back, and what stands in the way."""
    apply = [] if patch is None else [f"git apply {shlex.quote(patch)}"]
    if is_commit(code.commit):
        where = f"a clone of {escape(code.remote)}" if code.remote else "a clone of the project"
        note(f"In {where}, at its top:")
        print(" && ".join([f"git checkout {code.commit}", *apply]))
        if not code.remote:
            note("The run does not say where the project can be cloned from.")
    else:
        note("The run names no commit; in a new folder its files are made anew:")
        print(" && ".join(["git init", *apply]))
    if code.left_out:
        reasons = [f"{path} ({reason})" for path, reason in code.left_out.items()]
        note(f"Not in the log, and so not restored: {human_list(reasons, _MOST_NAMED)}.")
    if code.masked:
        names = human_list(code.masked, _MOST_NAMED)
        note(f"Secrets are masked as '***' in {names}.")
    if patch is None and not (code.is_dirty or code.left_out):
        note("All of the code was committed, so there is no patch.")
    for remark in code.notes:
        note(escape(remark))
