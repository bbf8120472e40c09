"""Temporary folders of instances on a node, removed at the latest by the next instance there.

A folder is in use while a process holds the lock on a file in it. Process ids would not do,
because two containers of one machine can share the temporary folder but not the ids.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time

_PREFIX = "runfold-tensorboard-"
_LOCK = "lock"
# A new folder has no lock yet.
_NEW_SECONDS = 60.0


def make_folder() -> tuple[str, int]:
    """Return a new private folder, and the descriptor of its lock.

    The folder is in use until every process that has the descriptor has ended.
    """
    folder = tempfile.mkdtemp(prefix=_PREFIX)
    lock = os.open(os.path.join(folder, _LOCK), os.O_CREAT | os.O_RDWR, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return folder, lock


def remove_unused() -> None:
    """Remove this user's folders whose processes were killed."""
    with os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            # Other users' folders, and files that disappear, cause errors.
            with contextlib.suppress(OSError):
                if entry.name.startswith(_PREFIX) and _is_unused(entry):
                    # The folder of links has only links, which are not followed.
                    shutil.rmtree(entry.path, ignore_errors=True)


def _is_unused(entry: os.DirEntry[str]) -> bool:
    status = entry.stat(follow_symlinks=False)
    if (
        not entry.is_dir(follow_symlinks=False)
        or status.st_uid != os.getuid()
        or time.time() - status.st_mtime < _NEW_SECONDS
    ):
        return False
    lock = os.open(os.path.join(entry.path, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises if it is held
    finally:
        os.close(lock)
    return True
