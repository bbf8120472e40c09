"""Login links, printed on a terminal or kept in a file that only the user can read."""

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
    """Hand out a new login link after each login; yield where the server and its link are.

    Links are at `page`. Where stderr is not a terminal, others may be able to read it,
    as the output of nohup or of a batch job. The link is then in a file, and only `url`
    and the path of the file are yielded.
    """
    if not access.has_login or sys.stderr.isatty():

        def print_link() -> None:
            # Whoever started the server may have gone, and so may the terminal.
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
                "The login link goes to a file, because stderr is not a terminal, and that failed."
                f" {escape(path)}: {error.strerror}."
            ) from None

        def write_link() -> None:
            with suppress(OSError):
                write(f"{page}{access.link}\n")

        access.on_login = write_link
        yield f"{url}\nThe login link is in {escape(path)}, which only you can read."
