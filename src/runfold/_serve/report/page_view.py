"""A view of the page, parsed from its URL: the fields that decide which data it needs."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from runfold._humanize import escape, not_one_of, utf8
from runfold._reduce.axes import AXES
from runfold._serve.http.error_responses import BadRequest
from runfold._serve.page_vocabulary import (
    BANDS,
    BETTER,
    CENTERS,
    TABS,
    Looks,
    ViewFields,
    camel,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# The fields that select runs. A report contains only the selected runs, so it needs none of
# these fields.
_CHOOSING = ("search", "where", "off", "on")


@dataclass(frozen=True)
class View(ViewFields):
    """A view as given by its URL; fields not in the URL have the page's defaults.

    Attributes:
        address: all fields in the URL, including those that only affect the display.
    """

    address: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def find_tags(self, tags: Iterable[str]) -> set[str]:
        """Return the tags that match the view's text or regular expression.

        A pattern that only a browser can parse matches every tag.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        tags, text = list(tags), self.tags.lower()
        try:
            # RE2 does not backtrack: "(a+)+$" would block all Python threads forever.
            texts = pa.array(map(utf8, tags), pa.string())
            matches = pc.match_substring_regex(texts, self.tags, ignore_case=True).to_pylist()
        except (pa.ArrowInvalid, UnicodeEncodeError):
            return set(tags)
        return {
            tag
            for tag, is_match in zip(tags, matches, strict=True)
            if is_match or text in tag.lower()
        }

    def narrow(self, condition: str) -> View:
        """Return this view, restricted to the runs that also match a condition."""
        both = f"({self.where}) and ({condition})" if self.where else condition
        return dataclasses.replace(self, where=both)

    def write(self) -> str:
        """Return the URL's query, without the fields that select runs."""
        return urlencode({k: v for k, v in self.address.items() if k not in _CHOOSING})


_NAMES = {camel(field.name): field.name for field in dataclasses.fields(ViewFields)}
FIELDS = (*_NAMES, *(camel(field.name) for field in dataclasses.fields(Looks)))
# Allowed values of fields for which the page has a list.
_CHOICES = {"tab": TABS, "center": CENTERS, "band": BANDS, "better": ("", *BETTER)}


def read_view(address: str) -> View:
    """Parse a view from a URL, or from the part after its question mark or hash.

    Raises BadRequest for an unknown name or value.
    """
    # Only ? or # before the first `=` counts: a pattern written by hand can contain both.
    text = utf8(re.sub(r"^([^=?#]*[?#])?", "", address.strip()))
    address_fields = dict(parse_qsl(text, keep_blank_values=True))
    for name in address_fields:
        if name not in FIELDS:
            raise BadRequest(not_one_of("the view", name, FIELDS))
    chosen = {
        _NAMES[name]: _read(name, text) for name, text in address_fields.items() if name in _NAMES
    }
    view = View(**chosen, address=address_fields)
    for name, known in _CHOICES.items():
        if getattr(view, name) not in known:
            raise BadRequest(not_one_of(name, getattr(view, name), known))
    return view


def _read(name: str, text: str) -> Any:
    standard = getattr(View, _NAMES[name])
    if name == "x":
        return _read_axis(text)
    if isinstance(standard, str):
        return text
    value = _read_json(text)
    if isinstance(standard, tuple) or name == "on":
        is_right = isinstance(value, list) and all(isinstance(item, str) for item in value)
        value = tuple(value) if is_right else value
    elif isinstance(standard, bool):
        is_right = isinstance(value, bool)
    elif standard is None:
        is_right = value is None or type(value) is int
    else:
        is_right = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_right:
        raise BadRequest(f"Invalid value in the view: {name}={escape(text, 60)}.")
    return value


def _read_axis(text: str) -> Any:
    if not text.startswith("{"):
        if text not in AXES:
            raise BadRequest(not_one_of("x", text, AXES))
        return text
    value = _read_json(text)
    if not (isinstance(value, dict) and isinstance(value.get("tag"), str)):
        raise BadRequest(f"Invalid axis in the view: x={escape(text, 60)}.")
    return {"tag": value["tag"]}


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
