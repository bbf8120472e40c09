"""Standard input and output of a command, even if they are closed or the disk is full."""

from __future__ import annotations

import io
import os
import sys
from typing import IO, TYPE_CHECKING, BinaryIO, cast

from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from typing_extensions import Buffer


class OutputLost(RunfoldError):
    """Output that could not be written, for example because the disk is full."""


def prepare_streams() -> None:
    """Open all three standard streams, and escape characters that they cannot encode.

    A closed stdin is read as empty, notes to a closed stderr are dropped, and a closed
    stdout becomes a closed pipe. If a stream stayed closed, the next file to be opened
    would get its descriptor number. A failed write to stdout raises OutputLost, or
    BrokenPipeError for a closed pipe.
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
    sys.stdout = _name_failures(sys.stdout)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush_output() -> None:
    """Flush stdout. Raises OutputLost, or BrokenPipeError for a closed pipe."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OutputLost:
        discard_output()
        raise
    except OSError as error:
        discard_output()
        raise _lose(error) from None


def discard_output() -> None:
    """Drop buffered output, so that it is not written at exit."""
    _put(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Stdout(io.FileIO):
    """The file of stdout; its errors name stdout."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise _lose(error) from None


def _lose(error: OSError) -> OutputLost:
    return OutputLost(f"stdout: {error.strerror}. The output is incomplete.")


def _name_failures(stream: IO[str]) -> IO[str]:
    """Return a stream that raises OutputLost, with the same file and buffering as `stream`."""
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    stream.flush()
    raw = _Stdout(stream.fileno(), "w", closefd=False)
    # Like Python's own stdout, a write-through stream has no buffer.
    return io.TextIOWrapper(
        cast("BinaryIO", raw) if stream.write_through else io.BufferedWriter(raw),
        encoding=stream.encoding,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _open(number: int, mode: str) -> IO[str]:
    return open(number, mode, encoding="utf-8", closefd=False)


def _put(descriptor: int, number: int) -> None:
    """Change the number of a file descriptor."""
    if descriptor != number:
        os.dup2(descriptor, number)
        os.close(descriptor)
