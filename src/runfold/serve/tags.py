"""The tags of every kind: how many runs have each, and from which step to which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from runfold.serve.answer import JsonResponse

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.logdir.log import RunLog
    from runfold.logdir.payloads import Payloads
    from runfold.serve.source import Source


async def tags(request: Request) -> Response:
    """The tags of every kind, in the order in which they first appear."""
    source: Source = request.app.state.source
    return JsonResponse(await source.work(list_tags, source))


@dataclass(slots=True)
class _Tag:
    runs: int
    first: int
    last: int


def list_tags(source: Source, runs: Iterable[str] | None = None) -> dict[str, Any]:
    """Kinds with their tags in some runs, or all; any has it between the steps `first`, `last`."""
    found: dict[str, dict[str, _Tag]] = {}
    for log in source.logs(runs):
        held = [("scalar", tag, series.steps) for tag, series in log.scalars.items()]
        held += [
            # A mesh is asked for by its name, and lies in a tag for each of its parts.
            (kind, _mesh_name(log, payloads) if kind == "mesh" else tag, payloads.steps)
            for (kind, tag), payloads in log.payloads.items()
        ]
        counted = set()
        for kind, tag, steps in held:
            if not len(steps):
                continue
            low, high = int(steps.min()), int(steps.max())
            known = found.setdefault(kind, {}).setdefault(tag, _Tag(0, low, high))
            known.runs += (kind, tag) not in counted
            known.first, known.last = min(known.first, low), max(known.last, high)
            counted.add((kind, tag))
    return {
        "kinds": {
            kind: [
                {"tag": tag, "runs": one.runs, "first": one.first, "last": one.last}
                for tag, one in named.items()
            ]
            for kind, named in found.items()
        }
    }


def _mesh_name(log: RunLog, payloads: Payloads) -> str:
    from runfold.tables.values import mesh_name  # and with it all that decodes values

    return mesh_name(log, payloads)


ROUTES = [Route("/api/tags", tags)]
