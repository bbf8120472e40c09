"""Folders for the user's own files outside of logs: persistent state and cache."""

from __future__ import annotations

import os

from runfold._files import open_draft


def state_folder(*parts: str) -> str:
    """Return a path below the folder for persistent state; it need not exist."""
    return _locate("XDG_STATE_HOME", (".local", "state"), parts)


def cache_folder(*parts: str) -> str:
    """Return a path below the cache folder; it need not exist."""
    return _locate("XDG_CACHE_HOME", (".cache",), parts)


def make_private(folder: str) -> str:
    """Create a folder that only its owner can access, unless it exists, and return it.

    Raises OSError, which names the environment variable that sets the folder.
    """
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        is_cache = folder.startswith(cache_folder())
        variable = "XDG_CACHE_HOME" if is_cache else "XDG_STATE_HOME"
        reason = f"{error.strerror}. Set {variable} to a folder that you can write to"
        raise type(error)(error.errno, reason, folder) from None
    return folder


def write_private(path: str, text: str, *, is_synced: bool = False) -> None:
    """Write text to a file that only its owner can access. Raises OSError.

    The file is written completely or not at all. An existing file is replaced rather
    than written to, because it may be a link or readable by others. With `is_synced`,
    the file is on disk when this returns.
    """
    with open_draft(path, 0o600, is_synced=is_synced) as file:
        file.write(text.encode())


def _locate(variable: str, standard: tuple[str, ...], parts: tuple[str, ...]) -> str:
    home = os.environ.get(variable, "")
    if not os.path.isabs(home):  # the specification says to ignore relative paths
        home = os.path.join(os.path.expanduser("~"), *standard)
    return os.path.join(home, "runfold", *parts)
