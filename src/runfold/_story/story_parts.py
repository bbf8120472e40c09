"""The story of a run in its event file: parts in JSON that TensorBoard shows as text."""

from __future__ import annotations

import json
import re
from typing import Any

from runfold._conventions import STORY_PREFIX
from runfold._events import value_encoding
from runfold._humanize import utf8

# `diff`, `output` and `mark` are plain text; all other parts are JSON.
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
# A list of strings or numbers in indented JSON, with one item per line.
_LIST = re.compile(r'\[\n(?:\s*+(?:"(?:[^"\\]|\\.)*+"|[\w.+-]++),?\n)++\s*+\]')
_LONGEST_LIST = 120


def encode_story(part: str, value: Any) -> bytes:
    """Return the `Summary.Value` of a part, with the tag `runfold/<part>`.

    Values that JSON does not support are stored as text; NaN stays NaN, as in Python. A
    multi-line string in an object, such as a traceback or a file, is moved below the object, under
    its own name, because JSON would put it on one line.
    """
    if part in _PLAIN:
        return value_encoding.text(STORY_PREFIX + part, _fence(str(value), _PLAIN[part]))
    below: dict[str, str] = {}
    if isinstance(value, dict):
        below = {name: item for name, item in value.items() if _has_lines(name, item)}
        value = {name: item for name, item in value.items() if name not in below}
    shown = json.dumps(value, indent=1, default=str, ensure_ascii=False)
    blocks = [_fence(_LIST.sub(_join_lines, shown), "json")]
    for name, text in below.items():
        blocks += (f"`{_label(name)}`", _fence(text))
    return value_encoding.text(STORY_PREFIX + part, "\n\n".join(blocks))


def decode_story(text: str) -> Any:
    """Return the value in a part's text. Raises ValueError if the text is not a part."""
    block = _BLOCK.match(text)
    if block is None:
        raise ValueError("expected a code block")
    value = json.loads(block[3]) if block[2] == "json" else block[3]
    while (label := block[4]) is not None:
        block = _BLOCK.match(text, block.end())
        if block is None or not isinstance(value, dict):
            raise ValueError("expected a code block below a name")
        value[json.loads(f'"{label}"')] = block[3]
    return value


def _has_lines(name: Any, value: Any) -> bool:
    return isinstance(name, str) and isinstance(value, str) and "\n" in value


def _fence(body: str, language: str = "") -> str:
    """Return a code block with a fence longer than any in the text, so the text cannot close it."""
    body = utf8(body)  # file names may be invalid UTF-8
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{body}\n{fence}"


def _label(name: str) -> str:
    """Return a name on one line, without backticks."""
    return json.dumps(utf8(name), ensure_ascii=False)[1:-1].replace("`", r"\u0060")


def _join_lines(block: re.Match[str]) -> str:
    line = re.sub(r"\s*\n\s*", " ", block[0]).replace("[ ", "[", 1)
    line = line.removesuffix(" ]") + "]"
    return line if len(line) <= _LONGEST_LIST else block[0]
