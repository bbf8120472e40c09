"""Standard input and output of a command, also where they are closed or full."""

from __future__ import annotations

import io
import os
import sys
from typing import IO

from runfold.errors import RunfoldError


class OutputLost(RunfoldError):
    """Output that could not be written, as on a full disk."""


def prepare_streams() -> None:
    """Give the process all three streams, and escape characters that the terminal lacks.

    A closed stdin is empty, notes to a closed stderr are dropped, and a closed stdout
    is a pipe that nobody reads. Without that, the next file that is opened would take
    the number of the closed stream.
    """
    if sys.stdin is None:
        _put(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdin = _open(0, "r")
    if sys.stderr is None:
        _put(os.open(os.devnull, os.O_WRONLY), 2)
        sys.stderr = _open(2, "w")
    if sys.stdout is None:
        reader, writer = os.pipe()
        os.close(reader)
        _put(writer, 1)
        sys.stdout = _open(1, "w")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    """Write what was printed so far. Raises OutputLost, or BrokenPipeError for a closed pipe."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise OutputLost(f"stdout: {error.strerror}. The output is incomplete.") from None


def discard_output() -> None:
    """Drop what is still in the buffer of stdout, which would be written at exit."""
    _put(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _open(number: int, mode: str) -> IO[str]:
    return open(number, mode, encoding="utf-8", closefd=False)


def _put(descriptor: int, number: int) -> None:
    """Give an open file another number."""
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
