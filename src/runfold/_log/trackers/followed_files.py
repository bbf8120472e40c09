"""Event files followed for experiment trackers such as W&B and MLflow.

Trackers find TensorBoard logs by patching the writers of torch and tensorboardX, so
they do not see Runfold's. Each open event file is a `Feed`. Once the program has
imported a tracker, or if a writer has a mirror, a thread forwards new data in each feed:
every two seconds, when a writer is closed, and before the tracker's run or the program
ends. This does not slow down the threads that log, and costs nothing without a tracker.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import time
import weakref
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from runfold._system import register_at_fork
from runfold._warnings import warn_caller

if TYPE_CHECKING:
    from collections.abc import Callable

    from runfold._log.trackers.known_trackers import Integration, Mirror

SECONDS = 2.0
# Seconds between checks for a new tracker run.
TICK = 0.1
# A tracker whose server does not answer delays `close` and the end of the program by
# at most this many seconds.
PATIENCE = 10.0

# Pairs of an integration and its tracker's package, for the trackers that are imported.
Receivers = list[tuple["Integration", Any]]

TRACKERS = ("wandb", "mlflow", "swanlab", "clearml", "comet_ml")


class Feed:
    """One open event file, and how far each tracker has read it."""

    def __init__(
        self,
        path: str,
        measure: Callable[[], int],
        staged_for: str | None = None,
        mirror: Mirror | None = None,
        is_synced: bool = True,
    ) -> None:
        """Follow the file at `path`.

        Args:
            path: the event file.
            measure: a method of the writer that flushes the file and returns its size
                at a record boundary.
            staged_for: the name to use for the folder, if the file is uploaded and
                deleted when the writer is closed.
            mirror: an integration for this writer alone.
            is_synced: whether the trackers that the program has imported receive the file. The
                mirror's tracker receives it only once.
        """
        self.mirror = mirror
        self._is_synced = is_synced
        self.path = os.path.abspath(path)
        self.is_staged = staged_for is not None
        # Identifies this log among those of other writers.
        self.folder = staged_for or os.path.dirname(self.path)
        # The thread that opened the file: MLflow has one active run per thread.
        self.thread = threading.get_ident()
        self.opened = time.monotonic()
        self.is_ended = False
        # Whether a thread is waiting until everything has been forwarded.
        self.is_urgent = False
        # The state of each integration for this file, by integration name.
        self.states: dict[str, Any] = {}
        self.lock = threading.RLock()
        self._measure = weakref.WeakMethod(measure)

    def open_folders(self) -> set[str]:
        """Return the folders of all open event files."""
        return {feed.folder for feed in list(_feeds) if not feed.is_ended}

    def size(self) -> int:
        """Flush the file and return its size."""
        measure = None if self.is_ended else self._measure()
        size = 0 if measure is None else measure()
        if measure is None or self.is_ended:  # the file may also have been deleted
            size = os.path.getsize(self.path) if os.path.exists(self.path) else 0
        return size

    def choose(self, imported: Receivers) -> Receivers:
        """Return the imported trackers that receive this file, without the mirror."""
        if not self._is_synced:
            return []
        mirrored = None if self.mirror is None else self.mirror.package
        return [pair for pair in imported if pair[0].package != mirrored]

    def announce(self, is_first: bool) -> None:
        """Notify trackers of the new file, in the thread that opened it.

        `is_first` is False for a later file of the same writer.
        """
        for integration, package in self.choose(_imported()):
            if is_first:
                _try(integration, integration.opened, package, self)
            _try(integration, _pass_to, integration, package, self)
        look()
        if self.mirror is not None and _follower is not None:
            _follower.wake()  # the tracker's run takes seconds to start

    def end(self) -> None:
        """Mark the file as complete. The garbage collector may call this at any time."""
        self.is_ended = True
        if _follower is None and not _is_needed():
            _feeds.discard(self)


class Follower:
    """The thread that forwards new data to trackers."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._requested = self._completed = self._urgent = 0
        # The state before and after a wait in which no tracker received anything; see `_state`.
        self._stalled: tuple[int, int] | None = None
        self._thread = threading.Thread(target=self._work, name="runfold-sync", daemon=True)
        self._thread.start()

    def wake(self) -> int:
        """Request a round of forwarding, and return its number."""
        with self._condition:
            self._requested += 1
            self._condition.notify_all()
            return self._requested

    def wait(self) -> None:
        """Request a round of forwarding, and wait up to PATIENCE seconds for its end.

        Does not wait again if no tracker has received anything during the last wait or since.
        """
        if threading.current_thread() is not self._thread:
            with self._condition:
                number = self._urgent = self.wake()
                before = self._state()
                if self._stalled != before:
                    self._condition.wait_for(lambda: self._completed >= number, PATIENCE)
                    self._stalled = before if self._state() == before else None

    def _state(self) -> tuple[int, int]:
        """Return the last completed round, and how many bytes the trackers have received."""
        states = [state for feed in list(_feeds) for state in list(feed.states.values())]
        positions = [state for state in states if isinstance(state, int)]
        return self._completed, sum(positions)

    def _work(self) -> None:
        while True:
            for _ in range(round(SECONDS / TICK)):
                if self._is_requested(TICK) or has_new_run():
                    break
            number = self._requested
            _pass_on(is_urgent=self._urgent > self._completed)
            with self._condition:
                self._completed = number
                self._condition.notify_all()

    def _is_requested(self, seconds: float) -> bool:
        """Wait up to `seconds` for a requested round, and return whether there is one."""
        with self._condition:
            return self._condition.wait_for(lambda: self._requested > self._completed, seconds)


_feeds: set[Feed] = set()
_follower: Follower | None = None
_has_exit = False
_lock = threading.Lock()
# Tracker runs that are being watched for their end.
_watched: list[Callable[[], Any]] = []


def follow(
    path: str,
    measure: Callable[[], int],
    staged_for: str | None = None,
    mirror: Mirror | None = None,
    is_synced: bool = True,
) -> Feed:
    """Return the feed of a newly opened event file; see `Feed`."""
    global _has_exit
    if not _has_exit:
        _has_exit = True
        _call_at_exit(_end_program)
    feed = Feed(path, measure, staged_for, mirror, is_synced)
    _feeds.add(feed)
    return feed


def look() -> None:
    """Start the thread if it is needed and not running."""
    global _follower
    if _follower is None and _is_needed():
        with _lock:
            if _follower is None:
                _follower = Follower()


def wake() -> None:
    """Request that new data be forwarded soon; wait only if a tracker has a new run."""
    look()
    if _follower is not None:
        if has_new_run():
            _follower.wait()
        else:
            _follower.wake()


def settle() -> None:
    """Wait up to PATIENCE seconds until everything logged so far has been forwarded."""
    look()
    if _follower is not None:
        _follower.wait()


def _end_program() -> None:
    """Forward everything, and end the mirrors' runs, before the program ends."""
    for feed in list(_feeds):
        if feed.mirror is not None:
            feed.mirror.end_program()
    settle()
    for feed in list(_feeds):
        if feed.mirror is not None:
            _try(feed.mirror, _warn_of_unsent, feed.mirror, feed)


def _warn_of_unsent(mirror: Mirror, feed: Feed) -> None:
    count = mirror.count_unsent(feed)
    if count:
        with suppress(Warning):  # the program may turn warnings into errors
            warn_caller(
                f"The program ended before {mirror.name} received the last {count:,} values that "
                f"were logged to {feed.folder}. The event file is complete."
            )


def has_new_run() -> bool:
    """Return whether a tracker has an active run that has not received anything yet."""
    for integration, package in _imported():
        feed = next((feed for feed in list(_feeds) if feed.choose([(integration, package)])), None)
        run = None if feed is None else _find_run(integration, package, feed)
        if run is not None and not any(known() is run for known in _watched):
            return True
    return False


def _is_needed() -> bool:
    """Return whether an open file has a mirror, or the program has imported a tracker."""
    feeds = list(_feeds)
    return any(feed.mirror is not None for feed in feeds) or (bool(feeds) and bool(_imported()))


def _imported() -> Receivers:
    """Return the trackers that the program has imported, with their packages."""
    if not any(name in sys.modules for name in TRACKERS):
        return []
    pairs = ((integration, sys.modules.get(integration.package)) for integration in _integrations())
    return [(integration, package) for integration, package in pairs if _is_complete(package)]


@functools.cache
def _integrations() -> tuple[Integration, ...]:
    """Return one integration per tracker. Programs without trackers never import these."""
    from runfold._log.trackers.known_trackers import ClearML, Comet, Mlflow, SwanLab
    from runfold._log.trackers.wandb_tracker import Wandb

    return Wandb(), Mlflow(), SwanLab(), ClearML(), Comet()


def _is_complete(package: Any) -> bool:
    """Return whether a package is completely imported; another thread may still be importing it."""
    spec = getattr(package, "__spec__", None)  # missing from a stub in a test
    return package is not None and not getattr(spec, "_initializing", False)


def _pass_on(is_urgent: bool) -> None:
    """Forward new data in each feed to each tracker with an active run."""
    integrations = _imported()
    for feed in list(_feeds):
        is_ended = feed.is_ended  # read first: later data belongs to the next round
        feed.is_urgent = is_urgent or is_ended
        for integration, package in feed.choose(integrations):
            _try(integration, _pass_to, integration, package, feed)
        if feed.mirror is not None:
            _try(feed.mirror, _pass_to_mirror, feed.mirror, feed)
        if is_ended:
            _feeds.discard(feed)


def _pass_to(integration: Integration, package: Any, feed: Feed) -> None:
    run = _find_run(integration, package, feed)
    if run is not None:
        # Before taking the feed's lock: a thread that opens a file holds the writer's lock.
        size = feed.size()
        with feed.lock:
            _watch(integration, run)
            integration.send(package, run, feed, size)


def _pass_to_mirror(mirror: Mirror, feed: Feed) -> None:
    # Without the feed's lock, which the training thread takes: a mirror may take seconds to start.
    run = mirror.find_run(None, feed)
    if run is not None:
        is_over = mirror.is_over(feed)  # read first: later data belongs to the next round
        try:
            mirror.send(None, run, feed, feed.size())
        finally:
            if is_over:
                mirror.finish()


def _find_run(integration: Integration, package: Any, feed: Feed) -> Any:
    # Ignore versions of the tracker that are too old or too new.
    with suppress(Exception):
        return integration.find_run(package, feed)
    return None


def _watch(integration: Integration, run: Any) -> None:
    """Ensure that everything is forwarded before a tracker's run ends."""
    with _lock:
        _watched[:] = [known for known in _watched if known() is not None]
        if any(known() is run for known in _watched):
            return
        try:
            _watched.append(weakref.ref(run))
        except TypeError:
            _watched.append(lambda: run)
    with suppress(Exception):  # on failure, the last two seconds of the run may be missing
        integration.watch_end(run, settle)
    # Register again for each run: the last function registered is called first, before
    # the tracker's own function that ends its run.
    _call_at_exit(settle)


def _call_at_exit(function: Callable[[], None]) -> None:
    # Comet ends its experiment before atexit functions are called.
    with suppress(RuntimeError):  # the program is ending
        getattr(threading, "_register_atexit", atexit.register)(function)


def _try(integration: Integration, function: Callable[..., object], *arguments: Any) -> None:
    """Call a function that uses a tracker; warn about its first exception."""
    try:
        function(*arguments)
    except BaseException as error:
        # SystemExit would end the thread silently, and `close` would wait for it in vain.
        if not isinstance(error, Exception) and not _is_follower():
            raise
        if not integration.has_failed:
            integration.has_failed = True
            with suppress(Warning):  # the program may turn warnings into errors
                warn_caller(
                    f"{integration.name} did not receive everything that was logged: "
                    f"{type(error).__name__}: {str(error).rstrip('.')}. The event files are "
                    f"complete. {integration.switch} {integration.name}."
                )


def _is_follower() -> bool:
    return _follower is not None and threading.current_thread() is _follower._thread


def _forget_parent() -> None:
    """Leave the trackers' runs to the parent process. Called in a forked child."""
    global _follower, _lock
    _follower, _lock = None, threading.Lock()
    _feeds.clear()
    runs = [run for known in _watched if (run := known()) is not None]
    for integration in _integrations() if runs else ():
        integration.forget(runs)


register_at_fork(after_in_child=_forget_parent)
