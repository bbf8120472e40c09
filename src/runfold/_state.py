"""Where Runfold keeps what is the user's and no log's: what lasts, and what can be had again."""

from __future__ import annotations

import os

from runfold._files import open_draft


def state_folder(*parts: str) -> str:
    """A place below the folder for state that lasts; it need not be there."""
    return _place("XDG_STATE_HOME", (".local", "state"), parts)


def cache_folder(*parts: str) -> str:
    """A place below the folder for what can be fetched or made again; it need not be there."""
    return _place("XDG_CACHE_HOME", (".cache",), parts)


def make_private(folder: str) -> str:
    """Return the folder, made for its owner only where it did not exist.

    Raises OSError, which names the variable that moves the folder elsewhere.
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
    """Put text into a file for its owner only, whole or not at all. Raises OSError.

    One that is there is replaced, not written into: it may be a link, or open to others.
    With `is_synced` it is on the disk when this returns.
    """
    with open_draft(path, 0o600, is_synced=is_synced) as file:
        file.write(text.encode())


def _place(variable: str, standard: tuple[str, ...], parts: tuple[str, ...]) -> str:
    home = os.environ.get(variable, "")
    if not os.path.isabs(home):  # such a one is to be ignored
        home = os.path.join(os.path.expanduser("~"), *standard)
    return os.path.join(home, "runfold", *parts)
