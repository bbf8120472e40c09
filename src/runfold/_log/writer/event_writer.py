"""Events written to a file in the background: what SummaryWriter and the tracker stand on."""

from __future__ import annotations

import copy
import os
import threading
from typing import TYPE_CHECKING, Any

from runfold._core.recorder import ScalarMethods
from runfold._humanize import escape
from runfold._log.trackers import followed_files
from runfold._log.writer import flusher as shared
from runfold._log.writer.checks import Checks, check_seconds, record_scalar, record_scalars
from runfold._log.writer.copying import reduce_closed
from runfold._log.writer.current_file import EventFile
from runfold._log.writer.exit_reason import raised_last, raised_now
from runfold._log.writer.guard import ErrorPolicy, OnError
from runfold._log.writer.rank_zero import RankPolicy
from runfold._warnings import warn_caller
from runfold.errors import WriterClosed

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from typing_extensions import Buffer

    from runfold._log.writer.life import Location, Part

# While the disk takes nothing, this much is kept in memory to be written later.
_MOST_WAITING = 64 << 20
# What a copy of a writer in another process must not share.
_OF_THIS_PROCESS = ("lock", "_gate", "_draining_thread", "_adding_thread")


class EventWriter(ScalarMethods):
    """A folder's new event file, and the calls that add events to it.

    Each call returns at once: what it adds is written by a thread, every two
    seconds or earlier. `flush` waits for that. What was flushed, or logged
    `flush_secs` ago, outlives the process, however it ends. Safe to use from
    several threads, and after a fork, where the child begins a file of its own.
    A writer is closed when it is garbage-collected.

    When the disk is full or the folder is gone, a warning says so and training
    continues. Nothing is lost as long as memory lasts: the write is tried again with
    each flush. A value that cannot be logged warns once for its tag and is counted in
    `errors.skipped`. With on_error="raise" the next call, and `close`, raise instead.

    It is the `Sink` of its parts; see `Part` for the order in which they are called.
    """

    # What ended the writer, once that is known: an exception, or nothing of the kind.
    ended_by: tuple[BaseException | None] | None = None

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
        clean_tags: bool = False,
        sync_trackers: bool = True,
        staged_for: str | None = None,
        reopens: bool = False,
        parts: Iterable[Part] = (),
        uploads: Iterable[Part] = (),
        location: Location | None = None,
    ) -> None:
        """Open an event file; a lazy writer opens it at its first call.

        A silent writer takes every call and writes nothing. In a distributed job the policy
        decides whether this process is silent. With on_error=None only a folder that cannot
        be written to raises, when the first file is opened. With sync_trackers=False, W&B
        and other trackers do not see the file. Those that do see `staged_for` in place of a
        folder that is removed after an upload. A writer that reopens takes a call after
        `close`, and begins another file. A location chooses the folder of each file.
        """
        check_seconds(flush_secs)
        self.errors = ErrorPolicy(on_error)
        self.checks = Checks(clean_tags)
        # Who writes holds the first, and who adds or takes events the second, so that
        # nobody who logs waits for the disk.
        self.lock = threading.RLock()
        self._gate = threading.RLock()
        self.flush_secs = flush_secs
        self.is_closed = False
        self.file = EventFile(
            os.fspath(folder),
            suffix,
            policy or RankPolicy(is_main=not is_silent),
            location,
            sync_trackers,
            staged_for,
        )
        self.reopens = reopens
        self.parts, self.uploads = list(parts), list(uploads)
        self._draining_thread = self._adding_thread = 0
        self._has_warned_of_open = False
        shared.known.add(self)
        if not self.is_silent and not is_lazy:
            self._try_open()

    @property
    def folder(self) -> str:
        """The local folder of the event file."""
        return self.file.folder

    @property
    def is_silent(self) -> bool:
        """Whether the writer takes every call and writes nothing."""
        return self.file.policy.is_silent

    @property
    def path(self) -> str | None:
        """The event file; None for a silent writer."""
        return self.file.path

    @property
    def _is_open(self) -> bool:
        """Whether there is a file to write to."""
        return self.file.stream is not None and not self.is_closed

    # The slow path of `add_scalar` and `log`.
    record = record_scalar
    record_many = record_scalars

    def add_value(
        self, tag: str, message: Buffer, step: Any = None, walltime: float | None = None
    ) -> None:
        """Add one serialised `Summary.Value`, as `_events.value_encoding` makes them."""
        if self.accepts():
            at = self.checks.step(step, tag)
            self.put("value", message, at, self.checks.time(walltime, tag))

    def put(self, kind: str, *arguments: Any) -> None:
        """Add to the events by one of the methods of EventBuffer, while nobody takes them away."""
        with self._gate:
            self._adding_thread = threading.get_ident()
            try:
                if self not in shared.flusher.busy:
                    # It lives until this is written, whoever forgets it.
                    shared.flusher.busy.add(self)
                    self.choose_path()
                    self.file.policy.announce()
                getattr(self._recorder.events, kind)(*arguments)
                waiting = len(self._recorder.events)
            finally:
                self._adding_thread = 0
        if shared.flusher.is_over:
            self.drain()
        elif waiting > self._recorder.limit:
            self.wake()
        shared.end_if_signalled()

    def flush(self, *, fsync: bool = False) -> None:
        """Wait until the system has everything that was logged; a closed writer has nothing left.

        Tries again what could not be written before. With `fsync` it also waits until
        everything is on the disk, where a power loss cannot take it. Raises what went
        wrong if on_error="raise".
        """
        if self.is_closed:
            return
        if self.errors.failure is not None:
            self.drain()  # or an old error would be raised though there is room again
        if self.accepts():
            self.drain()
            if self.file.feed is not None:
                followed_files.wake()
            self.errors.raise_failure()
            if fsync:
                self._sync()

    def _sync(self) -> None:
        """Wait until the event file and its name in the folder are on the disk."""
        try:
            with self.lock:
                self.file.sync()
        except OSError as error:
            if self.errors.are_raised:
                raise
            warn_caller(f"{error}. What was logged may be lost if the power fails.")

    __reduce_ex__ = reduce_closed

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without what belongs to this process."""
        kept = {name: value for name, value in vars(self).items() if name not in _OF_THIS_PROCESS}
        for name in ("file", "errors", "checks"):
            kept[name] = copy.copy(kept[name])
        return {**kept, "last_step": self.last_step}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.lock, self._gate = threading.RLock(), threading.RLock()
        self._draining_thread = self._adding_thread = 0
        shared.known.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __del__(self) -> None:
        # A writer whose options were refused has none.
        if hasattr(self, "file") and self._is_open:
            # Training must not wait for the store of a forgotten writer.
            uploads, self.uploads = self.uploads, []
            self.end()
            for upload in uploads:
                upload.close_later(self)

    def close(self) -> None:
        """Write the rest and close the file. Raises what went wrong if on_error="raise"."""
        if self.ended_by is None:
            # `try: train() finally: writer.close()` is told by the exception on its way.
            self.ended_by = (raised_now(),)
        try:
            if not self.is_closed:
                self.end()
                if self.file.feed is not None:
                    followed_files.settle()
                self.errors.raise_failure()
        finally:
            self.ended_by = None  # it holds all frames that it went through

    def raised(self) -> BaseException | None:
        """Return the exception that ends the writer, if one does."""
        return raised_last() if self.ended_by is None else self.ended_by[0]

    def end(self) -> None:
        """Close without raising."""
        lost = 0
        if self._is_open:
            # Without the lock: a part may wait for a thread of its own, which logs.
            for part in self.parts:
                part.close(self)
        with self.lock:
            if self._is_open:
                self.drain()
                lost = len(self._recorder.events) + self.file.close()
            self.is_closed = True
            self._recorder.is_ready = False
            shared.flusher.writers.discard(self)
            shared.flusher.busy.discard(self)
        if lost and not self.errors.are_raised:
            warn_caller(f"{self.errors.failure}. {lost:,} bytes of events are not in the file.")
        for upload in self.uploads:
            upload.close(self)

    def drain(self) -> None:
        """Hand all that waits to the system; what goes wrong is kept for the next call."""
        with self.lock:
            if not self._is_open:
                return
            for part in self.parts:
                part.flush(self)
            self._draining_thread = threading.get_ident()
            try:
                self.file.write(self._recorder, self._gate)
            except OSError as error:
                self._fail(error)
            else:
                self.errors.failure = None
                self.file.note_path(self._measure)
                self._rest()
            finally:
                self._draining_thread = 0
        shared.end_if_signalled()

    def _measure(self) -> int:
        """Hand all that waits to the system, and return the size of the event file."""
        with self.lock:
            self.drain()
            return 0 if self.path is None else os.path.getsize(self.path)

    def is_busy_here(self) -> bool:
        """Whether this very thread adds events or writes them, as a signal handler may find it."""
        here = threading.get_ident()
        return here in (self._draining_thread, self._adding_thread)

    def after_fork(self) -> None:
        """Forget the parent's file and what it has not written yet: the child of a fork."""
        self.lock, self._gate = threading.RLock(), threading.RLock()
        self._recorder.is_ready = False
        for part in (*self.parts, *self.uploads):
            part.after_fork()
        if self.is_closed:
            return
        self.file.after_fork()
        self._recorder.take().clear()
        self._recorder.take().clear()

    def _open(self) -> None:
        with self.lock:
            # Another thread may have been faster.
            if self.file.stream is not None or not self.file.open(self._measure):
                return
            for upload in self.uploads:
                upload.reopen(self)
        shared.flusher.add(self)
        shared.watch_sigterm()
        self.file.announce()
        for part in reversed(self.parts):
            part.reopen(self)

    def _rest(self) -> None:
        """Let the writer go, if nobody else holds it; the next call comes the long way."""
        with self._gate:
            self._recorder.is_ready = False  # first, or a number might slip in behind the next line
            if not len(self._recorder.events):
                shared.flusher.busy.discard(self)
            self.choose_path()

    def _try_open(self) -> bool:
        """Open the file. Where this only warns, each call tries again until it succeeds."""
        try:
            self._open()
        except OSError as error:
            if self.errors.raises_open(self.file.is_first):
                raise
            if not self._has_warned_of_open:
                self._has_warned_of_open = True
                warn_caller(f"{error}. Nothing is logged until the file can be created.")
        return self.file.stream is not None

    def choose_path(self) -> None:
        """Let numbers take the fast path where nothing asks for a look at each of them."""
        self._recorder.is_ready = (
            self._is_open
            and self.errors.failure is None
            and self.checks.are_needless
            and not shared.flusher.is_over
            and self in shared.flusher.busy
        )

    def accepts(self) -> bool:
        """Whether a call is to be recorded. Raises what went wrong if on_error="raise".

        A closed writer is opened again, or raises WriterClosed where it is over for good.
        """
        if self.is_closed:
            self.reopen()
        file = self.file
        if file.policy.is_silent:
            return False
        if file.stream is None and not self._try_open():  # lazy, or in the child of a fork
            return False
        if self.errors.failure is not None:
            self.errors.raise_failure()
        return True

    def reopen(self) -> None:
        """Let the next event go to a new file in the same folder. Raises WriterClosed."""
        if not self.reopens:
            raise WriterClosed(
                f"The run in {escape(self.folder)} is closed. Nothing was logged by this call. "
                "Log before close(), or begin another run."
            )
        with self.lock:
            if self.is_closed:  # or another thread was faster
                self.file.stream = None
                self.is_closed = False

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Warn of a call that failed and count it, or return False where it has to raise."""
        return self.errors.survive(error, call, tag, self.file.is_first)

    def _fail(self, error: OSError) -> None:
        if error.filename is None and self.path is not None:
            error = OSError(error.errno, os.strerror(error.errno or 0), self.path)
        is_new, self.errors.failure = self.errors.failure is None, error
        # The next call has to come the slow way, and so learns of it.
        self._recorder.is_ready = False
        if isinstance(error, FileNotFoundError) and not self.errors.are_raised:
            self.file.replace(self._measure)
        events = self._recorder.events
        dropped = len(events) if len(events) > _MOST_WAITING else 0
        if dropped:
            events.clear()
        # Last, as the program may make it an error.
        if dropped:
            warn_caller(f"{error}. {dropped:,} bytes of events were dropped: memory would fill up.")
        elif is_new and not self.errors.are_raised:
            warn_caller(f"{error}. Events are kept in memory, and the write will be retried.")

    def wake(self) -> None:
        """Have the events written soon: much waits in the recorder."""
        if len(self._recorder.events) > 16 * self._recorder.limit:
            self.drain()  # the thread does not keep up
        else:
            shared.flusher.wake()
