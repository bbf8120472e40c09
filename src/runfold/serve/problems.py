"""What is wrong in the logs that are served."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from runfold.serve.answer import JsonResponse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.events.problems import Problem
    from runfold.serve.source import Source

MOST = 10_000


async def problems(request: Request) -> Response:
    """Everything wrong that is known by now, in the order of runs and files."""
    source: Source = request.app.state.source
    return JsonResponse(await source.work(list_problems, source))


def list_problems(source: Source) -> dict[str, Any]:
    """The problems of the tree and of all runs."""
    return describe_problems(source.runs()._list_problems())


def describe_problems(found: Sequence[Problem], most: int = MOST) -> dict[str, Any]:
    """Problems with the names of their files, but not where those lie."""
    entries = [
        {
            "run": one.run,
            "file": os.path.basename(one.file),
            "offset": one.offset,
            "code": str(one.code),
            "message": one.message,
        }
        for one in found[:most]
    ]
    return {"problems": entries, "leftOut": max(0, len(found) - most)}


ROUTES = [Route("/api/problems", problems)]
