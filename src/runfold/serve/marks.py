"""The events that runs marked, for the lines that charts have there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from runfold.serve.answer import JsonResponse

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.serve.source import Source

MOST = 10_000
LONGEST = 500


async def marks(request: Request) -> Response:
    """The events that runs marked, in the order of runs and files."""
    source: Source = request.app.state.source
    return JsonResponse(await source.work(list_marks, source))


def list_marks(source: Source) -> dict[str, Any]:
    """Marks with their place on every axis; the first ones of very many.

    `relative` is in seconds since the run's first event, as in the curves.
    """
    # Not before it is asked for: it brings along all that a tracked run tells.
    from runfold.tables.story import read_marks

    found = [
        {
            "run": log.name,
            "step": mark.step,
            "wallTime": mark.wall_time,
            "relative": mark.wall_time - log.wall_time_range[0],
            "text": mark.text[:LONGEST],
        }
        for log in source.logs()
        for mark in read_marks(log)
    ]
    return {"marks": found[:MOST], "leftOut": max(0, len(found) - MOST)}


ROUTES = [Route("/api/marks", marks)]
