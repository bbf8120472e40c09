"""How a process ends on Ctrl-C and SIGTERM: cleanly if it can, and within a second.

The handler raises KeyboardInterrupt in the main thread, so that every `with` block
on the way out cleans up. That can take too long: a library may be computing in one
long call, a pool may wait for its threads, or an `except` may swallow the exception.
A second thread therefore watches for the same signals, and ends the process when the
main thread has not ended it by then.
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

# How long the main thread has to clean up.
_GRACE = 0.5
_STANDARD = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}

_received: int | None = None
_is_over = False


def run_process(work: Callable[[], int]) -> int:
    """Do the work of this process and return its exit status.

    Ctrl-C gives 130, SIGTERM 143, and output that nobody reads 141, all three without a
    message and after unfinished output is removed.
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
        # A library may turn the interrupt into its own error, as DuckDB does.
        if _received is None:
            raise
    # From now on a signal ends the process at once: there is nothing left to clean up.
    global _is_over
    _is_over = True
    if _received is None:
        return status
    # An interrupt that passes through `exec` of a string, as while a dataclass is made, makes
    # `python -m` end by SIGINT, whatever the status is. The next `exec` clears that.
    exec("")
    return 128 + _received


@contextmanager
def hold_signals() -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM only after the block, which must be short.

    For native code that aborts the process if Python code that it calls raises, as
    DuckDB's does while it is imported.
    """
    received: list[int] = []
    handlers = {}
    # Handlers run in the main thread, and only there can they be changed.
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
        # A signal that is ignored, as by nohup, stays so.
        if signal.getsignal(number) == standard:
            signal.signal(number, _end)


def _start_watching() -> None:
    if not IS_POSIX:
        return
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # A forked child shares the pipe, and its signals are not ours.
    os.register_at_fork(after_in_child=lambda: signal.set_wakeup_fd(-1))
    threading.Thread(target=_watch, args=(reader,), name="runfold-signals", daemon=True).start()


def _end(number: int, frame: object) -> None:
    global _received
    if _is_over or _received is not None:
        _exit_now(number)
    _received = number
    # What a destructor or a thread makes of it is not worth a traceback.
    sys.unraisablehook = threading.excepthook = _ignore
    raise KeyboardInterrupt(number)


def _ignore(details: Any, /) -> None:
    pass


def _watch(reader: int) -> None:
    """End the process some time after a signal that `_end` handles."""
    while True:
        number = os.read(reader, 1)[0]
        # `runfold run` and `runfold serve` have their own handlers while they work.
        if signal.getsignal(number) is _end:
            break
    time.sleep(_GRACE)
    _exit_now(number)


def _exit_now(number: int) -> None:
    # The module may be absent, or half imported, when the signal comes early.
    undo_all = getattr(sys.modules.get("runfold._undo"), "undo_all", None)
    if undo_all is not None:
        undo_all()
    os._exit(128 + number)
