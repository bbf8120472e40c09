"""The story of a run as it lies in its event file: parts of JSON that TensorBoard shows as text."""

from __future__ import annotations

import json
import re
from typing import Any

from runfold.events import values
from runfold.text import utf8

PREFIX = "runfold/"
# Each is what its name says; `diff` and `output` are plain text, all others are JSON.
CONFIG, COMMAND, CODE, DIFF, FILES = "config", "command", "code", "diff", "files"
HOST, PACKAGES, ENVIRONMENT = "host", "packages", "environment"
STATUS, OUTPUT, ARTIFACT = "status", "output", "artifact"
PARTS = (
    CONFIG,
    COMMAND,
    CODE,
    DIFF,
    FILES,
    HOST,
    PACKAGES,
    ENVIRONMENT,
    STATUS,
    OUTPUT,
    ARTIFACT,
)

_PLAIN = {DIFF: "diff", OUTPUT: ""}
_BLOCK = re.compile(r"(`{3,})([a-z]*)\n(.*)\n\1\Z", re.DOTALL)


def encode_story(part: str, value: Any) -> bytes:
    """The `Summary.Value` of one part, under the tag `runfold/<part>`.

    What JSON has no word for is stored as its text; NaN stays NaN, as Python reads it.
    """
    if part in _PLAIN:
        language, body = _PLAIN[part], str(value)
    else:
        language, body = "json", json.dumps(value, indent=1, default=str, ensure_ascii=False)
    body = utf8(body)  # names need not be
    # A fence longer than any in the text, so that the text cannot end it.
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return values.text(PREFIX + part, f"{fence}{language}\n{body}\n{fence}")


def decode_story(text: str) -> Any:
    """What a part's text says. Raises ValueError for a text that is none."""
    found = _BLOCK.fullmatch(text)
    if found is None:
        raise ValueError("no code block")
    return json.loads(found[3]) if found[2] == "json" else found[3]
