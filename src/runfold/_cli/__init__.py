"""The command line: what `runfold` does with its arguments.

    commands            one file for each command
    parser              arguments to a command and its options
    subcommands         commands with actions, such as `runfold experiments list`
    logdir_option       the logdir of a command: argument, --logdir or default
    where_option        --where, which chooses runs by a condition
    fold_options        options of the commands that fold runs
    terminal            tables, JSON and notes on stderr
    column_fit          which columns of a wide table fit the window
    render              one value of each kind as lines and as JSON
    show_arguments      the logdir, run and tag that `runfold show` is given
    kind_views          what `runfold show` prints for each kind
    instance_arguments  the runs that `runfold tensorboard start` chooses
    instance_list       what `runfold tensorboard list` prints
    login_links         login links, printed or kept in a private file
    browser             the browser, opened at such a link
    demo_training       the training of `runfold demo`

The argument parser is Python's own: typer brings pydantic along, and the two take
longer to import than `runfold ls` may take in all.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; a user's mistake is one line on stderr.

    0 is success, 1 that `check` found problems or a run continues after `stop`, 2 a wrong
    option, path or name.
    Ctrl-C gives 130, SIGTERM 143, and output that nobody reads 141, all three without a
    message and after unfinished output is removed. Without `argv` the arguments are those
    of the process, which then ends within a second of a signal.
    """
    if argv is None:
        from runfold._signals import run_process

        return run_process(lambda: run_command(sys.argv[1:]))
    from runfold._signals import INTERRUPTED, PIPE_CLOSED
    from runfold._streams import discard_output

    try:
        return run_command(list(argv))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        discard_output()
        return PIPE_CLOSED


def run_command(argv: list[str]) -> int:
    """Run a command and return its exit status. Raises KeyboardInterrupt and BrokenPipeError."""
    from runfold._cli.terminal import note
    from runfold._streams import OutputLost, flush_output
    from runfold.errors import BadLog, RunfoldError

    try:
        status = _run(argv)
        flush_output()
        return status
    except BadLog as error:
        message, status = str(error), 1
    except RunfoldError as error:
        message, status = str(error), 2
    except MemoryError:  # also NumPy's and Arrow's
        message = "There is not enough memory for this. Choose fewer runs, tags or steps."
        status = 2
    except BrokenPipeError:
        raise
    except OSError as error:
        message = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        status = 2
    try:
        flush_output()
    except OutputLost as error:  # the cause, if printing failed
        message = str(error)
    note(message)
    return status


def _run(argv: list[str]) -> int:
    from runfold._cli.parser import parse
    from runfold._cli.terminal import warnings_as_notes

    try:
        command, options = parse(argv)
        with warnings_as_notes():
            return command.run(options)
    except SystemExit as stop:  # the parser's way to end after --help or a wrong option
        return stop.code if isinstance(stop.code, int) else 0
