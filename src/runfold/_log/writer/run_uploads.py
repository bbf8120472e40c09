"""The upload of a run to its store, and stop requests from the store."""

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

# Set in the environment of a command if the process that started it uploads its files.
STORAGE_VARIABLE = "RUNFOLD_STORAGE"

# Give up if the store does not respond for this long.
_CLOSING_SECONDS = 60.0
# A cluster kills the process half a minute after SIGTERM.
_DYING_SECONDS = 20.0


class Uploads:
    """Uploads a run's folder until closed, and relays stop requests from the store.

    Args:
        folder: the run's folder.
        url: where its files go.
        is_resumed: whether this run continues the run at the URL.
        is_shared: whether other writers may have event files at the URL. This one adds its own.
        is_staged: whether the folder exists only for the upload. All of its files are uploaded,
            and it is removed afterwards.
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
        """The URL of the run, without user and password."""
        return self._uploader.url

    @property
    def target(self) -> str:
        """The URL of the run, possibly with a password: do not use it in messages."""
        return self._uploader.target

    def relay_stop_requests(self) -> None:
        """Start relaying stop requests from the store."""
        self._relay.start()

    def close(self) -> None:
        """Finish the upload, and warn about files that could not be uploaded.

        Does nothing on a second call or in a forked child.
        """
        if self._is_staged:
            followed_files.settle()  # trackers read the folder, which will be removed
        self._close(_CLOSING_SECONDS)

    def close_soon(self) -> None:
        """Do the same as `close`, quickly, before the process is killed."""
        self._close(_DYING_SECONDS)

    def close_later(self) -> None:
        """Do the same as `close`, in the background. The program waits for it before exiting."""
        _closing_threads[self] = threading.Thread(
            target=self._close_in_background, name="runfold-close", daemon=True
        )
        _closing_threads[self].start()

    def _close_in_background(self) -> None:
        self.close()
        del _closing_threads[self]

    def hasten(self) -> None:
        """Upload the remaining data without waiting; `close` must follow."""
        self._uploader.hasten()

    def _close(self, seconds: float) -> None:
        # No lock: a signal handler may call this while its thread is already in this method.
        if self.is_over or self._pid != os.getpid():
            return
        missing = ["the latest data"]
        try:
            self._relay.stop()
            missing = self._uploader.close(seconds)
        finally:  # even after Ctrl-C
            self._end(missing)

    def _end(self, missing: list[str]) -> None:
        if self.is_over:  # a signal handler was faster
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
    """Finish all uploads in parallel, before SIGTERM ends the process."""
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
    """Download the event files of a resumed run, to continue from its last step.

    Never raises: the uploader, which uses the same store, warns about missing files.
    """
    from runfold._storage.earlier_files import fetch_lacking

    fetch_lacking(folder, url, _CLOSING_SECONDS)
