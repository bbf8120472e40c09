"""The file that stores an index; it is locked, read and replaced safely in a shared folder.

All operations use the folder's descriptor, and modes are set only on new, open files, so
that a link planted by another user cannot affect other files.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import time
import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING

from runfold._experiments.experiment_index import Index, parse_index
from runfold._files import Untrusted, read_small, replace_small
from runfold._humanize import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

# Enough for 100,000 trials with names of 300 characters.
MOST_BYTES = 32 << 20

_LOCK_SECONDS = 30.0
_POLL_SECONDS = 0.02
# Errors from opening or reading something other than a small regular file.
_NOT_A_FILE = (
    *(errno.EFBIG, errno.EINVAL, errno.EISDIR, errno.ELOOP),
    *(errno.ENODEV, errno.ENXIO, errno.EOPNOTSUPP),
)


class IndexFile:
    """The file of an index in an open folder."""

    def __init__(self, folder: int, path: str, mode: int) -> None:
        """Store the folder's descriptor, the file's path, and the mode of new files."""
        self._folder = folder
        self._path = path
        self._name = os.path.basename(path)
        self._mode = mode
        self._is_locked = False

    def read(self) -> Index | None:
        """Return the index; None if the file is missing or broken.

        Renames a broken file, with a warning, if this object holds the lock. Raises OSError.
        """
        try:
            return parse_index(json.loads(read_small(self._name, MOST_BYTES, dir_fd=self._folder)))
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno not in _NOT_A_FILE:
                raise
        except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
            pass
        if self._is_locked:
            self._set_aside()
        return None

    def write(self, index: Index) -> None:
        """Replace the file. Raises OSError."""
        data = json.dumps(asdict(index), indent=1, ensure_ascii=True).encode()
        if len(data) <= MOST_BYTES:
            replace_small(self._name, data, self._mode, dir_fd=self._folder)
            return
        warnings.warn(
            f"{escape(self._path)} would be larger than {MOST_BYTES >> 20} MB, so new ids, labels"
            " and notes were not stored. Move some experiments to another logdir.",
            RuntimeWarning,
            stacklevel=2,
        )

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the file's lock inside the block.

        Raises TimeoutError if another process holds it for too long, and Untrusted if the
        lock is not a regular file.
        """
        descriptor = self._open_lock()
        try:
            self._await_lock(descriptor)
            self._is_locked = True
            yield
        finally:
            self._is_locked = False
            os.close(descriptor)

    def _open_lock(self) -> int:
        name = self._name + ".lock"
        flags = os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(
                name, flags | os.O_CREAT | os.O_EXCL, self._mode, dir_fd=self._folder
            )
        except FileExistsError:
            pass
        else:
            with contextlib.suppress(OSError):  # a file system without modes
                os.fchmod(descriptor, self._mode)
            return descriptor
        is_file = False
        try:
            descriptor = os.open(name, flags, dir_fd=self._folder)
            is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
            if is_file:
                return descriptor
            os.close(descriptor)
        except OSError as error:
            if error.errno not in _NOT_A_FILE:
                raise
        raise Untrusted(errno.EPERM, "Not a regular file", self._path + ".lock")

    def _await_lock(self, descriptor: int) -> None:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    reason = f"Locked by another process for {_LOCK_SECONDS:g} seconds"
                    raise TimeoutError(errno.ETIMEDOUT, reason, self._path + ".lock") from None
                time.sleep(_POLL_SECONDS)
            except OSError:
                return  # Some network disks lack locks; renaming still keeps the file intact.
            else:
                return

    def _set_aside(self) -> None:
        """Rename a broken file instead of deleting it, because it has the only copy of the ids."""
        kept = self._name + ".broken"
        with contextlib.suppress(OSError):
            os.replace(self._name, kept, src_dir_fd=self._folder, dst_dir_fd=self._folder)
        warnings.warn(
            f"{escape(self._path)} could not be read. Experiments get new ids, and their labels"
            f" and notes are lost. The old file was renamed to {escape(self._path)}.broken.",
            RuntimeWarning,
            stacklevel=2,
        )
