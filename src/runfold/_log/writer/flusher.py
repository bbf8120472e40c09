"""The background thread that writes for all writers of a process.

Writers are closed when the interpreter or a multiprocessing worker exits, even after an
exception, and flushed on SIGTERM. After a fork, the child's writers start their own files.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

from runfold._log.trackers import followed_files
from runfold._system import register_at_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from runfold._log.writer.event_writer import EventWriter

# Write pending events this often, even if flush_secs is longer: a write takes microseconds, and
# events in the kernel survive when the process is killed.
SECONDS = 2.0
# Write at most this often, even with flush_secs=0, so that the thread can sleep.
LEAST_SECONDS = 0.1


class Writers:
    """A set of weak references to writers; other threads may change it at any time."""

    def __init__(self) -> None:
        # A WeakSet raises if it grows during iteration.
        self._references: set[weakref.ref[EventWriter]] = set()

    def __iter__(self) -> Iterator[EventWriter]:
        writers = [reference() for reference in list(self._references)]
        return iter([writer for writer in writers if writer is not None])

    def add(self, writer: EventWriter) -> None:
        """Add a writer, unless it is already in the set."""
        self._references.add(weakref.ref(writer, self._references.discard))

    def discard(self, writer: EventWriter) -> None:
        """Remove a writer, if present."""
        self._references.discard(weakref.ref(writer))


class Flusher:
    """The writing thread, started for the first writer, and the writers that it serves."""

    def __init__(self) -> None:
        # Weak references: a forgotten writer closes itself and its file.
        self.writers = Writers()
        # Strong references until everything is written: otherwise, a signal during garbage
        # collection would find neither the writer nor its pending events.
        self.busy: set[EventWriter] = set()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.deadly_signal = 0
        # Once the program ends, the thread stops, so each call writes its own events.
        self.is_over = False

    def add(self, writer: EventWriter) -> None:
        """Serve a writer until it is closed."""
        with self._lock:
            self.writers.add(writer)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="runfold", daemon=True)
                self._thread.start()
                _close_with_worker()

    def wake(self) -> None:
        """Wake the thread to write now."""
        self._wake.set()

    def _work(self) -> None:
        while True:
            waits = [writer.flush_secs for writer in list(self.writers)]
            self._wake.wait(max(LEAST_SECONDS, min([SECONDS, *waits])))
            self._wake.clear()
            self.drain_all()
            followed_files.look()

    def drain_all(self) -> None:
        """Write all pending events, which releases writers that the program has dropped."""
        self._call_each(lambda writer: writer.drain())

    def close_all(self) -> None:
        """Write all pending events and close the writers, without raising."""
        self._call_each(lambda writer: writer.end())

    def _call_each(self, call: Callable[[EventWriter], object]) -> None:
        for writer in list(self.writers):
            try:
                call(writer)
            except Exception:
                # For example, a warning that the program turns into an error. Continue with the
                # other writers.
                error_args = threading.ExceptHookArgs((*sys.exc_info(), self._thread))
                threading.excepthook(error_args)


flusher = Flusher()
# Called on SIGTERM after everything is written, before the process ends.
last_calls: set[Callable[[], object]] = set()


def flush_on_sigterm(number: int, frame: Any) -> None:
    """Write all pending events, then let the signal end the process."""
    if any(writer.is_busy_here() for writer in flusher.writers):
        # The signal interrupted a call that holds a lock; let the call finish first.
        flusher.deadly_signal = number
        return
    for writer in list(flusher.writers):
        writer.drain()
    for call in list(last_calls):
        call()
    # End through the signal itself, so that the exit status is the same as without Runfold.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def end_if_signalled() -> None:
    """Handle a SIGTERM that arrived while this thread held a lock."""
    if flusher.deadly_signal and threading.current_thread() is threading.main_thread():
        flush_on_sigterm(flusher.deadly_signal, None)


def watch_sigterm() -> None:
    """Flush on SIGTERM, unless the program has its own handler."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, flush_on_sigterm)


# Every writer of the process, open or not: a lazy writer may be in its first call in another
# thread. After a fork, the child resets all of them.
known = Writers()
# Held by the thread that forks; `_forking` lists the writers that it has locked.
_fork_lock = threading.RLock()
_forking: list[EventWriter] = []


def _before_fork() -> None:
    _fork_lock.acquire()
    # No other thread may be writing or opening a lazy writer during the fork: the child would
    # inherit a half-finished state and a lock that is never released.
    for writer in known:
        writer.lock.acquire()
        _forking.append(writer)


def _after_fork_in_parent() -> None:
    while _forking:
        _forking.pop().lock.release()
    _fork_lock.release()


def _after_fork_in_child() -> None:
    global flusher, _fork_lock
    _fork_lock, flusher = threading.RLock(), Flusher()
    while _forking:
        _forking.pop().after_fork()


def _close_with_worker() -> None:
    """Close the writers when a forked multiprocessing worker exits.

    Such workers, for example those of torch's DataLoader, exit with `os._exit`, so atexit
    functions are not called.
    """
    util = sys.modules.get("multiprocessing.util")
    if util is not None and sys.modules["multiprocessing.process"].parent_process() is not None:
        # After the worker has joined its own workers.
        util.Finalize(None, flusher.close_all, exitpriority=-100)


def _close_at_exit() -> None:
    flusher.is_over = True
    flusher.close_all()


atexit.register(_close_at_exit)
register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
