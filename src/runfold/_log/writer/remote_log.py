"""Logs at a URL: written to a folder on this machine, and uploaded while they grow.

The staging folder is in the user's state folder. Every writer has its own, so two writers
with the same URL never share one. It is removed when the writer is closed and the store
has all of it.
"""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from typing import TYPE_CHECKING, Any

from runfold._conventions import PROJECTOR_CONFIG
from runfold._log.writer.life import Part
from runfold._state import make_private, state_folder
from runfold._storage.url import (
    as_url,
    check_url,
    is_url,
    join_url,
    local_path,
    mask_url,
    refuse_itself,
    restore_url,
    show_url,
    split_url,
)
from runfold.errors import CannotLog, CannotStore

if TYPE_CHECKING:
    from runfold._log.writer.run_uploads import Uploads
    from runfold._log.writer.sink import Sink

    StrPath = str | os.PathLike[str]

_LONGEST_NAME = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class Remote(Part):
    """The URL of a log, the local folder that it is written to, and its upload.

    Attributes:
        url: where the log goes. It may hold a password: not for messages.
        folder: the local folder. `claim` changes it in the child of a fork.
        mark: the end of names that no other writer with the same URL uses.
        is_staged: whether the folder exists only for the upload.
    """

    def __init__(self, url: str, folder: str | None = None) -> None:
        """Take a URL that was checked, and the folder to upload; by default a staging folder."""
        self.url = url
        self.mark = _make_mark()
        self.folder = folder or _name_staging(url, self.mark)
        self.is_staged = folder is None
        self._uploads: Uploads | None = None
        self._pid = os.getpid()
        self._projector_config: bytes | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Remote, (self.url, None if self.is_staged else self.folder)

    @property
    def shown(self) -> str:
        """The URL without user and password."""
        return show_url(self.url)

    @property
    def path(self) -> str | None:
        """The path in the URL, such as `/bucket/run`; None if the local folder stays."""
        if not self.is_staged:
            return None
        return "/" + split_url(self.url)[1].rpartition("@")[2]

    def claim(self) -> str:
        """Make the folder for the next event file, and return it. Raises OSError.

        It is the same folder each time, unless another thread is still uploading and
        removing that one, or it belongs to the parent process.
        """
        if not self.is_staged:
            return self.folder
        is_child = self._pid != os.getpid()
        if is_child or (self._uploads is not None and not self._uploads.is_over):
            self.mark = _make_mark()
            self.folder = _name_staging(self.url, self.mark)
        make_private(self.folder)
        self._restore_projector_config()
        return self.folder

    def release(self, has_file: bool) -> None:
        """Do nothing: no other writer uses the folder."""

    def reopen(self, sink: Sink) -> None:
        """Upload the folder of the new event file."""
        self.start()

    def start(self, url: str | None = None) -> None:
        """Upload the folder from now on, to the log's URL or another."""
        from runfold._log.writer.run_uploads import Uploads

        self._pid = os.getpid()
        self._uploads = Uploads(
            self.folder, url or self.url, is_shared=True, is_staged=self.is_staged
        )

    def close(self, sink: Sink | None = None) -> None:
        """Upload the rest and remove the staging folder, or warn where it stays."""
        if self._uploads is not None:
            self._keep_projector_config()
            self._uploads.close()

    def close_later(self, sink: Sink) -> None:
        """Do the same as `close` in the background."""
        if self._uploads is not None and not self._uploads.is_over:
            self._uploads.close_later()

    def _keep_projector_config(self) -> None:
        """Remember the embeddings so far: the file in the store is replaced as a whole."""
        try:
            with open(os.path.join(self.folder, PROJECTOR_CONFIG), "rb") as file:
                self._projector_config = file.read()
        except OSError:  # there are none
            return

    def _restore_projector_config(self) -> None:
        path = os.path.join(self.folder, PROJECTOR_CONFIG)
        if self._projector_config is not None and not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(self._projector_config)


def locate(log_dir: StrPath, storage: StrPath | None = None) -> tuple[str, Remote | None]:
    """Return the local folder for a log, and its Remote if the log is to be uploaded.

    A `file://` URL is the folder that it names. Raises CannotStore for a URL that no driver
    knows, and for a bad storage; CannotLog for a URL together with a storage.
    """
    path = as_log_path(log_dir)
    check_storage(path, storage)
    if is_url(path):
        remote = Remote(path)
        return remote.folder, remote
    if storage is None:
        return path, None
    return path, Remote(join_url(as_url(storage), name_run(path, path, None)), path)


def check_storage(logdir: str, storage: StrPath | None, name: str | None = None) -> None:
    """Raise CannotStore for a bad storage, and CannotLog for one in addition to a URL."""
    if storage is None:
        return
    url = as_url(storage)
    if is_url(logdir):
        raise CannotLog(
            f"{show_url(logdir)} is a URL, so the log is uploaded there. Nothing was logged. "
            "Leave out storage, or give a folder as the logdir."
        )
    folder = join_place(logdir, name)
    refuse_itself(folder, join_url(url, name_run(folder, logdir, name)))


def check_url_of_run(place: str) -> None:
    """Raise CannotLog for the URL of a bucket: the next free one would be another bucket."""
    if is_url(place) and "/" not in split_url(place)[1].strip("/"):
        raise CannotLog(
            f"{show_url(place)} has no folder for the run. Nothing was logged. Give the run a "
            f"name there, such as {show_url(place)}/run-1."
        )


def join_place(logdir: str, name: str | None) -> str:
    """Return the path or URL of a run that has a name below a logdir, or of the logdir itself."""
    if not name:
        return logdir
    return join_url(logdir, name) if is_url(logdir) else os.path.join(logdir, name)


def name_run(folder: str, logdir: str, name: str | None) -> str:
    """Return a run's name in its storage: its path below the logdir, or its folder's name."""
    return os.path.relpath(folder, logdir) if name else os.path.basename(os.path.abspath(folder))


def as_log_path(log_dir: StrPath) -> str:
    """Return a log_dir as a local path, or as a URL that a driver knows. Raises CannotStore."""
    path = restore_url(os.fsdecode(log_dir))
    if not is_url(path):
        return path
    try:
        check_url(path)
    except CannotStore as error:
        raise CannotStore(
            f"{str(error).rstrip('.')}. Nothing was logged. For another store, log to a folder "
            "on a disk, and copy it there."
        ) from None
    return local_path(path) or path.rstrip("/")


def _make_mark() -> str:
    return f"-{secrets.token_hex(6)}"


def _name_staging(url: str, mark: str) -> str:
    """Return the path of a new staging folder: it shows the end of the URL, but no password.

    It is with the temporary files if the user has no home.
    """
    name = _UNSAFE.sub("-", mask_url(url))[-_LONGEST_NAME:].strip("-.") + mark
    try:
        root = make_private(state_folder("staging"))
    except OSError:
        return tempfile.mkdtemp(prefix=name)
    if not os.access(root, os.W_OK | os.X_OK):
        return tempfile.mkdtemp(prefix=name)
    return os.path.join(root, name)
