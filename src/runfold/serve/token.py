"""The token for programs, in a file that only its owner can read."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from runfold.state import write_private

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def keep_token(path: str | os.PathLike[str], token: str) -> Iterator[None]:
    """A file with the token, for as long as the server runs."""
    path = os.path.abspath(path)
    try:
        write_private(path, token)
    except OSError as error:  # of the file that was asked for, not of the draft beside it
        raise OSError(error.errno, error.strerror, path) from None
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)
