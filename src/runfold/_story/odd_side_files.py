"""Side files of a run, in `.runfold`, that are not small regular files."""

from __future__ import annotations

import os
import stat

from runfold._conventions import CLAIM, FETCHED, HEARTBEAT, RANK_ZERO, SIDE_FOLDER, STOP, STOP_SEEN
from runfold._events.problems import Code, Problem
from runfold._files import MOST_BYTES
from runfold._storage.earlier_files import MOST_FETCHED_BYTES

_SMALL = (HEARTBEAT, STOP, STOP_SEEN, CLAIM, RANK_ZERO)
_LIMITS = dict.fromkeys(_SMALL, MOST_BYTES) | {FETCHED: MOST_FETCHED_BYTES}


def find_odd_files(folder: str) -> list[Problem]:
    """Return a problem for each side file that is ignored, without opening any.

    A `.runfold` that is a link or a file is also a problem.
    """
    return [Problem.of(Code.ODD_SIDE_FILE, path) for path in _list_paths(folder)]


def _list_paths(folder: str) -> list[str]:
    side = os.path.join(folder, SIDE_FOLDER)
    status = _stat(side)
    if status is None:
        return []
    if not stat.S_ISDIR(status.st_mode):
        return [side]
    paths = {os.path.join(side, name): limit for name, limit in _LIMITS.items()}
    return [path for path, limit in paths.items() if _is_odd(path, limit)]


def _is_odd(path: str, limit: int) -> bool:
    status = _stat(path)
    return status is not None and not (stat.S_ISREG(status.st_mode) and status.st_size <= limit)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except (OSError, ValueError):  # missing
        return None
