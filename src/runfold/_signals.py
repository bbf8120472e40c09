"""Ends a process on Ctrl-C and SIGTERM: cleanly if possible, and within a second.

The handler raises KeyboardInterrupt in the main thread, so that every open `with` block
cleans up. The cleanup can take too long: a library may be busy in one long call, a pool may
wait for its threads, or an `except` may swallow the exception. A second thread therefore
watches for the same signals, and ends the process if the main thread does not do so in
time.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from runfold._system import IS_POSIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INTERRUPTED = 130
PIPE_CLOSED = 141

# Seconds that the main thread has to clean up.
_GRACE = 0.5
_STANDARD = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}

_received: int | None = None
_is_over = False


def run_process(work: Callable[[], int]) -> int:
    """Do the work of this process and return its exit status.

    The status is 130 after Ctrl-C, 143 after SIGTERM, and 141 if the output pipe is
    closed. In these cases unfinished output is removed and no message is printed.
    """
    _install_handlers()
    try:
        from runfold._streams import discard_output, prepare_streams

        prepare_streams()
        _start_watching()
        try:
            status = work()
        except BrokenPipeError:
            discard_output()
            status = PIPE_CLOSED
    except KeyboardInterrupt:
        status = INTERRUPTED
    except Exception:
        # Some libraries, such as DuckDB, turn the interrupt into their own error.
        if _received is None:
            raise
    # From now on a signal ends the process immediately: nothing is left to clean up.
    global _is_over
    _is_over = True
    if _received is None:
        return status
    # If an interrupt passes through `exec` of a string, as when a dataclass is created,
    # `python -m` ends with SIGINT, whatever the status is. Another `exec` prevents this.
    exec("")
    return 128 + _received


@contextmanager
def hold_signals() -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM only after the block, which must be short.

    Use this for native code that aborts the process if a Python callback raises. An
    example is DuckDB during its import.
    """
    received: list[int] = []
    handlers = {}
    # Handlers run in the main thread and can be changed only there.
    if threading.current_thread() is threading.main_thread():
        handlers = {number: signal.getsignal(number) for number in _STANDARD}
    try:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, lambda number, _: received.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            if callable(handler):
                signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


def _install_handlers() -> None:
    for number, standard in _STANDARD.items():
        # A signal that is ignored, for example by nohup, stays ignored.
        if signal.getsignal(number) == standard:
            signal.signal(number, _end)


def _start_watching() -> None:
    if not IS_POSIX:
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # A forked child shares the pipe, but its signals must not reach this process.
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    threading.Thread(target=_watch, args=(reader,), name="runfold-signals", daemon=True).start()


def _end(number: int, frame: object) -> None:
    global _received
    if _is_over or _received is not None:
        _exit_now(number)
    _received = number
    # Do not print tracebacks from destructors and threads.
    sys.unraisablehook = threading.excepthook = _ignore
    raise KeyboardInterrupt(number)


def _ignore(details: Any, /) -> None:
    pass


def _watch(reader: int) -> None:
    """End the process after a grace period, once `_end` handles a signal."""
    while True:
        number = os.read(reader, 1)[0]
        # `runfold run` and `runfold serve` have their own handlers while they work.
        if signal.getsignal(number) is _end:
            break
    time.sleep(_GRACE)
    _exit_now(number)


def _exit_now(number: int) -> None:
    # If the signal arrives early, the module may not have been imported, or only partly.
    undo_all = getattr(sys.modules.get("runfold._undo"), "undo_all", None)
    if undo_all is not None:
        undo_all()
    os._exit(128 + number)
