"""The uploads of a run to its store, and the stop requests that come from there."""

from __future__ import annotations

import atexit
import os
import shutil
import threading
import time

from runfold._log.trackers import followed_files
from runfold._log.writer import flusher
from runfold._story.stop_request import Relay
from runfold._warnings import warn_from_thread

# In the environment of a command whose files are uploaded by the process that started it.
STORAGE_VARIABLE = "RUNFOLD_STORAGE"

# Give up when the store takes or gives nothing for this long.
_CLOSING_SECONDS = 60.0
# After SIGTERM a cluster waits for half a minute, and then kills.
_DYING_SECONDS = 20.0


class Uploads:
    """Uploads a run's folder from now until it is closed, and passes on stop requests from there.

    Args:
        folder: the run's folder.
        url: where its files go.
        is_resumed: the run at the URL is this one, and continues there.
        is_shared: event files of other writers may be at the URL. This one adds its own.
        is_staged: the folder was made for the upload. All of its files are sent, and it is
            removed when the store has them.
    """

    def __init__(
        self,
        folder: str,
        url: str,
        *,
        is_resumed: bool = False,
        is_shared: bool = False,
        is_staged: bool = False,
    ) -> None:
        from runfold._storage.uploader import Uploader

        self._uploader = Uploader(folder, url, warn_from_thread, is_resumed, is_shared, is_staged)
        self._relay = Relay(self._uploader)
        self._is_staged = is_staged
        self._pid = os.getpid()
        self.is_over = False
        self._uploader.start()
        _open_uploads.add(self)
        flusher.last_calls.add(_close_all_soon)

    @property
    def url(self) -> str:
        """Where the run goes, without user and password."""
        return self._uploader.url

    @property
    def target(self) -> str:
        """Where the run goes, with the password that the URL may hold: not for messages."""
        return self._uploader.target

    def hear(self) -> None:
        """Take stop requests from the store as well."""
        self._relay.start()

    def close(self) -> None:
        """Upload the rest, and warn if something could not be uploaded.

        Does nothing the second time, and in the child of a fork.
        """
        if self._is_staged:
            followed_files.settle()  # trackers read the folder, which is about to be removed
        self._close(_CLOSING_SECONDS)

    def close_soon(self) -> None:
        """Do the same as `close`, before the process is killed."""
        self._close(_DYING_SECONDS)

    def close_later(self) -> None:
        """Do the same as `close` in the background. The end of the program waits for it."""
        _closing_threads[self] = threading.Thread(
            target=self._close_in_background, name="runfold-close", daemon=True
        )
        _closing_threads[self].start()

    def _close_in_background(self) -> None:
        self.close()
        del _closing_threads[self]

    def hasten(self) -> None:
        """Send what is left without waiting for it; `close` must follow."""
        self._uploader.hasten()

    def _close(self, seconds: float) -> None:
        # No lock: a signal handler may call this while its own thread is in here.
        if self.is_over or self._pid != os.getpid():
            return
        missing = ["what was written last"]
        try:
            self._relay.stop()
            missing = self._uploader.close(seconds)
        finally:  # also after Ctrl-C
            self._end(missing)

    def _end(self, missing: list[str]) -> None:
        if self.is_over:  # by a signal handler meanwhile
            return
        if not missing and self._is_staged:
            shutil.rmtree(self._uploader.folder, ignore_errors=True)
        self.is_over = True
        _open_uploads.discard(self)
        if missing:
            warn_from_thread(self._uploader.explain(missing), 2000)


_open_uploads: set[Uploads] = set()
_closing_threads: dict[Uploads, threading.Thread] = {}


def _close_all_soon() -> None:
    """Upload the rest of all folders at the same time, before SIGTERM ends the process."""
    end = time.monotonic() + _DYING_SECONDS
    waiting = list(_open_uploads)
    for uploads in waiting:
        uploads.hasten()
    for uploads in waiting:
        uploads._close(max(0.0, end - time.monotonic()))


@atexit.register
def _await_closing() -> None:
    for thread in list(_closing_threads.values()):
        thread.join()


def fetch_earlier(folder: str, url: str) -> None:
    """Fetch the event files that a resumed run has at a URL, so that its steps are counted on.

    Raises nothing: the uploader, which uses the same store, warns of what is missing.
    """
    from runfold._storage.earlier_files import fetch_lacking

    fetch_lacking(folder, url, _CLOSING_SECONDS)
