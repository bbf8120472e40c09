"""The event file that a writer has open, and the paths of its earlier files."""

from __future__ import annotations

import errno
import gc
from contextlib import suppress
from typing import TYPE_CHECKING

from runfold._log.trackers import followed_files
from runfold._log.writer import flusher as shared
from runfold._log.writer.rank_zero import RankPolicy, RankStream

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from runfold._core.recorder import Recorder
    from runfold._log.trackers.known_trackers import Mirror
    from runfold._log.writer.life import Location
    from runfold._log.writer.new_event_file import Stream

    Measure = Callable[[], int]


class EventFile:
    """The current event file of a writer. Not thread-safe: the writer holds a lock.

    Attributes:
        folder: the local folder. The location, if there is one, chooses it for each file.
        suffix: the end of the file's name.
        policy: decides whether this process of a distributed job writes.
        paths: all files so far.
        stream: the open stream; None while no file is open.
        feed: gives other trackers access to the file; None if they are disabled.
    """

    def __init__(
        self,
        folder: str,
        suffix: str,
        policy: RankPolicy,
        location: Location | None = None,
        sync_trackers: bool = True,
        staged_for: str | None = None,
        mirror: Mirror | None = None,
    ) -> None:
        """Prepare to open files. Trackers see `staged_for` in place of a staging folder.

        The mirror receives everything that is logged, even if trackers are disabled.
        """
        self.folder = folder
        self.suffix = suffix
        self.policy = policy
        self.location = location
        self.sync_trackers, self.staged_for = sync_trackers, staged_for
        self.mirror = mirror
        self.paths: list[str] = []
        self.stream: Stream | RankStream | None = None
        self.feed: followed_files.Feed | None = None

    @property
    def path(self) -> str | None:
        """The path of the event file; None while there is no file."""
        return None if self.stream is None else self.stream.path

    @property
    def is_first(self) -> bool:
        """Whether no file has ever been opened."""
        return not self.paths and self.stream is None

    @property
    def gives_way(self) -> bool:
        """Whether rank zero of the same job logs this run instead of this process."""
        return isinstance(self.stream, RankStream) and self.policy.must_stop()

    def open(self, measure: Measure) -> bool:
        """Open a new file; return False if another process logs the run. Raises OSError."""
        if self.location is None:
            self.stream = self._make_stream()
        else:
            folder = self.location.claim()
            if folder is None:
                return False
            self.folder = folder
            try:
                self.stream = self._make_stream()
            finally:
                self.location.release(has_file=self.stream is not None)
        self.note_path(measure)
        return True

    def write(self, recorder: Recorder, gate: AbstractContextManager[object]) -> None:
        """Write all events, taking them from the recorder under `gate`. Raises OSError."""
        if self.stream is None:
            return
        self.stream.resume()
        # Try twice, in case an interrupt left older events between recorder and file.
        for _ in range(2):
            with gate:
                events = recorder.take()
            self.stream.write(events)
            if not len(recorder.events):
                break

    def sync(self) -> None:
        """Wait until the file and its folder entry are on disk. Raises OSError."""
        if self.stream is not None:
            self.stream.sync()

    def replace(self, measure: Measure) -> None:
        """Continue in a new file, after the old one was deleted during training."""
        with suppress(OSError):
            new = self.policy.open_stream(self.folder, self.suffix)
            if self.stream is not None:
                self.stream.close()
            self.stream = new
            self.note_path(measure)

    def note_path(self, measure: Measure) -> None:
        """Add the event file to `paths`, and let other trackers read it.

        A rank above zero may create its file later, or never.
        """
        if self.path is not None and self.path not in self.paths:
            self.paths.append(self.path)
            if self.feed is not None:
                self.feed.end()
            if self.sync_trackers or self.mirror is not None:
                self.feed = followed_files.follow(
                    self.path, measure, self.staged_for, self.mirror, self.sync_trackers
                )

    def announce(self) -> None:
        """Notify trackers about the new file."""
        if self.feed is not None:
            self.feed.announce(is_first=len(self.paths) == 1)

    def close(self) -> int:
        """Close the file; return the number of bytes that an error left unwritten."""
        if self.stream is None:
            return 0
        left = self.stream.waiting
        self.stream.close()
        if self.feed is not None:
            self.feed.end()
        return left

    def after_fork(self) -> None:
        """Leave the file to the parent process."""
        if self.stream is not None:
            self.stream.close()
            self.stream = None

    def _make_stream(self) -> Stream | RankStream:
        try:
            return self.policy.open_stream(self.folder, self.suffix)
        except OSError as error:
            if error.errno != errno.EMFILE:
                raise
            # Close writers that the program has dropped: a thousand of them per second use up
            # all file descriptors.
            shared.flusher.drain_all()
            gc.collect()
            return self.policy.open_stream(self.folder, self.suffix)

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes without the open file, which belongs to this process."""
        return {**vars(self), "stream": None, "feed": None, "paths": list(self.paths)}
