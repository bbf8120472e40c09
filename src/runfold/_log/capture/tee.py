"""The pump: a process that copies output to its destination and to the run.

This file is run as a program. A thread would not work: C code can fill a pipe while
it holds the GIL, which a thread needs to empty the pipe. Output written just before
a crash must also arrive, but a thread would not survive the crash to forward it.
"""

# The program imports only these; everything else is imported in functions, so that
# it starts in 10 ms.
import errno
import os
import sys

BLOCK = 1 << 16

# Bytes that the pump buffers for a busy run.
_MOST_PENDING = 4 << 20
_GAP = "\n… some output is not stored …\n".encode()
# The capacity of a pipe is at most 1 MB.
_PIPE_BLOCKS = 16
# After this many milliseconds without a byte, a terminal has forwarded everything.
_QUIET = 20


def spawn_pump(source: int, destination: int, control: int, copy: int) -> None:
    """Start this file as a program with its four descriptors. Raises OSError on failure."""
    import fcntl

    if not sys.executable or getattr(sys, "frozen", False) or not os.path.isfile(__file__):
        raise OSError("no Python interpreter is available to copy it")
    ours = (source, destination, control, copy)
    # Duplicate to high numbers first, so that no move overwrites a descriptor still needed.
    high = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in ours]
    try:
        moves = [(os.POSIX_SPAWN_DUP2, number, target) for target, number in enumerate(high)]
        command = [sys.executable, "-I", "-S", __file__]
        child = os.posix_spawn(sys.executable, command, os.environ, file_actions=moves)
    finally:
        for number in high:
            os.close(number)
    try:
        _, status = os.waitpid(child, 0)  # it forks the pump and exits immediately
    except ChildProcessError:  # another thread has already waited for it
        return
    if status:
        raise OSError("the process that copies it did not start")


def _pump() -> None:
    """Copy descriptor 0 to 1, and also to 3 until descriptor 2 has input."""
    import select
    import signal

    # Detach: the parent never has to wait for the pump, and Ctrl-C does not reach it.
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
        is_stopping = 2 in dict(poll.poll())
        # When stopping, read all earlier output, which is at most the capacity of a pipe.
        for _ in range(_PIPE_BLOCKS if is_stopping else 1):
            data = _read(0, _QUIET if is_stopping else 0)
            if data is None:
                break
            is_open = bool(data) and _write(1, data)
            if is_kept:
                _keep_pending(pending, data)
            if not is_open:
                break
        if is_stopping:
            os.set_blocking(3, True)
            _write(3, bytes(pending))
        elif pending:
            try:
                del pending[: os.write(3, pending[:BLOCK])]
                continue
            except BlockingIOError:
                continue
            except OSError:  # the run's process has died
                pass
        else:
            continue
        is_kept = False
        pending.clear()
        os.close(3)
        os.close(2)


def _keep_pending(pending: bytearray, data: bytes) -> None:
    """Buffer data for a busy run; beyond the limit, add a note instead of the data."""
    if len(pending) < _MOST_PENDING:
        pending += data
    elif not pending.endswith(_GAP):
        pending += _GAP


def _read(descriptor: int, quiet: int) -> bytes | None:
    """Return available bytes, b"" at the end, or None after `quiet` milliseconds of silence."""
    import select

    for wait in (quiet, 0):
        try:
            return os.read(descriptor, BLOCK)
        except BlockingIOError:
            # A terminal forwards output with a short delay.
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            if not wait or not poll.poll(wait):
                return None
        except OSError:  # the end of a terminal
            return b""
    return None


def _write(descriptor: int, data: bytes) -> bool:
    """Write all data; return False if the reader is gone, so that writers get an error too.

    If the disk is full, the data is dropped and training continues.
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
