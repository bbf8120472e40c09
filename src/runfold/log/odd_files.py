"""Odd side files: those in a run's `.runfold` that are not small regular files."""

from __future__ import annotations

import os
import stat

from runfold.files import MOST_BYTES
from runfold.log.aside import SIDE_FOLDER
from runfold.log.ranks import MARK
from runfold.storage.choice import CLAIM, HEARTBEAT, SEEN, STOP
from runfold.storage.earlier import FETCHED, MOST_FETCHED_BYTES

_LIMITS = dict.fromkeys((HEARTBEAT, STOP, SEEN, CLAIM, f"{SIDE_FOLDER}/{MARK}"), MOST_BYTES) | {
    f"{SIDE_FOLDER}/{FETCHED}": MOST_FETCHED_BYTES
}


def list_odd_files(folder: str) -> list[str]:
    """Return the paths of the side files of a run that are ignored; none is opened.

    A `.runfold` that is a link or a file is listed itself.
    """
    side = os.path.join(folder, SIDE_FOLDER)
    status = _look_at(side)
    if status is None:
        return []
    if not stat.S_ISDIR(status.st_mode):
        return [side]
    paths = {os.path.join(folder, name): limit for name, limit in _LIMITS.items()}
    return [path for path, limit in paths.items() if _is_odd(path, limit)]


def _is_odd(path: str, limit: int) -> bool:
    status = _look_at(path)
    return status is not None and not (stat.S_ISREG(status.st_mode) and status.st_size <= limit)


def _look_at(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):  # missing
        return None
