"""The pump: a process that copies what is written to where it was going, and to the run.

This very file is run as a program. It is a process and not a thread, because C
code may fill a pipe while it holds the GIL, which a thread would need to empty it;
and because the last words of a crash must come out when no thread is left to
carry them.
"""

# The program needs no more than this: all else is imported in functions, so that
# it starts in a hundredth of a second.
import errno
import os
import sys

BLOCK = 1 << 16

# What the pump keeps for a run that is too busy to take it.
_MOST_PENDING = 4 << 20
_GAP = "\n… some output is not stored …\n".encode()
# A pipe holds at most a megabyte.
_PIPE_BLOCKS = 16
# Milliseconds without a byte after which a terminal has passed on all.
_QUIET = 20


def spawn_pump(entrance: int, real: int, control: int, way_out: int) -> None:
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
                del pending[: os.write(3, pending[:BLOCK])]
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
            return os.read(descriptor, BLOCK)
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
