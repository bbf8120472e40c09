"""Side files of a run: small files of JSON in its folder `.runfold`, which are not its log.

They are read and written through the open folder. A `.runfold` that is a link, or that
another user may have put there, is not written to (`files.check_owner`).
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
    """Put JSON into a file of the run's `.runfold`, whole or not at all. Raises OSError.

    The folder may be the URL of one.
    """
    if is_url(folder):
        _write_there(folder, name, json.dumps(value).encode())
        return
    place_aside(folder, name, json.dumps(value).encode())


def place_aside(folder: str, name: str, data: bytes) -> None:
    """Put bytes into a file of the run's `.runfold`, whole or not at all. Raises OSError."""
    side = os.path.join(folder, SIDE_FOLDER)
    with contextlib.suppress(FileExistsError):
        os.mkdir(side)  # not its parents: a run that was deleted stays deleted
    with open_folder(side, is_written=True) as opened:
        replace_small(name, data, dir_fd=opened)


def touch_aside(folder: str, name: str) -> None:
    """Set the time of a file of the run's `.runfold` to now. Raises OSError."""
    with open_folder(os.path.join(folder, SIDE_FOLDER), is_written=True) as opened:
        os.utime(name, dir_fd=opened, follow_symlinks=False)


def remove_aside(folder: str, name: str) -> None:
    """Remove a file of the run's `.runfold`. Raises OSError."""
    with open_folder(os.path.join(folder, SIDE_FOLDER), is_written=True) as opened:
        os.unlink(name, dir_fd=opened)


def read_aside(folder: str, name: str) -> dict[str, Any]:
    """Return what a file of the run's `.runfold` says; nothing for a missing or unreadable one.

    The folder may be the URL of one. Raises CannotStore where that cannot be reached.
    """
    try:
        if is_url(folder):
            found = json.loads(_read_there(folder, name))
        else:
            with open_folder(os.path.join(folder, SIDE_FOLDER)) as opened:
                found = json.loads(read_small(name, dir_fd=opened))
    except CannotStore:
        raise
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_there(url: str, name: str, data: bytes) -> None:
    from runfold._storage.store import Store, explain

    store = Store(url)
    try:
        store.write(side_path(name), data)
    except Exception as error:
        raise CannotStore(f"{store}: {escape(explain(error))}. Nothing was written.") from None


def _read_there(url: str, name: str) -> bytes:
    from runfold._storage.store import Store, explain

    store = Store(url)
    try:
        return store.read(side_path(name))
    except FileNotFoundError:
        raise
    except Exception as error:
        raise CannotStore(f"{store}: {escape(explain(error))}. Nothing was read.") from None


def as_float(said: Any) -> float | None:
    """A number that a run or its folder tells; None where it is none, or beyond all floats."""
    try:
        return float(said) if isinstance(said, int | float) else None
    except OverflowError:
        return None
