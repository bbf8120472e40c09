"""What the page shows, read from its address: the part of it that decides what is asked for."""

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
    CENTRES,
    TABS,
    Looks,
    ViewFields,
    camel,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# The ones that choose runs: not needed where the others are not there at all.
_CHOOSING = ("search", "where", "off", "on")


@dataclass(frozen=True)
class View(ViewFields):
    """A view as its address has it; what is not in the address is as the page has it.

    Attributes:
        address: all that the address says, also of looks.
    """

    address: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def find_tags(self, tags: Iterable[str]) -> set[str]:
        """Those that are looked for: by a part of them or by a regular expression.

        A pattern that means something to a browser alone fits every tag.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        tags, wanted = list(tags), self.tags.lower()
        try:
            # RE2 does not go back: "(a+)+$" would keep Python, and all its threads, for ever.
            texts = pa.array(map(utf8, tags), pa.string())
            found = pc.match_substring_regex(texts, self.tags, ignore_case=True).to_pylist()
        except (pa.ArrowInvalid, UnicodeEncodeError):
            return set(tags)
        return {tag for tag, fits in zip(tags, found, strict=True) if fits or wanted in tag.lower()}

    def narrow(self, condition: str) -> View:
        """The view of those of its runs for which a condition holds too."""
        both = f"({self.where}) and ({condition})" if self.where else condition
        return dataclasses.replace(self, where=both)

    def write(self) -> str:
        """The address, without what chooses runs."""
        return urlencode({k: v for k, v in self.address.items() if k not in _CHOOSING})


_NAMES = {camel(one.name): one.name for one in dataclasses.fields(ViewFields)}
FIELDS = (*_NAMES, *(camel(one.name) for one in dataclasses.fields(Looks)))
# What a field may be, where the page has a list of it.
_CHOICES = {"tab": TABS, "centre": CENTRES, "band": BANDS, "better": ("", *BETTER)}


def read_view(address: str) -> View:
    """The view of an address, with or without what stands before its question mark or hash.

    Raises BadRequest for a name or value that the page does not know.
    """
    # A pattern that somebody wrote by hand may have such signs too.
    text = utf8(re.sub(r"^([^=?#]*[?#])?", "", address.strip()))
    said = dict(parse_qsl(text, keep_blank_values=True))
    for name in said:
        if name not in FIELDS:
            raise BadRequest(not_one_of("the view", name, FIELDS))
    chosen = {_NAMES[name]: _read(name, text) for name, text in said.items() if name in _NAMES}
    view = View(**chosen, address=said)
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
        is_right = isinstance(value, list) and all(isinstance(one, str) for one in value)
        value = tuple(value) if is_right else value
    elif isinstance(standard, bool):
        is_right = isinstance(value, bool)
    elif standard is None:
        is_right = value is None or type(value) is int
    else:
        is_right = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_right:
        raise BadRequest(f"The view says {name}={escape(text, 60)}, which is no value for it.")
    return value


def _read_axis(text: str) -> Any:
    if not text.startswith("{"):
        if text not in AXES:
            raise BadRequest(not_one_of("x", text, AXES))
        return text
    value = _read_json(text)
    if not (isinstance(value, dict) and isinstance(value.get("tag"), str)):
        raise BadRequest(f"The view says x={escape(text, 60)}, which is no axis.")
    return {"tag": value["tag"]}


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
