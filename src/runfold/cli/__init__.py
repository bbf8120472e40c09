"""The command line: one module for each command, imported when the command is called.

A module has HELP, `add_arguments` for its options and `run` for its work. The
argument parser is Python's own: typer brings pydantic along, and the two take
longer to import than `runfold ls` may take in all.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "ls": "List runs and what is in them.",
    "check": "Find everything that is wrong in event files.",
    "show": "Show the values of one tag in the terminal.",
    "table": "Print one row for each run: status, settings and results.",
    "sql": "Answer a query in SQL over the runs.",
    "reduce": "Fold many runs into one curve with its uncertainty.",
    "compare": "Say whether one group of runs is better than another.",
    "diff": "Say in what two runs differ.",
    "restore": "Write the patch that gives back the code of a run.",
    "plot": "Draw folded runs as curves with bands.",
    "export": "Write what runs hold as tables, pictures and clips.",
    "edit": "Remove, rename or move what is in a log.",
    "repair": "Salvage every good record of broken event files.",
    "pack": "Put a whole logdir into one Parquet file.",
    "unpack": "Give back the event files of a pack.",
    "serve": "Show the runs in the browser, and follow them while they grow.",
    "report": "Write what the page shows as one HTML file, which opens without a server.",
    "tensorboard": "Start real TensorBoards on chosen runs, look after them, and end them.",
    "experiments": "List experiments, and keep them in order.",
    "trials": "List the trials of an experiment.",
    "stop": "Ask running runs to stop, and wait until they have.",
    "run": "Track a script that was not changed.",
    "demo": "Train a small ensemble and look at its logs.",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; a user's mistake is one line on stderr.

    0 is success, 1 that `check` found problems or a run continues after `stop`, 2 a wrong
    option, path or name.
    Ctrl-C gives 130, SIGTERM 143, and output that nobody reads 141, all three without a
    message and after unfinished output is removed. Without `argv` the arguments are those
    of the process, which then ends within a second of a signal.
    """
    if argv is None:
        from runfold.signals import run_process

        return run_process(lambda: run_command(sys.argv[1:]))
    from runfold.signals import INTERRUPTED, PIPE_CLOSED
    from runfold.streams import discard_output

    try:
        return run_command(list(argv))
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        discard_output()
        return PIPE_CLOSED


def run_command(argv: list[str]) -> int:
    """Run a command and return its exit status. Raises KeyboardInterrupt and BrokenPipeError."""
    from runfold.cli.terminal import note
    from runfold.errors import BadLog, RunfoldError
    from runfold.streams import OutputLost, flush_output

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
    from runfold.cli.parser import parse
    from runfold.cli.terminal import warnings_as_notes

    try:
        command, options = parse(argv)
        with warnings_as_notes():
            return command.run(options)
    except SystemExit as stop:  # the parser's way to end after --help or a wrong option
        return stop.code if isinstance(stop.code, int) else 0
