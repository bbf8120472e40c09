"""Parses text that contains a configuration: JSON, YAML or a Markdown table."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from runfold._conventions import MOST_CONFIG_BYTES
from runfold._tables.found_config.plain_yaml import parse_yaml
from runfold._tables.found_config.simple_yaml import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

_LANGUAGE = re.compile(r"\w*")
# Preformatted HTML around the whole text.
_PRE = re.compile(r"<pre>(?:<code>)?(.*?)(?:</code>)?</pre>", re.DOTALL | re.IGNORECASE)
_RULE = re.compile(r"[\s:|-]+")
_CELL_BORDER = re.compile(r"(?<!\\)\|")
_HEADINGS = re.compile(r"(?:#.*\n|[ \t]*\n)+")
# How Python's `str` writes values that YAML writes differently.
_PYTHON = {"None": None, "inf": math.inf, "-inf": -math.inf, "nan": math.nan}
# Tokens that JSON writes differently from the `repr` of a dict.
_REPR_TOKEN = re.compile(
    r"""
    '(?P<single>(?:[^'\\\n]|\\.)*)' | "(?P<double>(?:[^"\\\n]|\\.)*)"
    | (?P<object>[A-Za-z_][\w.]*\([^()\n]*\) | <[^<>\n]*>)
    | (?P<word>[\w.+-]+)
    | (?P<end>,\s*(?=[])}]))
    | (?P<other>[^\s{}[\],:])
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)|\"")


def parse_config(text: str) -> dict[str, Any]:
    """Return the nested settings in a string; empty if the format is not recognized."""
    if len(text) > MOST_CONFIG_BYTES:
        return {}
    text = _unwrap(text.strip())
    if text.startswith("{"):
        for parse in (json.loads, _parse_repr):
            with suppress(ValueError, RecursionError):
                return as_mapping(parse(text))
        # In YAML, the tuple of a `repr` would be two entries.
        if "(" in text:
            return {}
    elif table := parse_table(text):
        return table
    try:
        return as_mapping(parse_yaml(text))
    except ValueError:
        return {}


def _unwrap(text: str) -> str:
    """Return the content of a code block or of preformatted HTML, in time linear in its length."""
    if text.startswith(("```", "~~~")):
        first, newline, content = text.partition("\n")
        language = first.lstrip(text[0])
        mark = first[: len(first) - len(language)]
        if newline and content.endswith(mark) and _LANGUAGE.fullmatch(language.strip(" \t")):
            return content.removesuffix(mark).rstrip(" \t").strip("\n")
    whole = _PRE.fullmatch(text)
    return text if whole is None else whole[1].strip("\n")


def as_mapping(value: Any) -> dict[str, Any]:
    """Return a value if it is a mapping, otherwise an empty mapping."""
    return value if isinstance(value, dict) else {}


def _parse_repr(text: str) -> Any:
    """Return a dict from its `repr`. Raises ValueError or RecursionError.

    Tuples become lists. Objects such as `device(type='cpu')` become text.
    """
    return json.loads(_REPR_TOKEN.sub(_as_json, text))


def _as_json(match: re.Match[str]) -> str:
    kind, token = match.lastgroup, match[0]
    if kind in ("single", "double"):
        return '"' + _ESCAPE.sub(_escape, match[kind]) + '"'
    if kind == "word":
        return json.dumps(_resolve_cell(token))
    if kind == "object":
        return json.dumps(token)
    if kind == "end":
        return ""
    if token not in "()":
        raise ValueError(f"unexpected {token}")
    return "[" if token == "(" else "]"


def _escape(match: re.Match[str]) -> str:
    if match[0] == '"':
        return '\\"'
    return {"'": "'", "x": "\\u00"}.get(match[1], match[0])


def parse_table(text: str) -> dict[str, Any]:
    """Return the first two columns of a Markdown table as names and values.

    The table starts on the first line, or after headings.
    """
    headings = _HEADINGS.match(text)
    text = text[headings.end() :] if headings else text
    if "|" not in text.partition("\n")[0]:
        return {}
    rows = [_split_row(line) for line in text.splitlines() if "|" in line]
    rules = [
        number for number, row in enumerate(rows[:2]) if all(_RULE.fullmatch(cell) for cell in row)
    ]
    if not rules:
        return {}
    return pair_cells(rows[rules[0] + 1 :])


def pair_cells(rows: Iterable[Any]) -> dict[str, Any]:
    """Return rows of names and values, both text, as a mapping."""
    return {
        str(row[0]): _resolve_cell(str(row[1])) for row in rows if len(row) >= 2 and str(row[0])
    }


def _split_row(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    if not line.endswith("\\|"):
        line = line.removesuffix("|")
    return [_bare(cell) for cell in _CELL_BORDER.split(line)]


def _bare(cell: str) -> str:
    """Return a cell's text without Markdown's escapes and emphasis."""
    cell = cell.strip().replace("\\|", "|")
    for mark in ("**", "`"):
        if len(cell) > 2 * len(mark) and cell.startswith(mark) and cell.endswith(mark):
            cell = cell[len(mark) : -len(mark)].strip()
    return cell


def _resolve_cell(cell: str) -> Any:
    if cell in _PYTHON:
        return _PYTHON[cell]
    if "_" in cell:  # `str` never writes a number as 2024_01_31
        return cell
    value = resolve(cell)
    # `str` writes True and False, so words such as `on` and `no` are text in a table.
    return cell if isinstance(value, bool) and cell.lower() not in ("true", "false") else value
