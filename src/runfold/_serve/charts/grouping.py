"""What a request says of groups of runs: what makes them, or who is in each."""

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

# The name of an hparam or another column, "parent", or a pattern over the run's name.
Key = Annotated[str, Meta(min_length=1, max_length=1000)]
Keys = Annotated[tuple[Key, ...], Meta(max_length=LONGEST_LIST)]


class Group(RequestFields):
    """A group that a person put together, such as all runs of one status."""

    name: Text
    runs: Names


Groups = Annotated[tuple[Group, ...], Meta(max_length=LONGEST_LIST)]


class GroupsRequest(RequestFields):
    """What makes a group, of some runs or all."""

    by: Key
    runs: Names | None = None


class GroupEntry(TypedDict):
    """A group and the names of its runs."""

    name: str
    runs: list[str]


class GroupsResponse(TypedDict):
    """Groups in their order; a run that is in no group is not there."""

    groups: list[GroupEntry]


@endpoint("POST /api/groups", GroupsRequest, queue="compute")
def list_groups(source: Source, asked: GroupsRequest) -> GroupsResponse:
    """The groups that a fold would have, and the runs in each. Raises as `group_logs` does."""
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
