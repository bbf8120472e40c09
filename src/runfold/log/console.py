"""Standard output and error, kept in the run as well: live, and limited in size.

What this process, its C code and its children write goes through a pump: a small
process of its own, this very file run as a program, that copies every byte to
where it was going and hands a second copy to the run. It is a process and not a
thread, because C code may fill a pipe while it holds the GIL, which a thread would
need to empty it; and because the last words of a crash must come out when no
thread is left to carry them.
"""

from __future__ import annotations

import errno
import os
import sys

# The program needs no more than this: all else is imported in functions, so that
# it starts in a hundredth of a second.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import threading
    from collections.abc import Callable
    from typing import Any, TextIO

    from runfold.log.writer import EventWriter

_BLOCK = 1 << 16
# What the pump keeps for a run that is too busy to take it.
_MOST_PENDING = 4 << 20
_GAP = "\n… some output is not stored …\n".encode()
# A pipe holds at most a megabyte.
_PIPE_BLOCKS = 16
# Milliseconds without a byte after which a terminal has passed on all.
_QUIET = 20
# So many pieces wait for the next chunk; more stay in the pump.
_MOST_PIECES = 500


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
        writer: EventWriter,
        limit: int = 1_000_000,
        seconds: float = 2.0,
        first_step: int = 0,
    ) -> None:
        from runfold.log.control import Pulse

        self._transcript = Transcript(writer, limit, first_step)
        self._pulse = Pulse(self._transcript.log, seconds, "runfold-console")
        self._tees: list[_Tee] = []
        self._lines: list[_Line] = []
        self._pid = 0

    def start(self) -> None:
        """Begin to copy. Raises nothing."""
        from runfold.log.control import warn

        self._pid = os.getpid()
        _flush_streams()
        try:
            for descriptors in _group_descriptors():
                self._lines.append(_Line(descriptors, self._transcript))
        except (OSError, ValueError, NotImplementedError) as error:
            warn(f"Output is not stored in the run: {error}. Training goes on.")
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
            from runfold.log.control import warn

            warn(f"The last output is not stored in the run: {error}.")


class Transcript:
    """Text on its way to the run: lines collapsed, colours removed, size limited."""

    def __init__(self, writer: EventWriter, limit: int, first_step: int = 0) -> None:
        import collections
        import re

        self._writer = writer
        self._left = limit
        self._step = first_step
        # Pieces in the order in which they came, each with the number of its stream.
        # Appended to without a lock, which a fork could leave locked for ever.
        self._waiting: collections.deque[tuple[int, str]] = collections.deque()
        # The last line of each stream, which may not be whole yet: a stream that writes in
        # the middle of another's line must not end up within it.
        self._open: list[str] = []
        self._tail = ""
        self._dropped = 0
        self._codes = re.compile(
            r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])"
        )

    def feed(self) -> Callable[[str | bytes], object]:
        """A function that takes the text, or the bytes, of one stream."""
        import codecs

        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        waiting, pid = self._waiting, os.getpid()
        stream = len(self._open)
        self._open.append("")

        def take(data: str | bytes) -> None:
            text = data if isinstance(data, str) else decoder.decode(data)
            if text and os.getpid() == pid:  # in the child of a fork nobody logs it
                waiting.append((stream, text))

        return take

    @property
    def is_full(self) -> bool:
        """Whether a stream should wait with more."""
        return len(self._waiting) > _MOST_PIECES

    def log(self, is_last: bool = False) -> None:
        """Log the lines that are complete; at last also one that is not, and the tail."""
        if self._writer.is_closed:
            return
        lines = ""
        while self._waiting:
            stream, text = self._waiting.popleft()
            whole, self._open[stream] = self._split(self._open[stream] + text)
            lines += whole
            if len(lines) > _MOST_PENDING:  # more than anybody reads: in pieces
                self._store(lines)
                lines = ""
        self._store(lines)
        if not is_last:
            return
        for stream, rest in enumerate(self._open):
            self._store(self._collapse(rest))
            self._open[stream] = ""
        if self._dropped:
            left_out = self._dropped - len(self._tail)
            note = f"… {left_out:,} characters of output are not stored …\n" if left_out else ""
            self._log(note + self._tail)
            self._dropped, self._tail = 0, ""

    def _split(self, text: str) -> tuple[str, str]:
        """The lines that are whole, and the last one as it looks by now."""
        *whole, rest = text.split("\n")
        lines = "".join(f"{self._collapse(line)}\n" for line in whole)
        # A bar that is drawn a thousand times before its line ends is held once; a
        # carriage return at the end may yet turn out to be that of a line feed.
        if "\r" in rest[:-1]:
            end = "\r" if rest.endswith("\r") else ""
            rest = self._collapse(rest) + end
        return (lines + rest, "") if len(rest) > _BLOCK else (lines, rest)

    def _collapse(self, line: str) -> str:
        if "\x1b" in line:
            line = self._codes.sub("", line)
        if "\r" not in line:
            return line
        states = [state for state in line.split("\r") if state.strip()]
        return states[-1] if states else ""

    def _store(self, text: str) -> None:
        stored, rest = text[: self._left], text[self._left :]
        self._left -= len(stored)
        if stored:
            self._log(stored)
        if rest:
            self._dropped += len(rest)
            self._tail = (self._tail + rest)[-_BLOCK // 4 :]

    def _log(self, text: str) -> None:
        from runfold.log.masking import mask_output
        from runfold.log.story import OUTPUT, PREFIX, encode_story

        # Many a script begins with `print(args)`.
        message = encode_story(OUTPUT, mask_output(text))
        self._writer.add_value(PREFIX + OUTPUT, message, self._step)
        self._step += 1


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
        import threading

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
            _spawn_pump(entrance, real, control, way_out)
        except BaseException:
            for number in opened:
                os.close(number)
            raise
        self._way_in = _identify(way_in)
        for number in descriptors:
            os.dup2(way_in, number)
        for number in (entrance, way_in, control, way_out):
            os.close(number)
        self._thread: threading.Thread = threading.Thread(
            target=self._listen, name="runfold-output", daemon=True
        )
        self._thread.start()

    def _listen(self) -> None:
        feed = self._transcript.feed()
        while data := os.read(self._copy, _BLOCK):
            feed(data)
            while self._transcript.is_full and not self._ended.wait(0.1):
                pass

    def close(self) -> None:
        """Restore the descriptors, once the pump has passed on all that was written."""
        import contextlib

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


def _spawn_pump(entrance: int, real: int, control: int, way_out: int) -> None:
    """Start this file as a program with its four descriptors. Raises OSError."""
    import fcntl

    if not sys.executable or getattr(sys, "frozen", False) or not os.path.isfile(__file__):
        raise OSError("no Python interpreter is at hand to copy it")
    ours = (entrance, real, control, way_out)
    # Out of the way first, lest one takes the number that another is still known by.
    high = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in ours]
    try:
        moves = [(os.POSIX_SPAWN_DUP2, number, place) for place, number in enumerate(high)]
        command = [sys.executable, "-I", "-S", __file__]
        child = os.posix_spawn(sys.executable, command, os.environ, file_actions=moves)
    finally:
        for number in high:
            os.close(number)
    try:
        _, status = os.waitpid(child, 0)  # it leaves at once, and the pump behind it
    except ChildProcessError:  # another thread waits for any child
        return
    if status:
        raise OSError("the process that would copy it did not start")


def _pump() -> None:
    """Copy descriptor 0 to 1, and to 3 until told by 2: the program that this file is."""
    import select
    import signal

    # A process of nobody: no wait of the parent's finds it, and no Ctrl-C reaches it.
    if os.fork():
        os._exit(0)
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    os.closerange(4, 1024)
    os.chdir("/")
    os.set_blocking(0, False)
    os.set_blocking(3, False)
    pending = bytearray()
    is_kept, is_open = True, True
    while is_open or pending:
        poll = select.poll()
        if is_open:
            poll.register(0, select.POLLIN)
        if is_kept:
            poll.register(2, select.POLLIN)
        if pending:
            poll.register(3, select.POLLOUT)
        is_told = 2 in dict(poll.poll())
        # When told, all that was written before: no more than a pipe can hold.
        for _ in range(_PIPE_BLOCKS if is_told else 1):
            data = _read(0, _QUIET if is_told else 0)
            if data is None:
                break
            is_open = bool(data) and _write(1, data)
            if is_kept:
                _keep_pending(pending, data)
            if not is_open:
                break
        if is_told:
            os.set_blocking(3, True)
            _write(3, bytes(pending))
        elif pending:
            try:
                del pending[: os.write(3, pending[:_BLOCK])]
                continue
            except BlockingIOError:
                continue
            except OSError:  # the run has ended without a word
                pass
        else:
            continue
        is_kept = False
        pending.clear()
        os.close(3)
        os.close(2)


def _keep_pending(pending: bytearray, data: bytes) -> None:
    """Keep a copy for a run that is busy; what is too much leaves a note in its place."""
    if len(pending) < _MOST_PENDING:
        pending += data
    elif not pending.endswith(_GAP):
        pending += _GAP


def _read(descriptor: int, quiet: int) -> bytes | None:
    """What is there, b"" at the end, None for nothing, also after so many milliseconds."""
    import select

    for wait in (quiet, 0):
        try:
            return os.read(descriptor, _BLOCK)
        except BlockingIOError:
            # A terminal passes on a little later what was written to it.
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            if not wait or not poll.poll(wait):
                return None
        except OSError:  # how a terminal ends
            return b""
    return None


def _write(descriptor: int, data: bytes) -> bool:
    """Write all; False where nobody is left to read it, so that the writers learn of it.

    What a full disk does not take is let go: training goes on.
    """
    import select

    view = memoryview(data)
    while view:
        try:
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            poll = select.poll()
            poll.register(descriptor, select.POLLOUT)
            poll.poll()
        except OSError as error:
            return error.errno not in (errno.EPIPE, errno.EIO)
    return True


if __name__ == "__main__":
    _pump()
