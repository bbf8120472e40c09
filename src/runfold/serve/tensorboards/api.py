"""Instances for pages and programs: listed, started over the served runs, read, and ended.

A change is announced to open pages as the event `tensorboards`. What is started
or ended is in the audit log.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from starlette.routing import Route

from runfold.serve.access import make_login_path
from runfold.serve.answer import JsonResponse
from runfold.serve.errors import BadRequest, NotFound
from runfold.serve.request import Limit, read_json, read_query
from runfold.serve.security import PROXY
from runfold.storage.address import mask_url
from runfold.text import not_one_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.serve.source import Source
    from runfold.serve.tensorboards.boards import Boards
    from runfold.serve.tensorboards.sources import Sources
    from runfold.serve.tensorboards.store import Instance, Store

_MOST_LINES = 10_000


@dataclass(frozen=True)
class Start:
    """Which of the served runs to show: all where none, no experiment and no condition is named."""

    runs: tuple[str, ...] | None = None
    experiments: tuple[str, ...] = ()
    where: Annotated[str, Limit(0, 10_000)] = ""
    description: Annotated[str, Limit(0, 1000)] = ""


@dataclass(frozen=True)
class Named:
    """An instance, by its id, its name, or the beginning of one."""

    id: Annotated[str, Limit(1, 100)]


@dataclass(frozen=True)
class Log:
    """Whose log, and how many of its last lines."""

    id: Annotated[str, Limit(1, 100)]
    tail: Annotated[int, Limit(1, _MOST_LINES)] = 1000


async def list_instances(request: Request) -> Response:
    """All TensorBoards of this user, the oldest first."""
    boards = _boards_of(request)
    here = _logdirs(request.app.state.source)
    found = [_describe(boards, one, here) for one in await boards.all()]
    return JsonResponse({"tensorboards": found})


async def start(request: Request) -> Response:
    """Open a TensorBoard over chosen runs, or the one that shows them already."""
    asked = await read_json(request, Start)
    boards = _boards_of(request)
    source: Source = request.app.state.source
    sources = await source.work(_choose, source, asked)

    from runfold.serve.tensorboards.options import Options
    from runfold.serve.tensorboards.requests import open_instance

    store, is_keeper = await boards.store(), boards.is_service
    instance, is_new = open_instance(
        store, sources, Options(), asked.description, is_keeper=is_keeper
    )
    if is_new:
        from runfold.log.audit import record_action

        record_action("tensorboard start", f"{instance.id} {instance.name}", how="page")
        boards.poke()
    return JsonResponse({**_describe(boards, instance, sources.logdirs), "isNew": is_new})


async def kill(request: Request) -> Response:
    """End a TensorBoard."""
    asked = await read_json(request, Named)
    boards = _boards_of(request)
    instance = _find(await boards.store(), asked.id)

    from runfold.serve.tensorboards.requests import end_instance

    if instance.is_live:
        from runfold.log.audit import record_action

        instance = end_instance(await boards.store(), instance.id)
        record_action("tensorboard kill", f"{instance.id} {instance.name}", how="page")
        boards.poke()
    return JsonResponse(_describe(boards, instance, _logdirs(request.app.state.source)))


async def log(request: Request) -> Response:
    """The last lines that a TensorBoard has printed."""
    asked = read_query(request, Log)
    store = await _boards_of(request).store()
    instance = _find(store, asked.id)

    from runfold.serve.tensorboards.requests import read_log

    source: Source = request.app.state.source
    lines = await source.work(lambda: list(read_log(store, instance.id, tail=asked.tail)))
    return JsonResponse({"id": instance.id, "lines": lines})


async def link(request: Request) -> Response:
    """A ticket that logs a browser in, once, and the path that uses it for a TensorBoard."""
    asked = await read_json(request, Named)
    boards = _boards_of(request)
    instance = _find(await boards.store(), asked.id)
    ticket = boards.access.make_ticket()
    return JsonResponse({"ticket": ticket, "link": make_login_path(ticket, instance.id)})


async def poke(request: Request) -> Response:
    """Look at once at what other processes want to be started or ended."""
    boards = _boards_of(request)
    # Only here: of two that ask each other neither would come to an end.
    if boards.is_service:
        boards.poke()
    return JsonResponse({})


def _boards_of(request: Request) -> Boards:
    boards: Boards | None = getattr(request.app.state, "boards", None)
    if boards is None:
        raise NotFound("This server has no TensorBoards.")
    return boards


def _find(store: Store, text: str) -> Instance:
    from runfold.serve.tensorboards.store import UnknownInstance

    try:
        return store.get(text)
    except UnknownInstance as error:
        raise NotFound(str(error)) from None


def _choose(source: Source, asked: Start) -> Sources:
    """The sources, of which every name is that of a served run. Raises UnknownRun and others."""
    from runfold.experiments.experiment import name_experiment
    from runfold.serve.tensorboards.boards import no_runs
    from runfold.serve.tensorboards.sources import Sources

    logdirs = _logdirs(source)
    if logdirs == (no_runs(),):
        raise BadRequest("This server shows no runs. Use `runfold tensorboard start` instead.")
    runs = source.runs()
    for name in asked.runs or ():
        runs[name]
    known = list(dict.fromkeys(map(name_experiment, runs)))
    for name in asked.experiments:
        if name not in known:
            raise NotFound(not_one_of("The experiment", name, known))
    if asked.where:
        runs.where(asked.where)
    chosen = None if asked.runs is None else tuple(dict.fromkeys(asked.runs))
    return Sources(logdirs, chosen, tuple(dict.fromkeys(asked.experiments)), asked.where)


def _logdirs(source: Source) -> tuple[str, ...]:
    return tuple(path if "://" in path else os.path.abspath(path) for path in source.paths)


def _describe(boards: Boards, instance: Instance, here: tuple[str, ...]) -> dict[str, Any]:
    """What a page is told; whole paths and the key are not its business."""
    sources = instance.sources
    return {
        "id": instance.id,
        "name": instance.name,
        "state": instance.state,
        "path": f"{PROXY}{instance.id}/",
        "description": instance.description,
        "logdirs": [os.path.basename(mask_url(path).rstrip("/")) for path in sources.logdirs],
        "isHere": sources.logdirs == here,
        "runs": sources.runs,
        "experiments": sources.experiments,
        "where": sources.where,
        "user": instance.user,
        "created": instance.created,
        "started": instance.started,
        "ended": instance.ended,
        "idle": boards.idle_of(instance.id),
        "exitStatus": instance.exit_status,
        "restarts": instance.restarts,
        "message": instance.message,
    }


ROUTES = [
    Route("/api/tensorboards", list_instances),
    Route("/api/tensorboards", start, methods=["POST"]),
    Route("/api/tensorboards/kill", kill, methods=["POST"]),
    Route("/api/tensorboards/log", log),
    Route("/api/tensorboards/link", link, methods=["POST"]),
    Route("/api/tensorboards/poke", poke, methods=["POST"]),
]
