"""Secrets in files that only their owner can read: tokens, login links, the private name."""

from __future__ import annotations

import os
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from runfold._files import read_small
from runfold._serve.http.access import make_private_name
from runfold._state import make_private, state_folder, write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAME = re.compile(rb"[0-9a-f]{32}\.localhost")


@contextmanager
def keep_secret(path: str | os.PathLike[str], secret: str) -> Iterator[Callable[[str], None]]:
    """Keep a secret in a file until the end of the block; yield a function that replaces it.

    Raises OSError if the file cannot be written.
    """
    path = os.path.abspath(path)

    def write(secret: str) -> None:
        try:
            write_private(path, secret)
        except OSError as error:  # name the requested file, not the temporary one
            raise OSError(error.errno, error.strerror, path) from None

    write(secret)
    try:
        yield write
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def load_private_name() -> str:
    """Return the name below `localhost` for this user's servers, the same at each start.

    Bookmarks and open tabs therefore survive a restart. If the name cannot be stored in the
    state folder, each start uses a new one.
    """
    path = state_folder("serve", "name")
    with suppress(OSError):
        kept = read_small(path)
        if _NAME.fullmatch(kept):
            return kept.decode()
    name = make_private_name()
    with suppress(OSError):
        make_private(os.path.dirname(path))
        write_private(path, name)
    return name
