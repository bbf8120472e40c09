"""EventWriter, the background writer that SummaryWriter and the tracker use."""

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

# Keep at most this many bytes in memory while the disk cannot be written to.
_MOST_WAITING = 64 << 20
# A copy in another process must not share these.
_OF_THIS_PROCESS = ("lock", "_gate", "_draining_thread", "_adding_thread")


class EventWriter(ScalarMethods):
    """Adds events to a new event file in a folder.

    Calls return at once: a thread writes the events at least every two seconds, and `flush` writes
    them immediately. Events that were flushed, or logged at least `flush_secs` ago, survive however
    the process ends. A writer is thread-safe. After a fork, the child starts its own file. A writer
    is closed when it is garbage-collected.

    If the disk is full or the folder was deleted, the writer warns and training continues. Events
    are kept in memory, up to a limit, and every flush retries the write. A value that cannot be
    logged causes one warning per tag and is counted in `errors.skipped`. With on_error="raise",
    the next call and `close` raise instead.

    An EventWriter is the `Sink` of its parts; see `Part` for the order in which they are called.
    """

    # A tuple of the exception that ended the writer, (None,) if it ended normally, or None if this
    # is not known yet.
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
        """Open an event file; a lazy writer opens it on the first call.

        A silent writer accepts every call and writes nothing. In a distributed job, the policy
        decides whether this process is silent. With on_error=None, an error is
        raised only if the folder cannot be written to when the first file is opened. With
        sync_trackers=False, W&B and other trackers do not see the file. Otherwise they see
        `staged_for` instead of a staging folder, which is removed after the upload. A writer with
        `reopens` accepts calls after `close` and starts a new file. A location chooses the
        folder of each file.
        """
        check_seconds(flush_secs)
        self.errors = ErrorPolicy(on_error)
        self.checks = Checks(clean_tags)
        # `lock` protects writing; `_gate` protects adding and taking events, so that logging never
        # waits for the disk.
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
        self._has_warned_about_open = False
        shared.known.add(self)
        if not self.is_silent and not is_lazy:
            self._try_open()

    @property
    def folder(self) -> str:
        """The local folder of the event file."""
        return self.file.folder

    @property
    def is_silent(self) -> bool:
        """Whether the writer accepts every call and writes nothing."""
        return self.file.policy.is_silent

    @property
    def path(self) -> str | None:
        """The path of the event file; None for a silent writer."""
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
        """Add a serialized `Summary.Value`, made by `_events.value_encoding`."""
        if self.accepts():
            at = self.checks.step(step, tag)
            self.put("value", message, at, self.checks.time(walltime, tag))

    def put(self, kind: str, *arguments: Any) -> None:
        """Add an event with the EventBuffer method `kind`, while no other thread takes events."""
        with self._gate:
            self._adding_thread = threading.get_ident()
            try:
                if self not in shared.flusher.busy:
                    # Keep a reference until the event is written, even if the program drops the
                    # writer.
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
        """Write all pending events; a closed writer has none.

        Retries writes that failed before. With `fsync`, also waits until everything is on disk,
        safe from a power failure. With on_error="raise", raises the error from a failed write.
        """
        if self.is_closed:
            return
        if self.errors.failure is not None:
            self.drain()  # else an old error would be raised although there is room again
        if self.accepts():
            self.drain()
            if self.file.feed is not None:
                followed_files.wake()
            self.errors.raise_failure()
            if fsync:
                self._sync()

    def _sync(self) -> None:
        """Wait until the event file and its folder entry are on disk."""
        try:
            with self.lock:
                self.file.sync()
        except OSError as error:
            if self.errors.are_raised:
                raise
            warn_caller(f"{error}. Logged events may be lost in a power failure.")

    __reduce_ex__ = reduce_closed

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that are not tied to this process."""
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
        # `file` is missing if the constructor raised.
        if hasattr(self, "file") and self._is_open:
            # Training must not wait while the upload of a forgotten writer finishes.
            uploads, self.uploads = self.uploads, []
            self.end()
            for upload in uploads:
                upload.close_later(self)

    def close(self) -> None:
        """Write pending events and close the file. Raises write errors if on_error="raise"."""
        if self.ended_by is None:
            # In `try: train() finally: writer.close()`, this is the exception being raised.
            self.ended_by = (raised_now(),)
        try:
            if not self.is_closed:
                self.end()
                if self.file.feed is not None:
                    followed_files.settle()
                self.errors.raise_failure()
        finally:
            self.ended_by = None  # an exception keeps its frames alive

    def raised(self) -> BaseException | None:
        """Return the exception that ended the writer, or None."""
        return raised_last() if self.ended_by is None else self.ended_by[0]

    def end(self) -> None:
        """Close without raising."""
        lost = 0
        if self._is_open:
            # Without the lock: a part may wait for its own thread, which logs.
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
            warn_caller(f"{self.errors.failure}. {lost:,} bytes of events were not written.")
        for upload in self.uploads:
            upload.close(self)

    def drain(self) -> None:
        """Write all pending events; an error is kept for the next call."""
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
        """Write all pending events, and return the size of the event file."""
        with self.lock:
            self.drain()
            return 0 if self.path is None else os.path.getsize(self.path)

    def is_busy_here(self) -> bool:
        """Whether the current thread is adding or writing events, for use in signal handlers."""
        here = threading.get_ident()
        return here in (self._draining_thread, self._adding_thread)

    def after_fork(self) -> None:
        """In a forked child, drop the parent's file and pending events."""
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
            # Another thread may have opened it first.
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
        """Release the reference that `put` took; the next call takes the slow path."""
        with self._gate:
            self._recorder.is_ready = False  # first, or a number could be added after the next line
            if not len(self._recorder.events):
                shared.flusher.busy.discard(self)
            self.choose_path()

    def _try_open(self) -> bool:
        """Open the file. If failures only cause warnings, every call retries until one succeeds."""
        try:
            self._open()
        except OSError as error:
            if self.errors.raises_open(self.file.is_first):
                raise
            if not self._has_warned_about_open:
                self._has_warned_about_open = True
                warn_caller(f"{error}. Nothing is logged until the file can be created.")
        return self.file.stream is not None

    def choose_path(self) -> None:
        """Enable the fast path for plain numbers if they need no checks."""
        self._recorder.is_ready = (
            self._is_open
            and self.errors.failure is None
            and self.checks.can_be_skipped
            and not shared.flusher.is_over
            and self in shared.flusher.busy
        )

    def accepts(self) -> bool:
        """Whether to record a call. Raises write errors if on_error="raise".

        Reopens a closed writer, or raises WriterClosed if it cannot be reopened.
        """
        if self.is_closed:
            self.reopen()
        file = self.file
        if file.policy.is_silent:
            return False
        if file.stream is None and not self._try_open():  # lazy, or in a forked child
            return False
        if self.errors.failure is not None:
            self.errors.raise_failure()
        return True

    def reopen(self) -> None:
        """Start a new file in the same folder with the next event. Raises WriterClosed."""
        if not self.reopens:
            raise WriterClosed(
                f"The run in {escape(self.folder)} is closed. Nothing was logged by this call. "
                "Log before close(), or start a new run."
            )
        with self.lock:
            if self.is_closed:  # unless another thread was faster
                self.file.stream = None
                self.is_closed = False

    def _survive(self, error: Exception, call: str, tag: str) -> bool:
        """Warn about a failed call and count it, or return False if it must raise."""
        return self.errors.survive(error, call, tag, self.file.is_first)

    def _fail(self, error: OSError) -> None:
        if error.filename is None and self.path is not None:
            error = OSError(error.errno, os.strerror(error.errno or 0), self.path)
        is_new, self.errors.failure = self.errors.failure is None, error
        # The next call must take the slow path, which reports the failure.
        self._recorder.is_ready = False
        if isinstance(error, FileNotFoundError) and not self.errors.are_raised:
            self.file.replace(self._measure)
        events = self._recorder.events
        dropped = len(events) if len(events) > _MOST_WAITING else 0
        if dropped:
            events.clear()
        # Warn last, because the program may turn warnings into errors.
        if dropped:
            warn_caller(f"{error}. {dropped:,} bytes of events were dropped to save memory.")
        elif is_new and not self.errors.are_raised:
            warn_caller(f"{error}. Events are kept in memory, and the write will be retried.")

    def wake(self) -> None:
        """Write the events soon, because the recorder is filling up."""
        if len(self._recorder.events) > 16 * self._recorder.limit:
            self.drain()  # the background thread cannot keep up
        else:
            shared.flusher.wake()
