"""Secrets in files that only their owner can read: the token for programs, and login links."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from runfold.state import write_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
