"""The groups of runs in a request, given by a key or by their members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from msgspec import Meta

from runfold._humanize import escape, utf8
from runfold._reduce.groups import PARENT, RUN, Grouping, make_groups
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import BadRequest
from runfold._serve.http.regex_process import search_apart
from runfold._serve.http.request_fields import LONGEST_LIST, Names, RequestFields, Text
from runfold._tables.by_run.run_columns import Naming
from runfold.errors import UnknownColumn

if TYPE_CHECKING:
    from runfold._serve.run_source import Source

# The name of an hparam or other column, "parent", or a pattern for the run's name.
Key = Annotated[str, Meta(min_length=1, max_length=1000)]
Keys = Annotated[tuple[Key, ...], Meta(max_length=LONGEST_LIST)]


class Group(RequestFields):
    """A group defined by its members, for example all runs with one status."""

    name: Text
    runs: Names


Groups = Annotated[tuple[Group, ...], Meta(max_length=LONGEST_LIST)]


class GroupsRequest(RequestFields):
    """A key to group by, for the given runs or, by default, all runs."""

    by: Key
    runs: Names | None = None


class GroupEntry(TypedDict):
    """A group and the names of its runs."""

    name: str
    runs: list[str]


class GroupsResponse(TypedDict):
    """Groups in order; runs without a group are omitted."""

    groups: list[GroupEntry]


@endpoint("POST /api/groups", GroupsRequest, queue="compute")
def list_groups(source: Source, request: GroupsRequest) -> GroupsResponse:
    """List the groups that a fold would have, and their runs.

    Raises the same errors as `group_logs`.
    """
    groups = group_logs(source, request.runs, request.by, None).groups
    return {
        "groups": [
            {"name": utf8(group.name), "runs": [utf8(log.name) for log in group.logs]}
            for group in groups
        ]
    }


def group_logs(
    source: Source,
    runs: tuple[str, ...] | None,
    by: str | tuple[str, ...] | None,
    groups: tuple[Group, ...] | None,
) -> Grouping:
    """Return the requested groups of the given runs, or of all runs by default.

    Raises UnknownRun, BadRequest and, like `make_groups`, CannotFold.
    """
    if groups is None:
        values = _find_values(source, by) if isinstance(by, str) else None
        if values is None:
            return make_groups(source.logs(runs), by, search_apart)
        return make_groups(source.logs(runs), lambda log: values.get(log.name))
    if by is not None:
        raise BadRequest("Pass either 'by' or 'groups', not both.")
    owner: dict[str, str] = {}
    for group in groups:
        for run in group.runs:
            if owner.setdefault(run, group.name) != group.name:
                raise BadRequest(f"Run '{escape(run)}' is in two groups.")
    chosen = {log.name for log in source.logs(runs)}
    logs = [log for log in source.logs(owner) if log.name in chosen]
    return make_groups(logs, lambda log: owner[log.name])


def _find_values(source: Source, by: str) -> dict[str, dict[str, Any]] | None:
    """Return each run's cell in a column; None for keys that `make_groups` handles itself."""
    overview = source.runs()._overview()
    if by in (PARENT, RUN) or "(?P<" in by or by in overview.known.hparams:
        return None
    try:
        columns = Naming(overview.known).find(by, ())
    except UnknownColumn:
        return None  # `make_groups` raises an error that lists the hparams
    cells = overview.cells(columns[0])
    return {
        run: {by: cell} for run, cell in zip(overview.runs, cells, strict=True) if cell is not None
    }
