"""The story of a run as it lies in its event file: parts of JSON that TensorBoard shows as text."""

from __future__ import annotations

import json
import re
from typing import Any

from runfold._conventions import STORY_PREFIX
from runfold._events import value_encoding
from runfold._humanize import utf8

# Each is what its name says; `diff`, `output` and `mark` are plain text, all others are JSON.
CONFIG, COMMAND, CODE, DIFF, FILES = "config", "command", "code", "diff", "files"
HOST, PACKAGES, ENVIRONMENT = "host", "packages", "environment"
STATUS, OUTPUT, ARTIFACT, MARK = "status", "output", "artifact", "mark"
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
    MARK,
)

_PLAIN = {DIFF: "diff", OUTPUT: "", MARK: ""}
_BLOCK = re.compile(r"(`{3,})([a-z]*)\n(.*?)\n\1(?:\n\n`([^`\n]*)`\n\n|\Z)", re.DOTALL)
# A list of words or numbers, as JSON with an indent has it: each on a line.
_LIST = re.compile(r'\[\n(?:\s*+(?:"(?:[^"\\]|\\.)*+"|[\w.+-]++),?\n)++\s*+\]')
_LONGEST_LIST = 120


def encode_story(part: str, value: Any) -> bytes:
    """The `Summary.Value` of one part, under the tag `runfold/<part>`.

    What JSON has no word for is stored as its text; NaN stays NaN, as Python reads it.
    A text of many lines in an object, such as a traceback or a file, stands below it
    under its name, as it is: JSON would put it on one line.
    """
    if part in _PLAIN:
        return value_encoding.text(STORY_PREFIX + part, _fence(str(value), _PLAIN[part]))
    below: dict[str, str] = {}
    if isinstance(value, dict):
        below = {name: one for name, one in value.items() if _has_lines(name, one)}
        value = {name: one for name, one in value.items() if name not in below}
    shown = json.dumps(value, indent=1, default=str, ensure_ascii=False)
    blocks = [_fence(_LIST.sub(_join_lines, shown), "json")]
    for name, text in below.items():
        blocks += (f"`{_label(name)}`", _fence(text))
    return value_encoding.text(STORY_PREFIX + part, "\n\n".join(blocks))


def decode_story(text: str) -> Any:
    """What a part's text says. Raises ValueError for a text that is none."""
    found = _BLOCK.match(text)
    if found is None:
        raise ValueError("no code block")
    value = json.loads(found[3]) if found[2] == "json" else found[3]
    while (label := found[4]) is not None:
        found = _BLOCK.match(text, found.end())
        if found is None or not isinstance(value, dict):
            raise ValueError("no code block below a name")
        value[json.loads(f'"{label}"')] = found[3]
    return value


def _has_lines(name: Any, value: Any) -> bool:
    return isinstance(name, str) and isinstance(value, str) and "\n" in value


def _fence(body: str, language: str = "") -> str:
    """A code block with a fence longer than any in the text, so that the text cannot end it."""
    body = utf8(body)  # names need not be
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def _label(name: str) -> str:
    """A name in one line and without what would end it."""
    return json.dumps(utf8(name), ensure_ascii=False)[1:-1].replace("`", r"\u0060")


def _join_lines(found: re.Match[str]) -> str:
    line = re.sub(r"\s*\n\s*", " ", found[0]).replace("[ ", "[", 1)
    line = line.removesuffix(" ]") + "]"
    return line if len(line) <= _LONGEST_LIST else found[0]
