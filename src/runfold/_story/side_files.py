"""Side files of a run: small JSON files in its folder `.runfold`, not part of the log.

Side files are read and written relative to the open folder. A `.runfold` that is a link, or that
another user may have created, is not written to (see `_files.check_owner`).
"""

from __future__ import annotations

import contextlib
import json
import os
from typing import Any

from runfold._conventions import SIDE_FOLDER, side_path
from runfold._files import open_folder, read_small, replace_small
from runfold._humanize import escape
from runfold._storage.url import is_url
from runfold.errors import CannotStore


def write_aside(folder: str, name: str, value: Any) -> None:
    """Write JSON atomically to a file in the run's `.runfold`. Raises OSError.

    The folder can be a URL.
    """
    if is_url(folder):
        _write_to_store(folder, name, json.dumps(value).encode())
        return
    place_aside(folder, name, json.dumps(value).encode())


def place_aside(folder: str, name: str, data: bytes) -> None:
    """Write bytes atomically to a file in the run's `.runfold`. Raises OSError."""
    side = os.path.join(folder, SIDE_FOLDER)
    with contextlib.suppress(FileExistsError):
        os.mkdir(side)  # not the parents: do not recreate a deleted run
    with open_folder(side, is_written=True) as opened:
        replace_small(name, data, dir_fd=opened)


def touch_aside(folder: str, name: str) -> None:
    """Set the modification time of a file in the run's `.runfold` to now. Raises OSError."""
    with open_folder(os.path.join(folder, SIDE_FOLDER), is_written=True) as opened:
        os.utime(name, dir_fd=opened, follow_symlinks=False)


def remove_aside(folder: str, name: str) -> None:
    """Remove a file from the run's `.runfold`. Raises OSError."""
    with open_folder(os.path.join(folder, SIDE_FOLDER), is_written=True) as opened:
        os.unlink(name, dir_fd=opened)


def read_aside(folder: str, name: str) -> dict[str, Any]:
    """Return the content of a file in the run's `.runfold`; {} if missing or unreadable.

    The folder can be a URL. Raises CannotStore if it cannot be reached.
    """
    try:
        if is_url(folder):
            content = json.loads(_read_from_store(folder, name))
        else:
            with open_folder(os.path.join(folder, SIDE_FOLDER)) as opened:
                content = json.loads(read_small(name, dir_fd=opened))
    except CannotStore:
        raise
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _write_to_store(url: str, name: str, data: bytes) -> None:
    from runfold._storage.store import Store, explain

    store = Store(url)
    try:
        store.write(side_path(name), data)
    except Exception as error:
        raise CannotStore(f"{store}: {escape(explain(error))}. Nothing was written.") from None


def _read_from_store(url: str, name: str) -> bytes:
    from runfold._storage.store import Store, explain

    store = Store(url)
    try:
        return store.read(side_path(name))
    except FileNotFoundError:
        raise
    except Exception as error:
        raise CannotStore(f"{store}: {escape(explain(error))}. Nothing was read.") from None


def as_float(value: Any) -> float | None:
    """Return a number from a run's files as a float; None if it is not a number or too large."""
    try:
        return float(value) if isinstance(value, int | float) else None
    except OverflowError:
        return None
