"""The user's browser, opened at a link that only the user may see."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def open_browser(link: str) -> Iterator[None]:
    """Open a link in the user's browser, and keep what it needs until the end of the context."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="runfold-") as folder:
        show_link(link, folder)
        yield


def show_link(link: str, folder: str) -> None:
    """Open a link in the user's browser, where there is one with windows.

    It is told by a file in a folder that only the user can read: others see the
    arguments with which a browser is started. The browser reads it when it likes.
    """
    import webbrowser
    from html import escape
    from pathlib import Path

    if sys.platform == "linux" and not os.environ.keys() & {"DISPLAY", "WAYLAND_DISPLAY"}:
        return  # what runs in the terminal would take it over
    page = Path(folder, "open.html")
    target = escape(link)
    page.write_text(f'<meta http-equiv="refresh" content="0; url={target}">', encoding="utf-8")
    page.chmod(0o600)
    webbrowser.open(page.as_uri())
