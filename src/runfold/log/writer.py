"""Events written to a file in the background: what SummaryWriter and the tracker stand on."""

from __future__ import annotations

import errno
import gc
import math
import os
import threading
from contextlib import suppress
from numbers import Real
from typing import TYPE_CHECKING, Any, get_args

from runfold.errors import BadTag, CannotLog, WriterClosed
from runfold.log import flusher as shared
from runfold.log import sync
from runfold.log.arrays import warn
from runfold.log.points import OnError, Points
from runfold.log.ranks import RankPolicy, RankStream
from runfold.text import escape

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Buffer

    from runfold.log.stream import Stream

# While the disk takes nothing, this much is kept in memory to be written later.
_MOST_WAITING = 64 << 20
# What a copy of a writer in another process must not share.
_OF_THIS_PROCESS = (
    "_lock",
    "_gate",
    "_stream",
    "_feed",
    "_failure",
    "_draining_thread",
    "_adding_thread",
    "_file_writer",
)
_NOTHING = "Nothing was logged by this call."
_COUNTED = "Later ones are counted in `writer.skipped` without a warning."
# A program whose every tag fails is not to be flooded with warnings.
_MOST_WARNINGS = 20


class EventWriter(Points):
    """A folder's new event file, and the calls that add events to it.

    Each call returns at once: what it adds is written by a thread, every two
    seconds or earlier. `flush` waits for that. What was flushed, or logged
    `flush_secs` ago, outlives the process, however it ends. Safe to use from
    several threads, and after a fork, where the child begins a file of its own.
    A writer is closed when it is garbage-collected.

    When the disk is full or the folder is gone, a warning says so and training
    continues. Nothing is lost as long as memory lasts: the write is tried again with
    each flush. A value that cannot be logged warns once for its tag and is counted in
    `skipped`. With on_error="raise" the next call, and `close`, raise instead.
    """

    # Also for a writer whose options were refused.
    _stream: Stream | RankStream | None = None
    # Whether a call after `close` opens a new file, as torch's writer does.
    _reopens = False
    # What other trackers read of the open file; None where they are kept out.
    _feed: sync.Feed | None = None

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        suffix: str = "",
        flush_secs: float = 120,
        on_error: OnError | None = "raise",
        is_silent: bool = False,
        policy: RankPolicy | None = None,
        is_lazy: bool = False,
        sync_trackers: bool = True,
        staged_for: str | None = None,
    ) -> None:
        """Open an event file; a lazy writer opens it at its first call.

        A silent writer takes every call and writes nothing. In a distributed job the policy
        decides whether this process is silent. With on_error=None only a
        folder that cannot be written to raises, when the first file is opened.
        With sync_trackers=False, W&B and other trackers do not see the file. Those that
        do see `staged_for` in place of a folder that is removed after an upload.
        """
        _check_options(flush_secs, on_error)
        super().__init__()
        # Who writes holds the first, and who adds or takes events the second, so that
        # nobody who logs waits for the disk.
        self._lock = threading.RLock()
        self._gate = threading.RLock()
        self.folder = os.fspath(folder)
        self.flush_secs = flush_secs
        self.is_closed = False
        self._policy = policy or RankPolicy(is_main=not is_silent)
        self._suffix = suffix
        self._on_error = on_error
        self._syncs_trackers, self._staged_for = sync_trackers, staged_for
        self._failure: OSError | None = None
        self._draining_thread = self._adding_thread = 0
        self._is_told = False
        self._paths: list[str] = []
        self._warned: set[tuple[str, str]] = set()
        # How many calls could not be logged, by tag; "" counts those without a tag.
        self.skipped: dict[str, int] = {}
        shared.known.add(self)
        if not self.is_silent and not is_lazy:
            self._try_open()

    @property
    def is_silent(self) -> bool:
        """Whether the writer takes every call and writes nothing."""
        return self._policy.is_silent

    @property
    def _has_begun(self) -> bool:
        """Whether the folder could be written to at least once."""
        return bool(self._paths) or self._stream is not None

    @property
    def path(self) -> str | None:
        """The event file; None for a silent writer."""
        return None if self._stream is None else self._stream.path

    def add_value(
        self, tag: str, message: Buffer, step: Any = None, walltime: float | None = None
    ) -> None:
        """Add one serialised `Summary.Value`, such as the functions of `events.values` make."""
        if self._is_heard():
            self._put("value", message, self._step(step, tag), self._time(walltime, tag))

    def _put(self, kind: str, *arguments: Any) -> None:
        """Add to the events by one of the methods of EventBuffer, while nobody takes them away."""
        with self._gate:
            self._adding_thread = threading.get_ident()
            try:
                if self not in shared.flusher.busy:
                    # It lives until this is written, whoever forgets it.
                    shared.flusher.busy.add(self)
                    self._choose_way()
                    self._policy.announce()
                getattr(self._events, kind)(*arguments)
                waiting = len(self._events)
            finally:
                self._adding_thread = 0
        if shared.flusher.is_over:
            self._drain()
        elif waiting > self._limit:
            self._wake()
        shared.end_if_signalled()

    def flush(self, *, fsync: bool = False) -> None:
        """Wait until the system has everything that was logged; a closed writer has nothing left.

        Tries again what could not be written before. With `fsync` it also waits until
        everything is on the disk, where a power loss cannot take it. Raises what went
        wrong if on_error="raise".
        """
        if self.is_closed:
            return
        if self._failure is not None:
            self._drain()  # or an old error would be raised though there is room again
        if self._is_heard():
            self._drain()
            if self._feed is not None:
                sync.wake()
            self._raise_failure()
            if fsync:
                self._sync()

    def _sync(self) -> None:
        """Wait until the event file and its name in the folder are on the disk."""
        with self._lock:
            try:
                if self._stream is not None:
                    self._stream.sync()
            except OSError as error:
                if self._on_error == "raise":
                    raise
                warn(f"{error}. What was logged may be lost if the power fails.")

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle or copy a closed writer; the copy opens its own file when it is used."""
        if not (self.is_closed and self._reopens):
            raise TypeError(
                f"The writer of {escape(self.folder)} cannot be copied or sent to another "
                "process while its file is open. Close it first, or open another writer there."
            )
        return _make_closed, (type(self),), self.__getstate__()

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without what belongs to this process."""
        kept = {name: value for name, value in vars(self).items() if name not in _OF_THIS_PROCESS}
        return {**kept, "last_step": self.last_step}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._lock, self._gate = threading.RLock(), threading.RLock()
        self._failure, self._draining_thread, self._adding_thread = None, 0, 0
        shared.known.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __del__(self) -> None:
        if self._stream is not None and not self.is_closed:
            self._end()

    def close(self) -> None:
        """Write the rest and close the file. Raises what went wrong if on_error="raise"."""
        if not self.is_closed:
            self._end()
            if self._feed is not None:
                sync.settle()
            self._raise_failure()

    def _end(self) -> None:
        """Close without raising."""
        lost = 0
        with self._lock:
            if self._stream is not None and not self.is_closed:
                self._finish()
                self._drain()
                lost = len(self._events) + self._stream.waiting
                self._stream.close()
                if self._feed is not None:
                    self._feed.end()
            self.is_closed = True
            self._is_ready = False
            shared.flusher.writers.discard(self)
            shared.flusher.busy.discard(self)
        if lost and self._on_error != "raise":
            warn(f"{self._failure}. {lost:,} bytes of events are not in the file.")

    def _finish(self) -> None:
        """Add what comes last in the file; a subclass may have something to say."""

    def _drain(self) -> None:
        """Hand all that waits to the system; what goes wrong is kept for the next call."""
        with self._lock:
            if self._stream is None or self.is_closed:
                return
            self._draining_thread = threading.get_ident()
            try:
                self._stream.resume()
                # Twice where an interrupt left the first ones between here and the file.
                for _ in range(2):
                    with self._gate:
                        events = self._take()
                    self._stream.write(events)
                    if not len(self._events):
                        break
            except OSError as error:
                self._fail(error)
            else:
                self._failure = None
                self._note_path()
                self._rest()
            finally:
                self._draining_thread = 0
        shared.end_if_signalled()

    def _measure(self) -> int:
        """Hand all that waits to the system, and return the size of the event file."""
        with self._lock:
            self._drain()
            return 0 if self.path is None else os.path.getsize(self.path)

    def _is_busy_here(self) -> bool:
        """Whether this very thread adds events or writes them, as a signal handler may find it."""
        here = threading.get_ident()
        return here in (self._draining_thread, self._adding_thread)

    def _gives_way(self) -> bool:
        """Whether rank zero of the same job logs this run in place of this process."""
        return isinstance(self._stream, RankStream) and self._policy.must_stop()

    def _begin_again(self) -> None:
        """Go on in a new file, where the old one was deleted and training is to go on."""
        with suppress(OSError):
            new = self._policy.open_stream(self.folder, self._suffix)
            if self._stream is not None:
                self._stream.close()
            self._stream = new
            self._note_path()

    def _begin_anew(self) -> None:
        """Forget the parent's file and what it has not written yet: the child of a fork."""
        self._lock, self._gate = threading.RLock(), threading.RLock()
        self._is_ready = False
        if self.is_closed:
            return
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self._take().clear()
        self._take().clear()

    def _open(self) -> None:
        with self._lock:
            if self._stream is None:  # or another thread was faster
                self._stream = self._make_stream()
                self._note_path()
        shared.flusher.add(self)
        shared.watch_sigterm()
        if self._feed is not None:
            self._feed.announce(is_first=len(self._paths) == 1)

    def _note_path(self) -> None:
        """Remember the event file, and let other trackers read it.

        The file of a rank above zero may be made later, or never.
        """
        if self.path is not None and self.path not in self._paths:
            self._paths.append(self.path)
            if self._feed is not None:
                self._feed.end()
            if self._syncs_trackers:
                self._feed = sync.follow(self.path, self._measure, self._staged_for)

    def _make_stream(self) -> Stream | RankStream:
        try:
            return self._policy.open_stream(self.folder, self._suffix)
        except OSError as error:
            if error.errno != errno.EMFILE:
                raise
            # A program that forgets a thousand writers in a second has them closed here.
            shared.flusher.drain_all()
            gc.collect()
            return self._policy.open_stream(self.folder, self._suffix)

    def _rest(self) -> None:
        """Let the writer go, if nobody else holds it; the next call comes the long way."""
        with self._gate:
            self._is_ready = False  # first, or a number might slip in behind the next line
            if not len(self._events):
                shared.flusher.busy.discard(self)
            self._choose_way()

    def _try_open(self) -> bool:
        """Open the file. Where this only warns, each call tries again until it succeeds."""
        try:
            self._open()
        except OSError as error:
            if self._on_error == "raise" or (self._on_error is None and not self._has_begun):
                raise
            if not self._is_told:
                self._is_told = True
                warn(f"{error}. Nothing is logged until the file can be created.")
        return self._stream is not None

    def _choose_way(self) -> None:
        """Let numbers take the short way where nothing asks for a look at each of them."""
        self._is_ready = (
            self._stream is not None
            and not self.is_closed
            and self._failure is None
            and self._default_walltime is None
            and not shared.flusher.is_over
            and self in shared.flusher.busy
        )

    def _is_heard(self) -> bool:
        """Whether a call is to be recorded. Raises what went wrong if on_error="raise".

        A closed writer is opened again, or raises WriterClosed where it is over for good.
        """
        if self.is_closed:
            self._reopen()
        if self.is_silent:
            return False
        if self._stream is None and not self._try_open():  # lazy, or in the child of a fork
            return False
        self._raise_failure()
        return True

    def _reopen(self) -> None:
        """Let the next event go to a new file in the same folder. Raises WriterClosed."""
        if not self._reopens:
            raise WriterClosed(
                f"The run in {escape(self.folder)} is closed. Nothing was logged by this call. "
                "Log before close(), or begin another run."
            )
        with self._lock:
            if self.is_closed:  # or another thread was faster
                self._stream = None
                self.is_closed = False

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Warn of a call that failed and count it, or return False where it has to raise."""
        if self._on_error == "raise" or isinstance(error, BadTag | WriterClosed):
            return False
        if self._on_error is None and isinstance(error, OSError) and not self._has_begun:
            return False  # the folder cannot be written to, and training has not begun
        self.skipped[tag] = self.skipped.get(tag, 0) + 1
        key = call, tag
        if key not in self._warned and len(self._warned) < _MOST_WARNINGS:
            self._warned.add(key)
            warn(f"{describe_failure(error, call, tag)} {_COUNTED}")
        return True

    def _raise_failure(self) -> None:
        failure = self._failure
        if failure is not None and self._on_error == "raise":
            # A new one each time: one raised again would keep all frames of the times before.
            raise OSError(failure.errno, failure.strerror, failure.filename)

    def _fail(self, error: OSError) -> None:
        if error.filename is None and self._stream is not None:
            error = OSError(error.errno, os.strerror(error.errno or 0), self._stream.path)
        is_new, self._failure = self._failure is None, error
        # The next call has to come the slow way, and so learns of it.
        self._is_ready = False
        if isinstance(error, FileNotFoundError) and self._on_error != "raise":
            self._begin_again()
        dropped = len(self._events) if len(self._events) > _MOST_WAITING else 0
        if dropped:
            self._events.clear()
        # Last, as the program may make it an error.
        if dropped:
            warn(f"{error}. {dropped:,} bytes of events were dropped: memory would fill up.")
        elif is_new and self._on_error != "raise":
            warn(f"{error}. Events are kept in memory, and the write will be retried.")

    def _wake(self) -> None:
        """Called by the recorder when much waits."""
        if len(self._events) > 16 * self._limit:
            self._drain()  # the thread does not keep up
        else:
            shared.flusher.wake()


def _check_options(flush_secs: Any, on_error: Any) -> None:
    """Raise TypeError or ValueError for what the thread would stumble over later."""
    if not isinstance(flush_secs, Real) or math.isnan(flush_secs):
        raise TypeError(f"flush_secs is a number of seconds, not {flush_secs!r}")
    if on_error is not None and on_error not in get_args(OnError):
        raise ValueError(f"on_error is 'raise' or 'warn', not {on_error!r}")


def describe_failure(error: Exception, call: str, tag: str) -> str:
    """Say which call failed, why, and that nothing was logged by it."""
    if isinstance(error, CannotLog):
        return str(error)  # it says all that
    place = f"Tag '{escape(tag)}': " if tag else ""
    reason = (str(error).partition("\n")[0] or type(error).__name__).rstrip(".")
    return f"{place}{call} failed: {type(error).__name__}: {escape(reason, 200)}. {_NOTHING}"


def _make_closed(kind: type[EventWriter]) -> EventWriter:
    """Return a writer without attributes, which unpickling then sets."""
    return kind.__new__(kind)
