"""Live copies of standard output and error in the run, limited in size.

Output from this process, its C code and its children goes through a small
separate process, the pump; see `tee`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import TYPE_CHECKING

from runfold._log.capture.tee import BLOCK, spawn_pump
from runfold._log.capture.transcript import Transcript
from runfold._periodic import Periodic
from runfold._warnings import warn_from_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    from runfold._log.writer.sink import Sink


class ConsoleCapture:
    """Copies standard output and error to the run's `runfold/output`, until stopped.

    The text is logged every few seconds, in chunks of whole lines with increasing
    steps. If a line is redrawn after carriage returns, only its last state is stored.
    Colors are removed. After `limit` characters, only the last lines are kept; they
    are logged at the end.

    The real output does not change: a terminal is still a terminal (with its size
    at the start), and output written before `stop` precedes output written after it.
    If the pump cannot be started, a warning is issued and nothing is copied.
    """

    def __init__(
        self,
        writer: Sink,
        limit: int = 1_000_000,
        seconds: float = 2.0,
        first_step: int = 0,
    ) -> None:
        self._transcript = Transcript(writer, limit, first_step)
        self._pulse = Periodic(self._transcript.log, seconds, "runfold-console")
        self._tees: list[_Tee] = []
        self._redirects: list[_Redirect] = []
        self._pid = 0

    def start(self) -> None:
        """Start copying. Never raises."""
        self._pid = os.getpid()
        _flush_streams()
        try:
            for descriptors in _group_descriptors():
                self._redirects.append(_Redirect(descriptors, self._transcript))
        except (OSError, ValueError, NotImplementedError) as error:
            warn_from_thread(f"Output is not stored in the run: {error}. Training continues.")
        self._tees = [
            _Tee(name, self._transcript.feed())
            for number, name in ((1, "stdout"), (2, "stderr"))
            if not _is_of_descriptor(getattr(sys, name), number)
        ]
        self._pulse.start()

    def stop(self) -> None:
        """Restore the streams and log the rest. Can be called twice. Never raises."""
        if self._pid != os.getpid():  # in a forked child: the streams belong to the parent
            return
        self._pid = 0
        _flush_streams()
        for tee in self._tees:
            tee.close()
        for redirect in self._redirects:
            redirect.close()
        self._pulse.stop()
        try:
            self._transcript.log(is_last=True)
        except Exception as error:
            warn_from_thread(f"The last part of the output was not stored in the run: {error}.")


class _Tee:
    """Wraps a Python stream without a file descriptor, as in a notebook or under pytest."""

    def __init__(self, name: str, feed: Callable[[str | bytes], object]) -> None:
        self._name = name
        self._stream: TextIO | Any = getattr(sys, name)
        self._feed = feed
        if self._stream is not None:
            setattr(sys, name, self)

    def write(self, text: str) -> Any:
        """Write, and keep a copy."""
        result = self._stream.write(text)
        self._feed(text)
        return result

    def writelines(self, lines: Any) -> None:
        """Write each line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def close(self) -> None:
        """Stop copying, and restore the stream unless the program has replaced this one."""
        self._feed = _ignore
        if getattr(sys, self._name) is self:
            setattr(sys, self._name, self._stream)


class _Redirect:
    """Redirects descriptors with the same destination through a pump, and reads its copy."""

    def __init__(self, descriptors: list[int], transcript: Transcript) -> None:
        """Redirect descriptors through a new pump. If OSError is raised, nothing has changed."""
        self._transcript = transcript
        self._ended = threading.Event()
        self._saved = {number: os.dup(number) for number in descriptors}
        destination = self._saved[descriptors[0]]
        opened = list(self._saved.values())
        try:
            read_end, write_end = (
                _open_terminal(destination) if os.isatty(destination) else os.pipe()
            )
            opened += [read_end, write_end]
            control, self._control = os.pipe()
            opened += [control, self._control]
            self._copy, copy_end = os.pipe()
            opened += [self._copy, copy_end]
            spawn_pump(read_end, destination, control, copy_end)
        except BaseException:
            for number in opened:
                os.close(number)
            raise
        self._write_end = _identify(write_end)
        for number in descriptors:
            os.dup2(write_end, number)
        for number in (read_end, write_end, control, copy_end):
            os.close(number)
        # Call `feed` here: in the threads, two streams could get the same number.
        self._thread = threading.Thread(
            target=self._listen, args=[transcript.feed()], name="runfold-output", daemon=True
        )
        self._thread.start()

    def _listen(self, feed: Callable[[str | bytes], object]) -> None:
        while data := os.read(self._copy, BLOCK):
            feed(data)
            while self._transcript.is_full and not self._ended.wait(0.1):
                pass

    def close(self) -> None:
        """Restore the descriptors and wait until the pump has forwarded everything."""
        for number, destination in self._saved.items():
            if _identify(number) == self._write_end:  # has not been redirected again
                os.dup2(destination, number)
        self._ended.set()
        # Closing the pipe is not enough: a forked child may also have it open.
        with contextlib.suppress(OSError):
            os.write(self._control, b".")
        os.close(self._control)
        self._thread.join(10)
        if not self._thread.is_alive():
            os.close(self._copy)
        for destination in self._saved.values():
            os.close(destination)


def _ignore(data: str | bytes) -> None:
    pass


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or None
            continue


def _is_of_descriptor(stream: Any, number: int) -> bool:
    """Whether a stream writes to its usual descriptor, and therefore through the pump."""
    try:
        return bool(stream.fileno() == number)
    except (OSError, ValueError, AttributeError):
        return False


def _group_descriptors() -> list[list[int]]:
    """Return descriptors 1 and 2, grouped if they share a destination, to keep output in order."""
    groups: dict[object, list[int]] = {}
    for number in (1, 2):
        destination = _identify(number)
        if destination is not None:  # a daemon may have closed it
            groups.setdefault(destination, []).append(number)
    return list(groups.values())


def _identify(descriptor: int) -> object:
    """Return a key for a descriptor's destination, or None if the descriptor is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_rdev


def _open_terminal(destination: int) -> tuple[int, int]:
    """Open a raw pseudo-terminal with the size of the real terminal."""
    import fcntl
    import pty
    import termios
    import tty

    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    size = fcntl.ioctl(destination, termios.TIOCGWINSZ, bytes(8))
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
    return ours, theirs
