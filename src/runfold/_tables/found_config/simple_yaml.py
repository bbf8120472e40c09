"""Parses the lines that most YAML files consist of, faster than a general parser.

These are nested mappings and lists of scalars, each on its own line.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    Scalar = bool | int | float | str | None

DEEPEST = 30

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **{
        form: is_true
        for words, is_true in (("true yes on", True), ("false no off", False))
        for word in words.split()
        for form in (word, word.capitalize(), word.upper())
    },
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]{0,39})", re.ASCII)
# Unlike YAML 1.1, accept `1e-3`, as Python, JSON and YAML 1.2 do.
_FLOAT = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+)",
    re.ASCII,
)
# Longer lines and values are not cached.
_LONGEST_CACHED = 120

# A line with `key: value`, `key:`, `- value` or `-`.
_LINE = re.compile(
    r"( *)(?:([A-Za-z_][\w./-]{0,98}):|-)(?: (?:"
    # Unquoted, without `: ` and `#`.
    r"((?!-(?: |$)|.*:(?: |$))[\w./+$(<;=^~\\-](?:[ !\"$-~]*[!\"$-~])?)"
    r"|'([ -&(-~]*)'|\"([ !#-\[\]-~]*)\""
    r"|!!python/name:([\w.]+) ''"
    r"|\[([\w., /+-]*)\]"
    # The value is on the next lines.
    r"|(!!python/(?:tuple|object:[\w.]+))"
    r"))?(?: +#[ -~]*)?",
    re.ASCII,
)
_NO_CONTENT = re.compile(r" *(?:#[ -~]*)?")
# How PyYAML dumps an OrderedDict: a list with a list of pairs.
_ORDERED = "!!python/object/apply:collections.OrderedDict\n- "
_PAIR = re.compile(r"  - - ([A-Za-z_][\w.]{0,98})\n    - ([^!\n][^\n]*)", re.ASCII)
_PAIRS = re.compile(rf"(?:{_PAIR.pattern}\n)+", re.ASCII)
_KEY = re.compile(r"^  - - (.*)", re.MULTILINE)
# An item of a list in brackets.
_ITEM = re.compile(r"-?[\w./+](?:[\w./+ -]*[\w./+-])?", re.ASCII)


def resolve(text: str) -> Scalar:
    """Return the value of an unquoted scalar, such as True for `yes` and 0.001 for `1e-3`."""
    return _resolve_cached(text) if len(text) <= _LONGEST_CACHED else text


def _resolve(text: str) -> Scalar:
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    return float(text.replace("_", "")) if _FLOAT.fullmatch(text) else text


_resolve_cached = lru_cache(8192)(_resolve)


def parse_simple(text: str) -> Any:
    """Return the mapping or list in a YAML text; None if any line has a different format."""
    if text.startswith(_ORDERED):
        text = _unfold_pairs(text)
    lines = text.removesuffix("\n").split("\n")
    if max(map(len, lines)) > _LONGEST_CACHED:
        return None
    is_list = text.startswith("- ")
    document: dict[str, Any] = {}
    mapping = document
    outer: list[tuple[int, dict[str, Any]]] = []
    # The list on the preceding lines, if any, and its indentation.
    items: list[Any] | None = None
    margin = width = 0
    last = ""
    has_value: bool | None = not is_list
    for parsed in map(_parse_line, lines):
        if parsed is None:
            return None
        indent, key, value, is_given = parsed
        if key is None:
            if is_given is None:
                continue
            if items is None:
                if has_value or indent < width:
                    return None
                items = mapping[last] = []
                margin, has_value = indent, True
            if indent != margin:
                return None
            items.append(value)
            continue
        if indent != width:
            if indent > width:
                if has_value or len(outer) >= DEEPEST - 2:
                    return None
                outer.append((width, mapping))
                inner: dict[str, Any] = {}
                mapping[last] = mapping = inner
                width = indent
            while indent < width:
                width, mapping = outer.pop()
            if indent != width:
                return None
        mapping[key] = value
        items, last, has_value = None, key, is_given
    if is_list:
        return document[""] if len(document) == 1 else None
    return document or None


def _unfold_pairs(text: str) -> str:
    """Return an OrderedDict of scalars as a mapping, and any other text unchanged."""
    pairs = "  " + text.removeprefix(_ORDERED)
    # As a key, a word such as `yes` is text, but in a pair it is not.
    if _PAIRS.fullmatch(pairs) and _WORDS.keys().isdisjoint(_KEY.findall(pairs)):
        return _PAIR.sub(r"\1: \2", pairs)
    return text


# The indentation, the key, the value, and whether there is a value; None for no content.
_Line = tuple[int, str | None, Any, bool | None]


@lru_cache(16384)
def _parse_line(line: str) -> _Line | None:
    """Return the parts of a line, or None for a line in a different format. An item has no key.

    Most lines are the same in many runs, so they are cached.
    """
    match = _LINE.fullmatch(line)
    if match is None:
        return (0, None, None, None) if _NO_CONTENT.fullmatch(line) else None
    indent, key, plain, single, double, name, items, tag = match.groups()
    value: Any = None
    is_given = True
    if plain is not None:
        value = _resolve(plain)
    elif items is not None:
        value = [item.strip() for item in items.split(",")] if items.strip() else []
        if not all(map(_ITEM.fullmatch, value)):
            return None
        value = [_resolve(item) for item in value]
    elif tag is not None:
        value, is_given = "", False
    else:
        given = (text for text in (single, double, name) if text is not None)
        value = next(given, None)
        is_given = value is not None
    return len(indent), key, value, is_given
