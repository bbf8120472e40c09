"""The application: routes, error handlers, access checks and limits around the served runs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, nullcontext
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from runfold._serve import api
from runfold._serve.http.access import Access
from runfold._serve.http.endpoint import endpoints_of
from runfold._serve.http.error_responses import HANDLERS
from runfold._serve.http.limits import Limiter, Limits
from runfold._serve.http.security import Guard
from runfold._serve.live_stream import Hub
from runfold._serve.watch import following

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

    from runfold._serve.run_source import Source
    from runfold._serve.tensorboards.registry import InstanceRegistry

# Modules with the routes that a page needs when it opens, and modules with routes outside the API.
FIRST = (
    *("http.security", "static_files", "api.server_status", "api.tag_list", "api.run_rows"),
    *("api.curves", "api.marks", "api.problem_list", "api.saved_views", "live_stream"),
    *("tensorboards.instance_api", "tensorboards.proxy_pages"),
)
# Modules outside _serve/api that define endpoints.
_ELSEWHERE = ("openapi", "charts.grouping", "report.report_file")


def find_later() -> tuple[str, ...]:
    """Return the other modules with endpoints, including every module in _serve/api.

    These modules import folding, comparison and decoding code, which takes as long as
    importing everything else. The first request that needs these modules therefore
    imports them.
    """
    listed = (f"api.{module.name}" for module in iter_modules(api.__path__))
    return (*_ELSEWHERE, *(name for name in listed if name not in FIRST))


def gather_routes(modules: Iterable[str] | None = None) -> list[BaseRoute]:
    """Return the routes of these modules; by default, of all modules."""
    routes: list[BaseRoute] = []
    for name in (*FIRST, *find_later()) if modules is None else modules:
        module = f"runfold._serve.{name}"
        routes += [endpoint.route for endpoint in endpoints_of(module)]
        routes += getattr(import_module(module), "ROUTES", ())
    return routes


class App(Starlette):
    """The application; its state contains the source, access, limits and live-stream hub."""

    def __init__(
        self,
        source: Source,
        access: Access,
        limits: Limits,
        poll: float | None,
        boards: InstanceRegistry | None,
    ) -> None:
        super().__init__(
            routes=gather_routes(FIRST),
            exception_handlers=HANDLERS,  # type: ignore[arg-type]
            lifespan=_following,
        )
        self.router.redirect_slashes = False  # a redirect would trust the Host header
        self.router.default = self._answer_later
        self.state.source = source
        self.state.access = access
        self.state.limits = limits
        self.state.poll = poll
        self.state.boards = boards
        self.state.hub = Hub(limits.streams)

    def build_middleware_stack(self) -> ASGIApp:
        """Return the middleware; the guard is outermost, so it also covers error responses."""
        self._limiter = Limiter(super().build_middleware_stack(), self.state.limits)
        return Guard(self._limiter, self.state.access)

    async def _answer_later(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Import the remaining routes, then handle the request that needed them."""
        routes = await asyncio.to_thread(gather_routes, find_later())
        if self.router.default == self._answer_later:  # a concurrent request may have added them
            self.router.routes += routes
            self.router.default = self.router.not_found
        await self.router(scope, receive, send)

    def end_streams(self) -> None:
        """End all streams. The server calls this before it shuts down."""
        if self.middleware_stack is not None:
            self._limiter.end_streams()


def make_app(
    source: Source,
    access: Access | None = None,
    limits: Limits | None = None,
    poll: float | None = None,
    boards: InstanceRegistry | None = None,
) -> App:
    """Return the application that serves these runs.

    The application watches the runs' files. With `poll`, it checks them every `poll`
    seconds; by default it polls only if the system cannot report changes. With
    `boards`, it also serves TensorBoard instances.
    """
    return App(source, access or Access(), limits or Limits(), poll, boards)


@asynccontextmanager
async def _following(app: App) -> AsyncIterator[None]:
    source: Source = app.state.source
    boards: InstanceRegistry | None = app.state.boards

    def announce(generation: int) -> None:
        app.state.hub.announce("tensorboards", {"generation": generation})

    try:
        async with (
            following(source, app.state.hub, app.state.poll),
            boards.supervising(announce) if boards is not None else nullcontext(),
        ):
            yield
    finally:
        source.close()
