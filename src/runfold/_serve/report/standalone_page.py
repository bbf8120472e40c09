"""The page as one HTML file with its script, style and data embedded."""

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

# 'self' is left out: there is no server, and the page must not load files from its own folder.
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
    """This installation does not include the page."""


def make_file(title: str, recorded: Mapping[str, Any], folder: Path = FOLDER) -> bytes:
    """Return the page with the recorded responses, as HTML in UTF-8. Raises NoPage.

    Data is escaped, so that nothing in a log can end the element that contains it.
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
    match = pattern.search(index)
    if match is None:
        raise NoPage("The page in this installation is damaged. Reinstall Runfold.")
    # Browsers normalize line endings before they hash the content.
    text = (folder / "assets" / match[1]).read_text(encoding="utf-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _guard_script(script: str) -> str:
    """Escape what HTML would parse as the end of the script or as a comment.

    In a module, both occur only in strings and patterns, where the escape has the same
    meaning.
    """
    return re.sub(r"<(?=/script|!--)", r"\\x3c", script, flags=re.IGNORECASE)


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(sha256(text.encode()).digest()).decode()
