"""Logs at a URL, written to a local staging folder and uploaded as they grow.

The staging folder is in the user's state folder. Every writer has its own, even for the same URL.
It is removed once the writer is closed and everything is uploaded.
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
    """The URL of a log, its local folder, and its upload.

    Attributes:
        url: where the log goes. It may contain a password: do not use it in messages.
        folder: the local folder. `claim` changes it in a forked child.
        mark: a name suffix that no other writer with the same URL uses.
        is_staged: whether the folder exists only for the upload.
    """

    def __init__(self, url: str, folder: str | None = None) -> None:
        """Log to a valid URL through a local folder. Default: a staging folder."""
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
        """The path in the URL, such as `/bucket/run`; None if the local folder is kept."""
        if not self.is_staged:
            return None
        return "/" + split_url(self.url)[1].rpartition("@")[2]

    def claim(self) -> str:
        """Create the folder for the next event file, and return it. Raises OSError.

        Returns the same folder each time, unless another thread is still uploading and removing
        it, or it belongs to the parent process.
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
        """Start uploading the folder, to the log's URL or to a different one."""
        from runfold._log.writer.run_uploads import Uploads

        self._pid = os.getpid()
        self._uploads = Uploads(
            self.folder, url or self.url, is_shared=True, is_staged=self.is_staged
        )

    def close(self, sink: Sink | None = None) -> None:
        """Finish the upload and remove the staging folder, or warn that it is kept."""
        if self._uploads is not None:
            self._keep_projector_config()
            self._uploads.close()

    def close_later(self, sink: Sink) -> None:
        """Do the same as `close`, in the background."""
        if self._uploads is not None and not self._uploads.is_over:
            self._uploads.close_later()

    def _keep_projector_config(self) -> None:
        """Keep the list of embeddings, because an upload replaces the whole file in the store."""
        try:
            with open(os.path.join(self.folder, PROJECTOR_CONFIG), "rb") as file:
                self._projector_config = file.read()
        except OSError:  # no embeddings were logged
            return

    def _restore_projector_config(self) -> None:
        path = os.path.join(self.folder, PROJECTOR_CONFIG)
        if self._projector_config is not None and not os.path.exists(path):
            with open(path, "wb") as file:
                file.write(self._projector_config)


def locate(log_dir: StrPath, storage: StrPath | None = None) -> tuple[str, Remote | None]:
    """Return the local folder for a log, and its Remote if it is uploaded.

    A `file://` URL is treated as a local folder. Raises CannotStore for a URL without a driver or
    an invalid storage, and CannotLog for a URL combined with a storage.
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
    """Raise CannotStore for an invalid storage, and CannotLog if the logdir is a URL too."""
    if storage is None:
        return
    url = as_url(storage)
    if is_url(logdir):
        raise CannotLog(
            f"{show_url(logdir)} is a URL, so the log is uploaded there. Nothing was logged. "
            "Omit storage, or pass a folder as the logdir."
        )
    folder = join_run_path(logdir, name)
    refuse_itself(folder, join_url(url, name_run(folder, logdir, name)))


def check_url_of_run(url: str) -> None:
    """Raise CannotLog for a bucket without a path: `x-2` would be a different bucket."""
    if is_url(url) and "/" not in split_url(url)[1].strip("/"):
        raise CannotLog(
            f"{show_url(url)} does not name a folder for the run. Nothing was logged. Add a name, "
            f"such as {show_url(url)}/run-1."
        )


def join_run_path(logdir: str, name: str | None) -> str:
    """Return the path or URL of a run in a logdir, or of the logdir itself if there is no name."""
    if not name:
        return logdir
    return join_url(logdir, name) if is_url(logdir) else os.path.join(logdir, name)


def name_run(folder: str, logdir: str, name: str | None) -> str:
    """Return a run's name in its storage: its path in the logdir, or its folder's name."""
    return os.path.relpath(folder, logdir) if name else os.path.basename(os.path.abspath(folder))


def as_log_path(log_dir: StrPath) -> str:
    """Return a log_dir as a local path or a supported URL. Raises CannotStore."""
    path = restore_url(os.fsdecode(log_dir))
    if not is_url(path):
        return path
    try:
        check_url(path)
    except CannotStore as error:
        raise CannotStore(
            f"{str(error).rstrip('.')}. Nothing was logged. For other stores, log to a local "
            "folder and copy the folder to the store."
        ) from None
    return local_path(path) or path.rstrip("/")


def _make_mark() -> str:
    return f"-{secrets.token_hex(6)}"


def _name_staging(url: str, mark: str) -> str:
    """Return a path for a new staging folder, named after the end of the URL, without the password.

    If the user's state folder cannot be written to, a temporary folder is created instead.
    """
    name = _UNSAFE.sub("-", mask_url(url))[-_LONGEST_NAME:].strip("-.") + mark
    try:
        root = make_private(state_folder("staging"))
    except OSError:
        return tempfile.mkdtemp(prefix=name)
    if not os.access(root, os.W_OK | os.X_OK):
        return tempfile.mkdtemp(prefix=name)
    return os.path.join(root, name)
