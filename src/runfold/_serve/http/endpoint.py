"""The endpoint table: method, path, request and response of each route, set by a decorator.

    @endpoint("POST /api/fold", FoldRequest, queue="compute", response=ArrowResponse)
    def make_folds(source: Source, request: FoldRequest) -> bytes: ...

A function with a `queue` runs in one of the queue's threads. The function receives the
served runs and, if the route has fields, the fields of the request. A function without a
queue is a coroutine that receives the whole request. Both kinds of function return the
response or its content. web/generate.py exports return types that are TypedDicts to the
page.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from starlette.responses import Response
from starlette.routing import Route

from runfold._serve.http.json_response import JsonResponse
from runfold._serve.http.request_fields import RequestFields, read_json, read_query

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    Function = TypeVar("Function", bound=Callable[..., Any])

# Methods of Source: quick work, work that can take seconds, and work in another process.
Queue = Literal["work", "compute", "query"]

_table: dict[str, list[Endpoint]] = {}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path.

    Attributes:
        request: fields of the query for GET, of the body for other methods.
        media_type: media type of a successful response; None if the type varies.
        summary: first line of the function's docstring.
    """

    method: str
    path: str
    request: type[RequestFields] | None
    media_type: str | None
    function: Callable[..., Any]
    handle: Callable[[Request], Awaitable[Response]]

    @property
    def summary(self) -> str:
        """One-line description."""
        return (self.function.__doc__ or "").partition("\n")[0]

    @property
    def route(self) -> Route:
        """The Starlette route."""
        return Route(self.path, self.handle, methods=[self.method])


def endpoint(
    address: str,
    request: type[RequestFields] | None = None,
    *,
    queue: Queue | None = None,
    response: type[Response] = JsonResponse,
) -> Callable[[Function], Function]:
    """Register a function for a method and path such as "GET /api/tags"; return it unchanged."""
    method, path = address.split()

    def add(function: Function) -> Function:
        async def handle(received: Request) -> Response:
            fields = [] if request is None else [await _read(received, request)]
            if queue is None:
                answer = await function(received, *fields)
            else:
                source = received.app.state.source
                answer = await getattr(source, queue)(function, source, *fields)
            return answer if isinstance(answer, Response) else response(answer)

        added = Endpoint(method, path, request, response.media_type, function, handle)
        _table.setdefault(function.__module__, []).append(added)
        return function

    return add


def endpoints_of(module: str) -> list[Endpoint]:
    """Import a module and return its endpoints."""
    import_module(module)
    return _table.get(module, [])


def list_endpoints() -> list[Endpoint]:
    """Return the endpoints of all modules imported so far."""
    return [endpoint for endpoints in _table.values() for endpoint in endpoints]


async def _read(received: Request, fields: type[RequestFields]) -> RequestFields:
    is_query = received.method in ("GET", "HEAD")
    return read_query(received, fields) if is_query else await read_json(received, fields)
