"""What is served, in short: the version, how many runs and tags, and whether they still grow."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

import runfold
from runfold.serve.answer import JsonResponse
from runfold.serve.tensorboards.boards import no_runs
from runfold.storage.address import mask_url
from runfold.tables.columns import MOST_TAGS
from runfold.tables.plugins import list_plugins, total_plugins

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.serve.source import Source


async def status(request: Request) -> Response:
    """What is served, in short."""
    source: Source = request.app.state.source
    return JsonResponse(await source.work(_describe, source))


def _describe(source: Source) -> dict[str, object]:
    runs = source.runs()
    tags = runs.tags
    return {
        "version": runfold.__version__,
        "hasLogdir": tuple(map(os.path.abspath, source.paths)) != (no_runs(),),
        "title": ", ".join(
            os.path.basename(os.path.abspath(mask_url(path))) for path in source.paths
        ),
        "generation": source.generation,
        "runs": len(runs),
        "isLive": source.is_live,
        "kinds": {kind: len(names) for kind, names in tags.items()},
        "plugins": list_totals(source),
    }


def list_totals(source: Source, runs: Iterable[str] | None = None) -> list[dict[str, Any]]:
    """What some runs, or all, hold of plugins that Runfold does not know."""
    lines = (line for log in source.logs(runs) for line in list_plugins(log))
    return [asdict(total) for total in total_plugins(lines)[:MOST_TAGS]]


ROUTES = [Route("/api/status", status)]
