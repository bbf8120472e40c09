"""A tracked run's storage: its uploads, and the stop requests that come from there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from runfold.errors import CannotLog
from runfold.log.control import Relay
from runfold.log.pulse import warn
from runfold.storage.address import as_url, is_url, join_url, refuse_itself, show_url

if TYPE_CHECKING:
    StrPath = str | os.PathLike[str]

# In the environment of a command whose files are uploaded by who started it.
STORAGE_VARIABLE = "RUNFOLD_STORAGE"

# A store that takes or gives nothing for so long is given up.
_CLOSING_SECONDS = 60.0
# After SIGTERM a cluster waits for half a minute, and then kills.
_DYING_SECONDS = 20.0


class Uploads:
    """What uploads a run, from now on until it is closed, and hears of stop requests there."""

    def __init__(self, folder: str, storage: StrPath, name: str, is_resumed: bool) -> None:
        from runfold.storage.upload import Uploader

        self._uploader = Uploader(folder, join_url(as_url(storage), name), warn, is_resumed)
        self._relay = Relay(self._uploader)
        self._is_closed = False
        self._uploader.start()

    @property
    def url(self) -> str:
        """Where the run goes, without user and password."""
        return self._uploader.url

    def hear(self) -> None:
        """Take stop requests from the storage as well."""
        self._relay.start()

    def close(self) -> None:
        """Upload the rest, and warn of what could not be; once more does nothing."""
        self._close(_CLOSING_SECONDS)

    def close_soon(self) -> None:
        """The same before the process is killed."""
        self._close(_DYING_SECONDS)

    def _close(self, seconds: float) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._relay.stop()
        missing = self._uploader.close(seconds)
        if missing:
            warn(self._uploader.explain(missing), 2000)


def fetch_earlier(folder: str, storage: StrPath, name: str) -> None:
    """Bring the event files that a resumed run has elsewhere: its steps are counted on.

    Raises nothing: what is missing then the uploader tells, which asks the same store.
    """
    from runfold.storage.earlier import fetch_lacking

    fetch_lacking(folder, join_url(as_url(storage), name), _CLOSING_SECONDS)


def check_places(logdir: StrPath | None, storage: StrPath | None, name: str | None = None) -> None:
    """Raise CannotLog for a URL in place of a folder, and CannotStore for a bad storage."""
    if logdir is not None and is_url(logdir):
        shown = show_url(os.fsdecode(logdir))
        raise CannotLog(
            f"{shown} is no folder: a run is written to a disk, and uploaded from there. Nothing "
            f"was logged. Give a folder, and storage='{shown}'."
        )
    if storage is not None:
        url = as_url(storage)
        if logdir is not None:
            base = os.fspath(logdir)
            folder = os.path.join(base, name) if name else base
            refuse_itself(folder, join_url(url, name_run(folder, base, name)))


def name_run(folder: str, logdir: str, name: str | None) -> str:
    """What a run is called in its storage: its path below the logdir, or its folder's name."""
    return os.path.relpath(folder, logdir) if name else os.path.basename(os.path.abspath(folder))
