"""Login links, printed on a terminal or saved in a file that only the user can read."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from runfold._cli.terminal import CommandError, note
from runfold._humanize import escape
from runfold._state import make_private, state_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runfold._serve.http.access import Access


@contextmanager
def keep_links(access: Access, url: str, page: str) -> Iterator[str]:
    """Publish a new login link after each login; yield the link, or where to find it.

    Links start with `page`. If stderr is not a terminal, as with nohup or in a batch job,
    other users may be able to read it, so the link is saved in a file, and only `url` and
    the file's path are yielded.
    """
    if not access.has_login or sys.stderr.isatty():

        def print_link() -> None:
            # The terminal may have been closed.
            with suppress(OSError):
                note(f"For another browser: {page}{access.link}")

        access.on_login = print_link
        yield f"{page}{access.link}"
        return

    from runfold._serve.http.token_files import keep_secret

    path = state_folder("serve", f"{socket.gethostname()}-{access.port}.link")
    with ExitStack() as ending:
        try:
            make_private(os.path.dirname(path))
            write = ending.enter_context(keep_secret(path, f"{page}{access.link}\n"))
        except OSError as error:
            raise CommandError(
                "stderr is not a terminal, and the login link could not be saved in a file:"
                f" {escape(path)}: {error.strerror}."
            ) from None

        def write_link() -> None:
            with suppress(OSError):
                write(f"{page}{access.link}\n")

        access.on_login = write_link
        yield f"{url}\nThe login link is in {escape(path)}, which only you can read."
