"""What all writers of a process share: a thread that writes for them, and its end.

Writers are flushed at the end of the interpreter, also after an exception, and
on SIGTERM; so they are at the end of a worker of multiprocessing. After a fork
the child's writers begin files of their own.
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

# What waits goes to the system this often, whatever flush_secs allows: a write
# costs microseconds, and what the system has outlives a process that is killed.
SECONDS = 2.0
# And no more often, also for flush_secs=0, or the thread would never rest.
LEAST_SECONDS = 0.1


class Writers:
    """Writers that are held weakly; other threads may add and remove some at any moment."""

    def __init__(self) -> None:
        # Not a WeakSet, which raises when it grows while it is read.
        self._references: set[weakref.ref[EventWriter]] = set()

    def __iter__(self) -> Iterator[EventWriter]:
        found = [reference() for reference in list(self._references)]
        return iter([writer for writer in found if writer is not None])

    def add(self, writer: EventWriter) -> None:
        """Take a writer in; once more does nothing."""
        self._references.add(weakref.ref(writer, self._references.discard))

    def discard(self, writer: EventWriter) -> None:
        """Let a writer go, if it is here."""
        self._references.discard(weakref.ref(writer))


class Flusher:
    """The thread, started for the first writer, and the writers that it serves."""

    def __init__(self) -> None:
        # Weakly: a writer that is forgotten ends itself, and gives its file back.
        self.writers = Writers()
        # But not before it has written all: a signal that came while the collector of
        # cycles is at work would find neither the writer nor what waits in it.
        self.busy: set[EventWriter] = set()
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.deadly_signal = 0
        # Nobody writes for those who log after the end: each call has to write itself.
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
        """Write soon."""
        self._wake.set()

    def _work(self) -> None:
        while True:
            waits = [writer.flush_secs for writer in list(self.writers)]
            self._wake.wait(max(LEAST_SECONDS, min([SECONDS, *waits])))
            self._wake.clear()
            self.drain_all()
            followed_files.look()

    def drain_all(self) -> None:
        """Write all that waits, so that writers that were forgotten are held no longer."""
        self._ask_each(lambda writer: writer.drain())

    def close_all(self) -> None:
        """Write all that waits, and end the writers, without raising: nobody is there to see it."""
        self._ask_each(lambda writer: writer.end())

    def _ask_each(self, ask: Callable[[EventWriter], object]) -> None:
        for writer in list(self.writers):
            try:
                ask(writer)
            except Exception:
                # Such as a warning that the program makes an error; there are the other
                # writers as well.
                told = threading.ExceptHookArgs((*sys.exc_info(), self._thread))
                threading.excepthook(told)


flusher = Flusher()
# Called on SIGTERM after everything was written, and before the process ends.
last_calls: set[Callable[[], object]] = set()


def flush_on_sigterm(number: int, frame: Any) -> None:
    """Write all that waits, then let the signal do what it does."""
    if any(writer.is_busy_here() for writer in flusher.writers):
        # It came in the middle of a call that holds a lock, which has to end first.
        flusher.deadly_signal = number
        return
    for writer in list(flusher.writers):
        writer.drain()
    for call in list(last_calls):
        call()
    # Then end as the process would have ended without us, so that its status says so.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


def end_if_signalled() -> None:
    """Handle a SIGTERM that came while this thread held a lock."""
    if flusher.deadly_signal and threading.current_thread() is threading.main_thread():
        flush_on_sigterm(flusher.deadly_signal, None)


def watch_sigterm() -> None:
    """Flush on SIGTERM where nobody else asked to be told of it."""
    if threading.current_thread() is not threading.main_thread():
        return
    if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, flush_on_sigterm)


# Every writer of the process, open or not: a lazy one may be at its first call in another
# thread. The child of a fork makes all of them usable.
known = Writers()
# Held by the one thread that forks, and the writers that it has locked for that.
_fork_lock = threading.RLock()
_forking: list[EventWriter] = []


def _before_fork() -> None:
    _fork_lock.acquire()
    # No other thread may be in the middle of a write or of the first call of a lazy
    # writer, or the child would see it half done, and its lock held for ever.
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
    """Close the writers when a forked worker of multiprocessing ends.

    It leaves by `os._exit`, as the workers of torch's DataLoader do, and no function
    that atexit knows is called.
    """
    util = sys.modules.get("multiprocessing.util")
    if util is not None and sys.modules["multiprocessing.process"].parent_process() is not None:
        # After the worker's own workers were joined.
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
