"""Instances for pages and programs: list them, start one for served runs, read its log, end it.

Changes are announced to open pages as the event `tensorboards`. Starts and ends are
recorded in the audit log.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, TypedDict

from msgspec import Meta

from runfold._humanize import not_one_of
from runfold._serve.http.access import make_login_path
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import BadRequest, NotFound
from runfold._serve.http.request_fields import Names, RequestFields
from runfold._serve.http.security import PROXY
from runfold._storage.url import mask_url

if TYPE_CHECKING:
    from starlette.requests import Request

    from runfold._serve.run_source import Source
    from runfold._serve.tensorboards.instance_runs import Sources
    from runfold._serve.tensorboards.instance_store import Instance, State, Store
    from runfold._serve.tensorboards.registry import InstanceRegistry

_MOST_LINES = 10_000


class StartTensorBoardRequest(RequestFields):
    """The served runs to show: all if `runs`, `experiments` and `where` are empty."""

    runs: Names | None = None
    experiments: Names = ()
    where: Annotated[str, Meta(max_length=10_000)] = ""
    description: Annotated[str, Meta(max_length=1000)] = ""


class TensorBoardRequest(RequestFields):
    """An instance, by its id or name, or a unique prefix of either."""

    id: Annotated[str, Meta(min_length=1, max_length=100)]


class TensorBoardLogRequest(RequestFields):
    """The instance, and the number of lines to return from the end of its log."""

    id: Annotated[str, Meta(min_length=1, max_length=100)]
    tail: Annotated[int, Meta(ge=1, le=_MOST_LINES)] = 1000


class TensorBoard(TypedDict):
    """A TensorBoard as the page sees it, with times in seconds.

    `logdirs` are names; `isHere` is true if they are the logdirs of this server.
    Only the service knows `idle`. `node` is empty unless it runs on a cluster.
    """

    id: str
    name: str
    state: State
    path: str
    description: str
    logdirs: list[str]
    isHere: bool
    runs: list[str] | None
    experiments: list[str]
    where: str
    user: str
    created: float
    started: float | None
    ended: float | None
    idle: float | None
    exitStatus: int | None
    restarts: int
    message: str
    node: str


class StartedTensorBoard(TensorBoard):
    """A TensorBoard, and whether it was started for this request."""

    isNew: bool


class TensorBoardsResponse(TypedDict):
    """All TensorBoards."""

    tensorboards: list[TensorBoard]


class TensorBoardLogResponse(TypedDict):
    """The last lines of a TensorBoard's output."""

    id: str
    lines: list[str]


class TensorBoardLinkResponse(TypedDict):
    """A ticket for one login, and the path that uses it."""

    ticket: str
    link: str


@endpoint("GET /api/tensorboards")
async def list_instances(request: Request) -> TensorBoardsResponse:
    """List all TensorBoards of this user, oldest first."""
    boards = _boards_of(request)
    here = _logdirs(request.app.state.source)
    entries = [_describe(boards, instance, here) for instance in await boards.all()]
    return {"tensorboards": entries}


@endpoint("POST /api/tensorboards", StartTensorBoardRequest)
async def start(request: Request, fields: StartTensorBoardRequest) -> StartedTensorBoard:
    """Start a TensorBoard for selected runs, or return one that already shows them."""
    boards = _boards_of(request)
    source: Source = request.app.state.source
    sources = await source.work(_choose, source, fields)

    from runfold._serve.tensorboards.instance_options import Options
    from runfold._serve.tensorboards.instance_requests import open_instance

    store, is_supervisor = await boards.store(), boards.is_service
    instance, is_new = open_instance(
        store, sources, Options(), fields.description, is_supervisor=is_supervisor
    )
    if is_new:
        from runfold._story.audit_log import record_action

        record_action("tensorboard start", f"{instance.id} {instance.name}", how="page")
        boards.poke()
    return {**_describe(boards, instance, sources.logdirs), "isNew": is_new}


@endpoint("POST /api/tensorboards/kill", TensorBoardRequest)
async def kill(request: Request, fields: TensorBoardRequest) -> TensorBoard:
    """End a TensorBoard."""
    boards = _boards_of(request)
    instance = _find(await boards.store(), fields.id)

    from runfold._serve.tensorboards.instance_requests import end_instance

    if instance.is_live:
        from runfold._story.audit_log import record_action

        instance = end_instance(await boards.store(), instance.id)
        record_action("tensorboard kill", f"{instance.id} {instance.name}", how="page")
        boards.poke()
    return _describe(boards, instance, _logdirs(request.app.state.source))


@endpoint("GET /api/tensorboards/log", TensorBoardLogRequest)
async def log(request: Request, fields: TensorBoardLogRequest) -> TensorBoardLogResponse:
    """Return the last lines of a TensorBoard's output."""
    store = await _boards_of(request).store()
    instance = _find(store, fields.id)

    from runfold._serve.tensorboards.instance_requests import read_log

    source: Source = request.app.state.source
    lines = await source.work(lambda: list(read_log(store, instance.id, tail=fields.tail)))
    return {"id": instance.id, "lines": lines}


@endpoint("POST /api/tensorboards/link", TensorBoardRequest)
async def link(request: Request, fields: TensorBoardRequest) -> TensorBoardLinkResponse:
    """Return a ticket for one login, and the path that logs in with it and opens a TensorBoard."""
    boards = _boards_of(request)
    instance = _find(await boards.store(), fields.id)
    ticket = boards.access.make_ticket()
    return {"ticket": ticket, "link": make_login_path(ticket, instance.id)}


@endpoint("POST /api/tensorboards/poke")
async def poke(request: Request) -> dict[str, str]:
    """Check at once which instances other processes want to start or end."""
    boards = _boards_of(request)
    # Only in the service: two servers that forward to each other would never finish.
    if boards.is_service:
        boards.poke()
    return {}


def _boards_of(request: Request) -> InstanceRegistry:
    boards: InstanceRegistry | None = getattr(request.app.state, "boards", None)
    if boards is None:
        raise NotFound("This server does not manage TensorBoards.")
    return boards


def _find(store: Store, text: str) -> Instance:
    from runfold._serve.tensorboards.instance_store import UnknownInstance

    try:
        return store.get(text)
    except UnknownInstance as error:
        raise NotFound(str(error)) from None


def _choose(source: Source, request: StartTensorBoardRequest) -> Sources:
    """Return the sources. Raises UnknownRun or NotFound for names that do not exist."""
    from runfold._experiments.experiment import name_experiment
    from runfold._serve.tensorboards.instance_runs import Sources
    from runfold._serve.tensorboards.process_files import empty_logdir

    logdirs = _logdirs(source)
    if logdirs == (empty_logdir(),):
        raise BadRequest("This server has no runs. Use `runfold tensorboard start` instead.")
    runs = source.runs()
    for name in request.runs or ():
        runs[name]
    known = list(dict.fromkeys(map(name_experiment, runs)))
    for name in request.experiments:
        if name not in known:
            raise NotFound(not_one_of("The experiment", name, known))
    if request.where:
        runs.where(request.where)
    chosen = None if request.runs is None else tuple(dict.fromkeys(request.runs))
    return Sources(logdirs, chosen, tuple(dict.fromkeys(request.experiments)), request.where)


def _logdirs(source: Source) -> tuple[str, ...]:
    return tuple(path if "://" in path else os.path.abspath(path) for path in source.paths)


def _describe(boards: InstanceRegistry, instance: Instance, here: tuple[str, ...]) -> TensorBoard:
    """Describe an instance for the page, without full paths or the key."""
    sources = instance.sources
    return {
        "id": instance.id,
        "name": instance.name,
        "state": instance.state,
        "path": f"{PROXY}{instance.id}/",
        "description": instance.description,
        "logdirs": [os.path.basename(mask_url(path).rstrip("/")) for path in sources.logdirs],
        "isHere": sources.logdirs == here,
        "runs": None if sources.runs is None else list(sources.runs),
        "experiments": list(sources.experiments),
        "where": sources.where,
        "user": instance.user,
        "created": instance.created,
        "started": instance.started,
        "ended": instance.ended,
        "idle": boards.idle_of(instance.id),
        "exitStatus": instance.exit_status,
        "restarts": instance.restarts,
        "message": instance.message,
        "node": instance.node,
    }
