"""Secrets in files that only their owner can read: tokens, login links and the private name."""

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
    """A file with a secret, removed at the end of the block; a function to replace the secret.

    Raises OSError.
    """
    path = os.path.abspath(path)

    def write(secret: str) -> None:
        try:
            write_private(path, secret)
        except OSError as error:  # of the file that was asked for, not of the draft beside it
            raise OSError(error.errno, error.strerror, path) from None

    write(secret)
    try:
        yield write
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


def load_private_name() -> str:
    """Return the name below `localhost` of this user's servers, the same at each start.

    So bookmarks and open tabs outlast a server. Where the name cannot be kept in the
    state folder, it is a new one.
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
