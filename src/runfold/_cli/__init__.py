"""The `runfold` command line.

    commands            one module per command
    autolog             the hook that `runfold run` adds to Python programs
    parser              parses arguments into a command and its options
    subcommands         commands with actions, such as `runfold experiments list`
    logdir_option       the logdir: an argument, --logdir or the default
    engine_option       --engine, and opening the logdir accordingly
    where_option        --where, which selects runs by a condition
    fold_options        options of the commands that fold runs
    terminal            tables, JSON and notes on stderr
    column_fit          the columns of a wide table that fit the window
    render              text and JSON for one value of each kind
    show_arguments      the logdir, run and tag arguments of `runfold show`
    kind_views          the output of `runfold show` for each kind
    instance_arguments  the runs that `runfold tensorboard start` selects
    instance_list       the output of `runfold tensorboard list`
    login_links         login links, printed or saved in a private file
    browser             opens a login link in the user's browser
    demo_training       the training in `runfold demo`

The parser uses argparse because typer with rich takes much longer to import: a command would start
after 200 ms instead of 60 ms.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; report a user error on one line of stderr.

    The status is 0 for success, 1 if `check` found problems, a run is still running after
    `stop` or an instance ended before `tensorboard` could show it, and 2 for a wrong
    option, path or name. It is 130 after Ctrl-C, 143 after SIGTERM and 141 if the output
    pipe is closed. In these cases no message is printed, and unfinished output is removed.
    Without `argv`, the process's arguments are used, and the process exits within a second
    of a signal.
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
    except MemoryError:  # includes NumPy's and Arrow's
        message = "Not enough memory. Select fewer runs, tags or steps."
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
    except SystemExit as stop:  # argparse exits after --help or a wrong option
        return stop.code if isinstance(stop.code, int) else 0
