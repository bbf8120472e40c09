"""The server's parts put together: routes, errors, checks and limits around the runs."""

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

# Modules with what a page asks for as it opens, and with the routes outside of the API.
FIRST = (
    *("http.security", "static_files", "api.server_status", "api.tag_list", "api.run_rows"),
    *("api.curves", "api.marks", "api.problem_list", "api.saved_views", "live_stream"),
    *("tensorboards.instance_api", "tensorboards.proxy_pages"),
)
# Those with an endpoint that are not in serve/api.
_ELSEWHERE = ("openapi", "charts.grouping", "report.report_file")


def find_later() -> tuple[str, ...]:
    """The other modules with endpoints: every one in serve/api, found by listing the folder.

    They bring along all that folds, compares and decodes, which takes as long to
    import as everything else, so they are imported for the first request that needs one.
    """
    listed = (f"api.{module.name}" for module in iter_modules(api.__path__))
    return (*_ELSEWHERE, *(name for name in listed if name not in FIRST))


def gather_routes(modules: Iterable[str] | None = None) -> list[BaseRoute]:
    """The routes of modules, by default of every one that has any."""
    routes: list[BaseRoute] = []
    for name in (*FIRST, *find_later()) if modules is None else modules:
        module = f"runfold._serve.{name}"
        routes += [one.route for one in endpoints_of(module)]
        routes += getattr(import_module(module), "ROUTES", ())
    return routes


class App(Starlette):
    """The application; its state has the source, the access and the limits."""

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
        self.router.redirect_slashes = False  # a redirect would go where the Host header says
        self.router.default = self._answer_later
        self.state.source = source
        self.state.access = access
        self.state.limits = limits
        self.state.poll = poll
        self.state.boards = boards
        self.state.hub = Hub(limits.streams)

    def build_middleware_stack(self) -> ASGIApp:
        """The layers around the routes: the guard outside of all, also of what makes errors."""
        self._limiter = Limiter(super().build_middleware_stack(), self.state.limits)
        return Guard(self._limiter, self.state.access)

    async def _answer_later(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer what none of the first routes does, with all routes from now on."""
        routes = await asyncio.to_thread(gather_routes, find_later())
        if self.router.default == self._answer_later:  # another request may have come first
            self.router.routes += routes
            self.router.default = self.router.not_found
        await self.router(scope, receive, send)

    def end_streams(self) -> None:
        """Let all streams end, as the server does before it stops."""
        if self.middleware_stack is not None:
            self._limiter.end_streams()


def make_app(
    source: Source,
    access: Access | None = None,
    limits: Limits | None = None,
    poll: float | None = None,
    boards: InstanceRegistry | None = None,
) -> App:
    """The application that serves these runs to those who may have them.

    While it runs, files are followed: with `poll` they are looked at every so many
    seconds, by default only where the system does not tell of changes. With `boards`
    it has TensorBoard instances too.
    """
    return App(source, access or Access(), limits or Limits(), poll, boards)


@asynccontextmanager
async def _following(app: App) -> AsyncIterator[None]:
    source: Source = app.state.source
    boards: InstanceRegistry | None = app.state.boards

    def tell(generation: int) -> None:
        app.state.hub.announce("tensorboards", {"generation": generation})

    try:
        async with (
            following(source, app.state.hub, app.state.poll),
            boards.keeping(tell) if boards is not None else nullcontext(),
        ):
            yield
    finally:
        source.close()
