"""The server's parts put together: routes, errors, checks and limits around the runs."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, nullcontext
from importlib import import_module
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from runfold.serve.access import Access
from runfold.serve.errors import HANDLERS
from runfold.serve.limits import Limiter, Limits
from runfold.serve.security import Guard
from runfold.serve.stream import Hub
from runfold.serve.watch import following

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from starlette.routing import BaseRoute
    from starlette.types import ASGIApp, Receive, Scope, Send

    from runfold.serve.source import Source
    from runfold.serve.tensorboards.boards import Boards

# Each has ROUTES. What a page asks for as it opens comes first; the others, which
# bring along all that folds, compares and decodes, take as long to import as all else.
FIRST = (
    *("security", "static", "status", "tags", "table", "curves", "marks", "problems", "views"),
    *("stream", "tensorboards.api", "tensorboards.pages"),
)
LATER = (
    *("openapi", "grouping", "folds", "comparing", "querying", "importance"),
    *("blobs", "images", "sounds", "texts", "histograms", "extras"),
    *("story", "report", "control"),
)


def gather_routes(modules: Iterable[str] = (*FIRST, *LATER)) -> list[BaseRoute]:
    """The routes of modules, by default of every one that serves something."""
    routes: list[BaseRoute] = []
    for name in modules:
        routes += import_module(f"runfold.serve.{name}").ROUTES
    return routes


class App(Starlette):
    """The application; its state has the source, the access and the limits."""

    def __init__(
        self,
        source: Source,
        access: Access,
        limits: Limits,
        poll: float | None,
        boards: Boards | None,
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
        routes = await asyncio.to_thread(gather_routes, LATER)
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
    boards: Boards | None = None,
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
    boards: Boards | None = app.state.boards

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
