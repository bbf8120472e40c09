"""Logged text, unformatted. The page decides how to display it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from runfold._events.kinds.text import text_of
from runfold._serve.charts.stored_values import TagRequest, find_stored
from runfold._serve.http.endpoint import endpoint
from runfold._serve.page_vocabulary import Json, JsonNumber
from runfold._tables.frames.decoded_values import ROWS
from runfold._tables.frames.value_rows import read_each_run

if TYPE_CHECKING:
    import numpy as np

    from runfold._serve.run_source import Source

MOST = 1000
LONGEST = 200_000
MOST_CHARACTERS = 8_000_000
# Maximum size of an array of strings; the page shows such an array as a table.
_MOST_CELLS = 10_000


class TextEntry(TypedDict):
    """A string or nested lists of strings; `length` is the full length of a truncated string."""

    run: str
    step: JsonNumber
    wallTime: float
    text: Json
    length: NotRequired[int]


class TextsResponse(TypedDict):
    """Text entries, and the number of entries left out."""

    texts: list[TextEntry]
    leftOut: int


@endpoint("GET /api/texts", TagRequest, queue="work")
def list_texts(source: Source, request: TagRequest) -> TextsResponse:
    """List the latest text entries of a tag in each run, oldest first.

    A long string is cut; `length` is then its full length. Raises UnknownRun and
    UnknownTag.
    """
    found = find_stored(source, "text", request, MOST, is_newest=True)
    longest = max(1, min(LONGEST, MOST_CHARACTERS // max(1, _count(found.selected))))
    entries: list[TextEntry] = [
        {
            "run": row.run,
            "step": row.step,
            "wallTime": row.wall_time,
            **cut_text(row.value, longest),
        }
        for row in read_each_run(found.selected, ROWS["text"])
    ]
    return {"texts": entries, "leftOut": found.left_out}


class CutText(TypedDict):
    """A string or nested lists of strings; `length` is the full length of a truncated string."""

    text: Json
    length: NotRequired[int]


def cut_text(value: str | np.ndarray, longest: int) -> CutText:
    """Return a string or nested lists of strings; a long string is cut, with its full length."""
    whole = text_of(value)
    if len(whole) > longest or (not isinstance(value, str) and value.size > _MOST_CELLS):
        return {"text": whole[:longest], "length": len(whole)}
    return {"text": value if isinstance(value, str) else value.tolist()}


def _count(selected: list[tuple[Any, Any]]) -> int:
    return sum(len(payloads) for _, payloads in selected)
