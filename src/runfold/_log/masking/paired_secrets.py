"""Secrets that follow their name in calls, tables and XML rather than as `name=value`.

A value that could itself be a name is kept: `("password", "email")` is a list of columns.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from runfold._log.masking.secret_names import LIKELY, MASK, is_random, rank_name

_NAME = r"(?P<name>[^\W\d][\w.-]{1,60})"
# An argument between an option and its default: `type=str`, `help="..."`.
_ARGUMENT = (
    r"(?:\w{1,30}\s{0,3}=\s{0,3}(?:[\w.]{1,60}|\"[^\"\n]{0,200}\"|'[^'\n]{0,200}')"
    r"\s{0,3},\s{0,20})"
)
_LABEL = r"\b(?i:name|key|type)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
_VALUE_LABEL = r"(?i:value)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
_VALUE = r"(?P<value>[^\s\"',}]{6,200})"
_BETWEEN = r"[\"']?\s{0,3},?\s{0,20}[\"']?"

_FORMS = (
    # Two strings, `get("DB_PASSWORD", "hunter2")`, or an option and its default.
    re.compile(
        r"[\"'](?P<name>[^\W\d][\w.-]{1,60}|--[\w-]{1,60})[\"']\s{0,9},\s{0,20}"
        rf"(?:{_ARGUMENT}{{0,6}}default\s{{0,3}}=\s{{0,3}})?"
        r"[bBrRuU]{0,2}[\"'](?P<value>[^\s\"']{6,200})"
    ),
    # Two settings, `name: DB_PASSWORD, value: hunter2`, in either order.
    re.compile(_LABEL + _NAME + _BETWEEN + _VALUE_LABEL + _VALUE),
    re.compile(r"\b" + _VALUE_LABEL + _VALUE + _BETWEEN + _LABEL + _NAME),
    # An XML element, or its attribute.
    re.compile(rf"<{_NAME}(?:>|\s{{1,9}}{_VALUE_LABEL})(?P<value>[^<>\s\"']{{6,200}})"),
)
# Two cells of a Markdown table or a box-drawing table, or two cells separated by a tab.
_MARKUP = r"[\"'`*]{0,3}"
_CELL = r"(?P<value>[^\s|│┃\"'`]{6,200})"
_CELLS = (
    re.compile(
        rf"[|│┃][ \t]{{0,40}}{_MARKUP}{_NAME}{_MARKUP}[ \t]{{0,40}}"
        rf"[|│┃][ \t]{{0,40}}{_MARKUP}{_CELL}"
    ),
    re.compile(rf"(?<![^\n\t]){_NAME}\t{{1,9}}[\"']?{_CELL}"),
)
_WORDS = re.compile(r"[A-Za-z_-]+")


def mask_paired(text: str) -> str:
    """Return text with values that follow a secret's name replaced by `***`."""
    for form in _FORMS:
        text = _mask_form(text, form, str.isalpha)
    if "\t" in text or "|" in text or "│" in text or "┃" in text:
        for form in _CELLS:
            # In a header, the next cell is a name: `| password | created_at |`.
            text = _mask_form(text, form, _WORDS.fullmatch)
    return text


def _mask_form(text: str, form: re.Pattern[str], can_be_name: Callable[[str], object]) -> str:
    parts: list[str] = []
    kept = start = 0
    while match := form.search(text, start):
        rank, value = rank_name(match["name"]), match["value"]
        if is_random(value) if rank == LIKELY else rank > LIKELY and not can_be_name(value):
            parts += (text[kept : match.start("value")], MASK)
            kept = start = match.end("value")
        else:
            # The value may be the next name: `"train.py", "--password", "hunter2"`.
            start = match.start() + 1
    return "".join((*parts, text[kept:]))
