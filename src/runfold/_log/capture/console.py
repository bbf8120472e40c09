"""Standard output and error, kept in the run as well: live, and limited in size.

Whatever this process, its C code and its children write goes through a small
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

    The text is logged in chunks of whole lines with increasing steps, every few
    seconds. Of a line that was drawn again and again after a carriage return the
    last state is stored, and no colour. After `limit` characters only the last lines
    are kept, and logged at the end.

    The real output is what it would have been: to a terminal stays to a terminal
    (its size is that of the start), and what was written before `stop` comes before
    what is written after. Where no pump can be started, this warns and does nothing.
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
        self._lines: list[_Line] = []
        self._pid = 0

    def start(self) -> None:
        """Begin to copy. Raises nothing."""
        self._pid = os.getpid()
        _flush_streams()
        try:
            for descriptors in _group_descriptors():
                self._lines.append(_Line(descriptors, self._transcript))
        except (OSError, ValueError, NotImplementedError) as error:
            warn_from_thread(f"Output is not stored in the run: {error}. Training continues.")
        self._tees = [
            _Tee(name, self._transcript.feed())
            for number, name in ((1, "stdout"), (2, "stderr"))
            if not _is_of_descriptor(getattr(sys, name), number)
        ]
        self._pulse.start()

    def stop(self) -> None:
        """Give the streams back, and log the rest; once more does nothing. Raises nothing."""
        if self._pid != os.getpid():  # a fork's child: all of this is its parent's
            return
        self._pid = 0
        _flush_streams()
        for tee in self._tees:
            tee.close()
        for line in self._lines:
            line.close()
        self._pulse.stop()
        try:
            self._transcript.log(is_last=True)
        except Exception as error:
            warn_from_thread(f"The last output is not stored in the run: {error}.")


class _Tee:
    """A stream of Python's that is no descriptor, as in a notebook or under pytest."""

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
        """Write each."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def close(self) -> None:
        """Put the stream back, unless another has come in its place; then only pass on."""
        self._feed = _ignore
        if getattr(sys, self._name) is self:
            setattr(sys, self._name, self._stream)


class _Line:
    """Descriptors that lead to one place, led through a pump, and the thread that listens."""

    def __init__(self, descriptors: list[int], transcript: Transcript) -> None:
        """Lead them through a new pump. Raises OSError, and then all is as before."""
        self._transcript = transcript
        self._ended = threading.Event()
        self._saved = {number: os.dup(number) for number in descriptors}
        real = self._saved[descriptors[0]]
        opened = list(self._saved.values())
        try:
            entrance, way_in = _open_terminal(real) if os.isatty(real) else os.pipe()
            opened += [entrance, way_in]
            control, self._control = os.pipe()
            opened += [control, self._control]
            self._copy, way_out = os.pipe()
            opened += [self._copy, way_out]
            spawn_pump(entrance, real, control, way_out)
        except BaseException:
            for number in opened:
                os.close(number)
            raise
        self._way_in = _identify(way_in)
        for number in descriptors:
            os.dup2(way_in, number)
        for number in (entrance, way_in, control, way_out):
            os.close(number)
        # A stream is added here and not in its thread, where two could take one number.
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
        """Restore the descriptors, once the pump has passed on all that was written."""
        for number, real in self._saved.items():
            if _identify(number) == self._way_in:  # or another has led it elsewhere
                os.dup2(real, number)
        self._ended.set()
        # Not by closing it: a fork's child may have it too, and still write.
        with contextlib.suppress(OSError):
            os.write(self._control, b".")
        os.close(self._control)
        self._thread.join(10)
        if not self._thread.is_alive():
            os.close(self._copy)
        for real in self._saved.values():
            os.close(real)


def _ignore(data: str | bytes) -> None:
    pass


def _flush_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or none
            continue


def _is_of_descriptor(stream: Any, number: int) -> bool:
    """Whether a stream writes to its usual descriptor, and so through the pump."""
    try:
        return bool(stream.fileno() == number)
    except (OSError, ValueError, AttributeError):
        return False


def _group_descriptors() -> list[list[int]]:
    """Output and error, together where they lead to one place, so that their order stays."""
    found: dict[object, list[int]] = {}
    for number in (1, 2):
        place = _identify(number)
        if place is not None:  # open, unlike those of a daemon
            found.setdefault(place, []).append(number)
    return list(found.values())


def _identify(descriptor: int) -> object:
    """What tells the place where a descriptor leads from all others; None if it is closed."""
    try:
        status = os.fstat(descriptor)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_rdev


def _open_terminal(real: int) -> tuple[int, int]:
    """A terminal as wide as the real one, that passes on bytes as they are."""
    import fcntl
    import pty
    import termios
    import tty

    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    size = fcntl.ioctl(real, termios.TIOCGWINSZ, bytes(8))
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, size)
    return ours, theirs
