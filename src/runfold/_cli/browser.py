"""Opens private links in the user's browser."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def open_browser(link: str) -> Iterator[None]:
    """Open a link in the user's browser; delete its file when the context ends."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="runfold-") as folder:
        show_link(link, folder)
        yield


def show_link(link: str, folder: str) -> None:
    """Open a link in the user's browser, if there is a graphical one.

    The browser gets the link from a file that only the user can read, because other
    users can see the browser's command line. The browser may read the file at any later time.
    """
    import webbrowser
    from html import escape
    from pathlib import Path

    if sys.platform == "linux" and not os.environ.keys() & {"DISPLAY", "WAYLAND_DISPLAY"}:
        return  # a text browser would take over the terminal
    page = Path(folder, "open.html")
    target = escape(link)
    page.write_text(f'<meta http-equiv="refresh" content="0; url={target}">', encoding="utf-8")
    page.chmod(0o600)
    webbrowser.open(page.as_uri())
