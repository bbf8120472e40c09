"""The table of endpoints: what each route is called, takes, and answers, said once by a decorator.

    @endpoint("POST /api/fold", FoldRequest, queue="compute", response=ArrowResponse)
    def make_folds(source: Source, asked: FoldRequest) -> bytes: ...

A function with a `queue` runs in a thread of it, with the served runs and, where the
route takes any, the fields of the request. Without one it is a coroutine over the whole
request. What either returns is the content of the response, or a response. A return type
that is a TypedDict is known to the page, by web/generate.py.
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

# Methods of Source: quick work, what may take seconds, and what takes a process.
Queue = Literal["work", "compute", "query"]

_table: dict[str, list[Endpoint]] = {}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One method of one path.

    Attributes:
        request: the fields of the query of a GET, or of the body of another method.
        media_type: of a response that is not an error; None where it depends.
        summary: the first line of what the function says of itself.
    """

    method: str
    path: str
    request: type[RequestFields] | None
    media_type: str | None
    function: Callable[..., Any]
    handle: Callable[[Request], Awaitable[Response]]

    @property
    def summary(self) -> str:
        """What it answers, in a line."""
        return (self.function.__doc__ or "").partition("\n")[0]

    @property
    def route(self) -> Route:
        """The route of the application."""
        return Route(self.path, self.handle, methods=[self.method])


def endpoint(
    address: str,
    request: type[RequestFields] | None = None,
    *,
    queue: Queue | None = None,
    response: type[Response] = JsonResponse,
) -> Callable[[Function], Function]:
    """Add a function to the table, for an address such as "GET /api/tags"; it stays as it is."""
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

        made = Endpoint(method, path, request, response.media_type, function, handle)
        _table.setdefault(function.__module__, []).append(made)
        return function

    return add


def endpoints_of(module: str) -> list[Endpoint]:
    """The endpoints that a module adds to the table, imported for it."""
    import_module(module)
    return _table.get(module, [])


def list_endpoints() -> list[Endpoint]:
    """The endpoints of every module that was imported so far."""
    return [one for added in _table.values() for one in added]


async def _read(received: Request, fields: type[RequestFields]) -> RequestFields:
    is_query = received.method in ("GET", "HEAD")
    return read_query(received, fields) if is_query else await read_json(received, fields)
