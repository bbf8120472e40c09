"""What a request says of groups of runs: what makes them, or who is in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from starlette.routing import Route

from runfold.errors import UnknownColumn
from runfold.reduce.groups import PARENT, RUN, Grouping, make_groups
from runfold.serve.answer import JsonResponse
from runfold.serve.errors import BadRequest
from runfold.serve.patterns import search_apart
from runfold.serve.request import Limit, read_json
from runfold.tables.columns import Naming
from runfold.text import escape, utf8

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.serve.source import Source

# The name of an hparam or another column, "parent", or a pattern over the run's name.
Key = Annotated[str, Limit(1, 1000)]


@dataclass(frozen=True)
class Group:
    """A group that a person put together, such as all runs of one status."""

    name: str
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Asked:
    """What makes a group, of some runs or all."""

    by: Key
    runs: tuple[str, ...] | None = None


async def groups(request: Request) -> Response:
    """The groups that a fold would have, and the runs in each."""
    asked = await read_json(request, Asked)
    source: Source = request.app.state.source
    return JsonResponse(await source.compute(list_groups, source, asked))


def list_groups(source: Source, asked: Asked) -> dict[str, Any]:
    """The runs of each group; one that is in no group is not there. Raises as `group_logs`."""
    found = group_logs(source, asked.runs, asked.by, None).groups
    return {
        "groups": [
            {"name": utf8(one.name), "runs": [utf8(log.name) for log in one.logs]} for one in found
        ]
    }


def group_logs(
    source: Source,
    runs: tuple[str, ...] | None,
    by: str | tuple[str, ...] | None,
    groups: tuple[Group, ...] | None,
) -> Grouping:
    """The groups that are asked for, of some runs or all.

    Raises UnknownRun, and CannotFold as `make_groups` does.
    """
    if groups is None:
        values = _find_values(source, by) if isinstance(by, str) else None
        if values is None:
            return make_groups(source.logs(runs), by, search_apart)
        return make_groups(source.logs(runs), lambda log: values.get(log.name))
    if by is not None:
        raise BadRequest("'by' and 'groups' are two ways to say it; choose.")
    owner: dict[str, str] = {}
    for group in groups:
        for run in group.runs:
            if owner.setdefault(run, group.name) != group.name:
                raise BadRequest(f"Run '{escape(run)}' is in two groups.")
    chosen = {log.name for log in source.logs(runs)}
    logs = [log for log in source.logs(owner) if log.name in chosen]
    return make_groups(logs, lambda log: owner[log.name])


def _find_values(source: Source, by: str) -> dict[str, dict[str, Any]] | None:
    """What each run has in a column of the table; None for all that `make_groups` knows itself."""
    overview = source.runs()._overview()
    if by in (PARENT, RUN) or "(?P<" in by or by in overview.known.hparams:
        return None
    try:
        found = Naming(overview.known).find(by, ())
    except UnknownColumn:
        return None  # `make_groups` says which hparams there are
    cells = overview.cells(found[0])
    return {
        log.name: {by: cell}
        for log, cell in zip(overview.logs, cells, strict=True)
        if cell is not None
    }


ROUTES = [Route("/api/groups", groups, methods=["POST"])]
