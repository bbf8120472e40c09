"""Where Runfold keeps what is the user's and no log's: what lasts, and what can be had again."""

from __future__ import annotations

import os


def state_folder(*parts: str) -> str:
    """A place below the folder for state that lasts; it need not be there."""
    return _place("XDG_STATE_HOME", (".local", "state"), parts)


def cache_folder(*parts: str) -> str:
    """A place below the folder for what can be fetched or made again; it need not be there."""
    return _place("XDG_CACHE_HOME", (".cache",), parts)


def make_private(folder: str) -> str:
    """The folder, made where it was not there, for its owner only. Raises OSError."""
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


def _place(variable: str, standard: tuple[str, ...], parts: tuple[str, ...]) -> str:
    home = os.environ.get(variable, "")
    if not os.path.isabs(home):  # such a one is to be ignored
        home = os.path.join(os.path.expanduser("~"), *standard)
    return os.path.join(home, "runfold", *parts)
