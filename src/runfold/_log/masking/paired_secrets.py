"""Secrets next to their name in other ways than `name=value`: in calls, tables and XML.

A value that may be another name stays: `("password", "email")` is a list of columns.
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
    # Two texts, `get("DB_PASSWORD", "hunter2")`, or an option and its default.
    re.compile(
        r"[\"'](?P<name>[^\W\d][\w.-]{1,60}|--[\w-]{1,60})[\"']\s{0,9},\s{0,20}"
        rf"(?:{_ARGUMENT}{{0,6}}default\s{{0,3}}=\s{{0,3}})?"
        r"[bBrRuU]{0,2}[\"'](?P<value>[^\s\"']{6,200})"
    ),
    # Two settings, `name: DB_PASSWORD, value: hunter2`, in either order.
    re.compile(_LABEL + _NAME + _BETWEEN + _VALUE_LABEL + _VALUE),
    re.compile(r"\b" + _VALUE_LABEL + _VALUE + _BETWEEN + _LABEL + _NAME),
    # An element of XML, or its attribute.
    re.compile(rf"<{_NAME}(?:>|\s{{1,9}}{_VALUE_LABEL})(?P<value>[^<>\s\"']{{6,200}})"),
)
# Two cells of a table in Markdown or in a box, or with a tab between them.
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
    """Return text with `***` for each value that stands next to the name of a secret."""
    for form in _FORMS:
        text = _mask_form(text, form, str.isalpha)
    if "\t" in text or "|" in text or "│" in text or "┃" in text:
        for form in _CELLS:
            # The next cell of a header is a name: `| password | created_at |`.
            text = _mask_form(text, form, _WORDS.fullmatch)
    return text


def _mask_form(text: str, form: re.Pattern[str], may_be_name: Callable[[str], object]) -> str:
    parts: list[str] = []
    kept = start = 0
    while found := form.search(text, start):
        rank, value = rank_name(found["name"]), found["value"]
        if is_random(value) if rank == LIKELY else rank > LIKELY and not may_be_name(value):
            parts += (text[kept : found.start("value")], MASK)
            kept = start = found.end("value")
        else:
            # What follows may be the next name: `"train.py", "--password", "hunter2"`.
            start = found.start() + 1
    return "".join((*parts, text[kept:]))
