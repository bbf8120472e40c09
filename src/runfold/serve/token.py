"""The token for programs, in a file that only its owner can read."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def keep_token(path: str | os.PathLike[str], token: str) -> Iterator[None]:
    """A file with the token, for as long as the server runs.

    One that is there is replaced, not written into: it may be a link, or open to others.
    """
    path = os.path.abspath(path)
    try:
        # mkstemp gives mode 0600 from the start.
        handle, draft = tempfile.mkstemp(prefix=".runfold-token-", dir=os.path.dirname(path))
        try:
            with os.fdopen(handle, "w") as file:
                file.write(token)
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)
