"""Runs stopped from the page: asked, watched while they end, and killed where they must be."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from queue import SimpleQueue
from typing import TYPE_CHECKING, Annotated, TypedDict

from msgspec import Meta

from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.request_fields import RequestFields, Text
from runfold._story.audit_log import record_action
from runfold._story.stopping import Stop, kill_run, look_at_stop, stop_run, why_not_kill
from runfold.errors import UnknownRun

if TYPE_CHECKING:
    from starlette.requests import Request

    from runfold._serve.run_source import Source
    from runfold._story.stopping import Stage


class StopRequest(RequestFields):
    """The run that is to stop, why, and whether to end its process at once."""

    run: Text
    reason: Annotated[str, Meta(max_length=1000)] = ""
    kill: bool = False


class StopWatchRequest(RequestFields):
    """The run whose stop is watched."""

    run: Text


class StopResponse(TypedDict):
    """How far the stop of a run has come, and who asked for it why and when (in seconds).

    `whyNotKill` is why its process cannot be killed from here: empty where it can, null
    where it has ended.
    """

    stage: Stage
    state: str
    who: str | None
    reason: str | None
    when: float | None
    whyNotKill: str | None


# The processes that are being ended, by the folders of their runs, and how far that is.
_killing: dict[str, Stage] = {}


@endpoint("GET /api/stop", StopWatchRequest)
async def watch(request: Request, asked: StopWatchRequest) -> StopResponse:
    """How far the stop of a run has come, and whether its process could be killed from here."""
    source: Source = request.app.state.source
    folder = await source.work(_find, source, asked.run)
    return await asyncio.to_thread(describe, folder)


@endpoint("POST /api/stop", StopRequest)
async def stop(request: Request, asked: StopRequest) -> StopResponse:
    """Ask a run to stop, or kill it; how far that has come is told at once."""
    source: Source = request.app.state.source
    # Who shows the token in each request is a program.
    how = "api" if "authorization" in request.headers else "page"
    action, act = ("kill", _kill) if asked.kill else ("stop", _ask)
    try:
        folder = await source.work(_find, source, asked.run)
    except UnknownRun as error:
        record_action(action, asked.run, how=how, outcome="refused", why=str(error))
        raise
    await asyncio.to_thread(act, folder, asked.reason, how)
    request.app.state.hub.publish(source.tell_of(asked.run))
    return await asyncio.to_thread(describe, folder)


def describe(folder: str) -> StopResponse:
    """The stage and state of a run, what it was asked by whom, and why it cannot be killed.

    Raises CannotStop for a run that was not tracked, and LogdirNotFound.
    """
    now = look_at_stop(folder)
    if not now.is_over:
        now = replace(now, stage=_killing.get(folder, now.stage))
    request = now.request
    return {
        "stage": now.stage,
        "state": now.state,
        "who": None if request is None else request.who,
        "reason": None if request is None else request.reason,
        "when": None if request is None else request.when,
        "whyNotKill": None if now.is_over else why_not_kill(folder),
    }


def _find(source: Source, name: str) -> str:
    """The folder of a run. Raises UnknownRun with the near names."""
    return source.log(name).path


def _ask(folder: str, reason: str, how: str) -> None:
    stop_run(folder, reason=reason, wait=False, how=how)


def _kill(folder: str, reason: str, how: str) -> None:
    """Send the first signal; the rest, which takes its time, is done by a thread. Raises."""
    begun: SimpleQueue[Exception | None] = SimpleQueue()

    def hear(now: Stop) -> None:
        if not now.is_over:
            _killing[folder] = now.stage
            begun.put(None)

    def work() -> None:
        try:
            kill_run(folder, reason=reason, how=how, on_stage=hear)
        except Exception as error:  # whatever it is: somebody waits to hear
            begun.put(error)
        finally:
            _killing.pop(folder, None)

    threading.Thread(target=work, name="runfold-kill", daemon=True).start()
    error = begun.get()
    if error is not None:
        raise error
