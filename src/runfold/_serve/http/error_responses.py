"""What a client is told of an error: the message of one that was foreseen, an id of any other."""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response

from runfold._serve.http.json_response import JsonResponse
from runfold.errors import FileChanged, RunfoldError, UnknownRun, UnknownTag

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.requests import Request

log = logging.getLogger("runfold.serve")

_WORDS = {404: "There is nothing at this address.", 405: "This address does not take that method."}


class BadRequest(RunfoldError, ValueError):
    """A request that says something that cannot be meant."""


class TooBusy(RunfoldError):
    """More is asked at once than the server does at once."""


class TookTooLong(RunfoldError, TimeoutError):
    """A request that was given up after the seconds that one may take."""


class TooLarge(RunfoldError):
    """A request, or the answer to it, beyond what the server takes or gives."""


class NotFound(RunfoldError, KeyError):
    """A value asked for by its place, where there is none."""


# Its own message names a path of this machine.
_CHANGED = "A file of the log changed while it was read. Ask again in a moment."

_STATUS: dict[type[RunfoldError], int] = {
    UnknownRun: 404,
    UnknownTag: 404,
    FileChanged: 409,
    NotFound: 404,
    TooLarge: 413,
    TooBusy: 429,
    TookTooLong: 503,
}


def error_response(
    message: str, status: int, headers: Mapping[str, str] | None = None, **more: object
) -> Response:
    """What every error looks like: {"error": message, ...}."""
    return JsonResponse({"error": message, **more}, status, headers)


async def _tell_foreseen(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400)
    at = getattr(error, "at", None)
    headers = {"Retry-After": "1"} if status == 429 else None
    message = _CHANGED if isinstance(error, FileChanged) else str(error)
    return error_response(message, status, headers, **({} if at is None else {"at": at}))


async def _tell_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(
        _WORDS.get(error.status_code, error.detail), error.status_code, error.headers
    )


async def _tell_nobody(request: Request, error: Exception) -> Response:
    """For a client that went away before its request was read: nobody is there to hear it."""
    return error_response("The request was broken off.", 400)


async def _tell_unforeseen(request: Request, error: Exception) -> Response:
    """A fixed message and an id; the traceback goes to the local log, under that id."""
    number = secrets.token_hex(4)
    log.error("error %s in %s %s", number, request.method, request.url.path, exc_info=error)
    return error_response("Something went wrong in the server; its log says what.", 500, id=number)


async def _tell_memory(request: Request, error: Exception) -> Response:
    """The work of one request failed; the server continues."""
    log.error("not enough memory for %s %s", request.method, request.url.path)
    return error_response(
        "The server does not have enough memory for this. Choose fewer runs, tags or steps.", 503
    )


HANDLERS: dict[int | type[Exception], Callable[[Request, Exception], object]] = {
    RunfoldError: _tell_foreseen,
    HTTPException: _tell_http,
    ClientDisconnect: _tell_nobody,
    MemoryError: _tell_memory,
    Exception: _tell_unforeseen,
}
