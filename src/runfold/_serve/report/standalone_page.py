"""The page as one HTML file with its script, its style and answers inside, for no server at all."""

from __future__ import annotations

import base64
import html
import json
import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from runfold._serve.static_files import FOLDER, MISSING, is_built
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SCRIPT = re.compile(r'<script type="module"[^>]*\ssrc="/assets/([^"/]+)"')
_STYLE = re.compile(r'<link rel="stylesheet"[^>]*\shref="/assets/([^"/]+)"')

# No 'self': beside the file there is nothing that the page may load, and no server to ask.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src blob:;"
    " media-src blob:; base-uri 'none'; form-action 'none'"
)

_FRAME = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="root"></div>
<noscript>This report needs JavaScript.</noscript>
<script type="application/json" id="answers">{answers}</script>
<script type="module">{script}</script>
</body>
</html>
"""


class NoPage(RunfoldError):
    """The page was not built into this installation."""


def make_file(title: str, recorded: Mapping[str, Any], folder: Path = FOLDER) -> bytes:
    """The page around what was recorded, as HTML in UTF-8. Raises NoPage.

    Nothing in it can end the element that it is in, whatever the log holds.
    """
    if not is_built(folder):
        raise NoPage(MISSING)
    index = (folder / "index.html").read_text(encoding="utf-8")
    script = _guard_script(_read_asset(folder, _SCRIPT, index))
    style = _read_asset(folder, _STYLE, index).replace("</", "<\\/")
    answers = json.dumps(recorded, ensure_ascii=True, separators=(",", ":"))
    policy = _POLICY.format(script=_hash(script), style=_hash(style))
    whole = _FRAME.format(
        policy=policy,
        title=html.escape(title),
        style=style,
        answers=answers.replace("<", "\\u003c"),
        script=script,
    )
    return whole.encode()


def _read_asset(folder: Path, pattern: re.Pattern[str], index: str) -> str:
    found = pattern.search(index)
    if found is None:
        raise NoPage("The page in this installation is not as it was built. Install Runfold again.")
    # A browser hashes what it has read, in which every line ends alike.
    text = (folder / "assets" / found[1]).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _guard_script(script: str) -> str:
    """The same script without what HTML would take for its end or a comment.

    In a module both stand in strings and patterns alone, where a backslash before
    them says nothing.
    """
    return re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.IGNORECASE)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()
