"""The command line: one module for each command, imported when the command is called.

A module has HELP, `add_arguments` for its options and `run` for its work. The
argument parser is Python's own: typer brings pydantic along, and the two take
longer to import than `runfold ls` may take in all.
"""

from __future__ import annotations

import os
import signal
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

INTERRUPTED = 130
TERMINATED = 143
PIPE_CLOSED = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; a user's mistake is one line on stderr.

    0 is success, 1 that `check` found problems or a run goes on after `stop`, 2 a wrong
    option, path or name.
    Ctrl-C gives 130 and a reader that closed the pipe 141, both without a word; a
    job that is ended (SIGTERM) 143, after what was half written is removed.
    """
    # In a test or a server the handler is theirs, and only the main thread may set one.
    if argv is None and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)
    try:
        return _run(sys.argv[1:] if argv is None else list(argv))
    except KeyboardInterrupt as stop:
        return TERMINATED if stop.args else INTERRUPTED
    except BrokenPipeError:
        # What is still in the buffer must not be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED


def _end(number: int, frame: object) -> None:
    signal.signal(number, signal.SIG_DFL)  # a second one ends it at once
    raise KeyboardInterrupt(number)


def _run(argv: list[str]) -> int:
    from runfold.cli.parser import parse
    from runfold.cli.terminal import note, prepare_streams, warnings_as_notes
    from runfold.errors import BadLog, RunfoldError

    prepare_streams()
    try:
        command, options = parse(argv)
        with warnings_as_notes():
            status = command.run(options)
    except SystemExit as stop:  # the parser's way to end after --help or a wrong option
        status = stop.code if isinstance(stop.code, int) else 0
    except BadLog as error:
        note(str(error))
        status = 1
    except RunfoldError as error:
        note(str(error))
        status = 2
    except MemoryError:  # also NumPy's and Arrow's
        note("There is not enough memory for this. Choose fewer runs, tags or steps.")
        status = 2
    except BrokenPipeError:
        raise
    except OSError as error:
        note(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        status = 2
    sys.stdout.flush()
    return status
