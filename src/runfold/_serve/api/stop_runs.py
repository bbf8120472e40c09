"""Stopping runs from the page: request a stop, follow its progress, or kill the process."""

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
    """The run to stop, the reason, and whether to kill its process."""

    run: Text
    reason: Annotated[str, Meta(max_length=1000)] = ""
    kill: bool = False


class StopWatchRequest(RequestFields):
    """The run to follow while it stops."""

    run: Text


class StopResponse(TypedDict):
    """How far a run's stop has progressed; who requested it, why, and when (in seconds).

    `whyNotKill` is the reason that its process cannot be killed from here: empty if it
    can be killed, null if the run has ended.
    """

    stage: Stage
    state: str
    who: str | None
    reason: str | None
    when: float | None
    whyNotKill: str | None


# The stage of each process that is being killed, by run folder.
_killing: dict[str, Stage] = {}


@endpoint("GET /api/stop", StopWatchRequest)
async def watch(request: Request, fields: StopWatchRequest) -> StopResponse:
    """Return how far a run's stop has progressed, and whether its process can be killed."""
    source: Source = request.app.state.source
    folder = await source.work(_find, source, fields.run)
    return await asyncio.to_thread(describe, folder)


@endpoint("POST /api/stop", StopRequest)
async def stop(request: Request, fields: StopRequest) -> StopResponse:
    """Ask a run to stop, or kill it; return the progress so far at once."""
    source: Source = request.app.state.source
    # Only programs send the token; a page sends a cookie.
    how = "api" if "authorization" in request.headers else "page"
    action, act = ("kill", _kill) if fields.kill else ("stop", _request_stop)
    try:
        folder = await source.work(_find, source, fields.run)
    except UnknownRun as error:
        record_action(action, fields.run, how=how, outcome="refused", why=str(error))
        raise
    await asyncio.to_thread(act, folder, fields.reason, how)
    request.app.state.hub.publish(source.mark_changed(fields.run))
    return await asyncio.to_thread(describe, folder)


def describe(folder: str) -> StopResponse:
    """Return a run's stage and state, who asked it to stop, and why it cannot be killed.

    Raises CannotStop for a run that was not tracked, and LogdirNotFound for a missing folder.
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
    """Return the folder of a run. Raises UnknownRun with near matches."""
    return source.log(name).path


def _request_stop(folder: str, reason: str, how: str) -> None:
    stop_run(folder, reason=reason, wait=False, how=how)


def _kill(folder: str, reason: str, how: str) -> None:
    """Send the first signal; a thread does the rest. Raises if the process cannot be killed."""
    begun: SimpleQueue[Exception | None] = SimpleQueue()

    def on_stage(now: Stop) -> None:
        if not now.is_over:
            _killing[folder] = now.stage
            begun.put(None)

    def work() -> None:
        try:
            kill_run(folder, reason=reason, how=how, on_stage=on_stage)
        except Exception as error:  # of any kind, because the caller waits for the result
            begun.put(error)
        finally:
            _killing.pop(folder, None)

    threading.Thread(target=work, name="runfold-kill", daemon=True).start()
    error = begun.get()
    if error is not None:
        raise error
