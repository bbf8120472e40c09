"""Errors as responses: the message of an expected error, or an id for any other error."""

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

_MESSAGES = {404: "There is nothing at this URL.", 405: "This URL does not support that method."}


class BadRequest(RunfoldError, ValueError):
    """The request is invalid."""


class TooBusy(RunfoldError):
    """The server has too many concurrent requests."""


class TookTooLong(RunfoldError, TimeoutError):
    """The request exceeded its time limit and was cancelled."""


class TooLarge(RunfoldError):
    """The request or its response exceeds a size limit."""


class NotFound(RunfoldError, KeyError):
    """The requested value does not exist."""


# The error's own message contains a path on this machine.
_CHANGED = "A log file changed while it was being read. Try again in a moment."

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
    """Return an error in the common format: {"error": message, ...}."""
    return JsonResponse({"error": message, **more}, status, headers)


async def _handle_expected(request: Request, error: Exception) -> Response:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 400)
    at = getattr(error, "at", None)
    headers = {"Retry-After": "1"} if status == 429 else None
    message = _CHANGED if isinstance(error, FileChanged) else str(error)
    return error_response(message, status, headers, **({} if at is None else {"at": at}))


async def _handle_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return error_response(
        _MESSAGES.get(error.status_code, error.detail), error.status_code, error.headers
    )


async def _handle_disconnect(request: Request, error: Exception) -> Response:
    """Handle a client that disconnected before its request was read; it receives nothing."""
    return error_response("The client disconnected before the end of the request.", 400)


async def _handle_unexpected(request: Request, error: Exception) -> Response:
    """Return a fixed message and an id; log the traceback under that id."""
    number = secrets.token_hex(4)
    log.error("error %s in %s %s", number, request.method, request.url.path, exc_info=error)
    return error_response(
        "Something went wrong on the server; see its log for details.", 500, id=number
    )


async def _handle_memory(request: Request, error: Exception) -> Response:
    """Report that one request ran out of memory; the server continues."""
    log.error("not enough memory for %s %s", request.method, request.url.path)
    return error_response(
        "The server does not have enough memory for this. Choose fewer runs, tags or steps.", 503
    )


HANDLERS: dict[int | type[Exception], Callable[[Request, Exception], object]] = {
    RunfoldError: _handle_expected,
    HTTPException: _handle_http,
    ClientDisconnect: _handle_disconnect,
    MemoryError: _handle_memory,
    Exception: _handle_unexpected,
}
