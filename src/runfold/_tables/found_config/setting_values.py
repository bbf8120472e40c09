"""Nested data as settings: dotted names with booleans, numbers and text, within limits."""

from __future__ import annotations

import json
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from runfold._humanize import utf8
from runfold._log.masking.secret_names import MASK, is_secret, known, rank_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    Settings = dict[str, bool | int | float | str]

MOST_SETTINGS = 2_000
# A longer nested mapping is data, such as the labels of a model, and not settings.
MOST_IN_GROUP = 100
LONGEST_TEXT = 4_096
# Longer strings are not cached.
_LONGEST_CACHED = 200
_LONGEST_NAME = 300
# Strings that are too short, and names that are too plain, to contain a secret. Searching a string
# for secrets takes longer than reading its file.
_PLAIN_TEXT = re.compile(r"[\w.+-]{0,11}", re.ASCII)
_PLAIN_NAME = re.compile(r"[A-Za-z_.]{0,40}")
_DEEPEST = 30
_MOST_INTEGER = 2**63
_encode = json.JSONEncoder(ensure_ascii=False, default=str).encode


def flatten_settings(nested: Mapping[Any, Any]) -> Settings:
    """Return the settings in nested mappings by dotted name, such as `optim.lr`.

    A list becomes JSON text, except that a list of mappings is numbered. None, strings over
    `LONGEST_TEXT` characters, nested mappings with more than `MOST_IN_GROUP` entries, and settings
    after the first `MOST_SETTINGS` are left out. Secrets are masked like those of tracked runs.
    """
    settings: Settings = {}
    _add(settings, nested, "", 0)
    return settings


def _add(settings: Settings, nested: Mapping[Any, Any], prefix: str, depth: int) -> None:
    """Add the leaves of nested mappings, each under its prefixed name."""
    for key, value in nested.items():
        if len(settings) >= MOST_SETTINGS:
            return
        kind = type(value)
        is_list = kind is list
        if is_list or kind is dict:
            if is_list and any(isinstance(item, dict) for item in value):
                value = {str(index): item for index, item in enumerate(value)}
            if isinstance(value, dict):
                if len(value) <= MOST_IN_GROUP and depth < _DEEPEST:
                    _add(settings, value, f"{prefix}{key}.", depth + 1)
                continue
            value = _encode(value)
            kind = str
        elif value is None:
            continue
        name = prefix + key
        if len(name) > _LONGEST_NAME:
            continue
        name, may_be_secret = _clean(name)
        if kind is str:
            if len(value) > LONGEST_TEXT:
                continue
            if not value.isascii():
                value = utf8(value)
        elif kind is int and not -_MOST_INTEGER <= value < _MOST_INTEGER:
            value = str(value)
        if may_be_secret and is_secret(name, value):
            value = MASK
        elif kind is str and (known.values or not _PLAIN_TEXT.fullmatch(value)):
            mask = _mask_cached if len(value) <= _LONGEST_CACHED else _mask
            value = mask(value, is_list, known.values)
        settings[name] = value


@lru_cache(8192)
def _clean(name: str) -> tuple[str, bool]:
    """Return a name as valid text, and whether it can name a secret."""
    if known.values or not _PLAIN_NAME.fullmatch(name):
        from runfold._log.masking.masking import mask_text

        name = mask_text(utf8(name))
    name = sys.intern(name)
    return name, rank_name(name) > 0


def _mask(text: str, is_list: bool, _known: tuple[str, ...]) -> str:
    """Return a string, or a list as JSON text, with secrets masked.

    The secrets known so far are a part of the cache's key.
    """
    # Compiling the forms of secrets takes 20 ms.
    from runfold._log.masking.masking import mask_mapping, mask_text

    if not is_list:
        return mask_text(text)
    if '"' not in text:
        return text
    try:
        masked = mask_mapping({"": json.loads(text)})[""]
    except RecursionError:
        return MASK
    return _encode(masked)


_mask_cached = lru_cache(8192)(_mask)
