"""Text that was logged, as text: what it looks like is the page's business."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from runfold.events.kinds.text import text_of
from runfold.serve.answer import JsonResponse
from runfold.serve.request import read_query
from runfold.serve.stored import Wanted, find_stored
from runfold.tables.values import ROWS

if TYPE_CHECKING:
    import numpy as np
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.serve.source import Source

MOST = 1000
LONGEST = 200_000
MOST_CHARACTERS = 8_000_000
# Of an array of texts, which the page shows as a table.
_MOST_CELLS = 10_000


async def texts(request: Request) -> Response:
    """The newest texts of a tag in each run, oldest first."""
    source: Source = request.app.state.source
    return JsonResponse(await source.work(list_texts, source, read_query(request, Wanted)))


def list_texts(source: Source, wanted: Wanted) -> dict[str, Any]:
    """The texts; one that is too long loses its end, and `length` tells how long it was.

    Raises UnknownRun and UnknownTag.
    """
    found = find_stored(source, "text", wanted, MOST, is_newest=True)
    longest = max(1, min(LONGEST, MOST_CHARACTERS // max(1, _count(found.selected))))
    entries = [
        {
            "run": row.run,
            "step": row.step,
            "wallTime": row.wall_time,
            **cut_text(row.value, longest),
        }
        for row in ROWS["text"](found.selected)
    ]
    return {"texts": entries, "leftOut": found.left_out}


def cut_text(value: str | np.ndarray, longest: int) -> dict[str, Any]:
    """A text, or nested lists of texts; of what is too long the beginning, and its length."""
    whole = text_of(value)
    if len(whole) > longest or (not isinstance(value, str) and value.size > _MOST_CELLS):
        return {"text": whole[:longest], "length": len(whole)}
    return {"text": value if isinstance(value, str) else value.tolist()}


def _count(selected: list[tuple[Any, Any]]) -> int:
    return sum(len(payloads) for _, payloads in selected)


ROUTES = [Route("/api/texts", texts)]
