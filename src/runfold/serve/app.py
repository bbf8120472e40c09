"""The server's parts put together: routes, errors, checks and limits around the runs."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from starlette.applications import Starlette

from runfold.serve.errors import HANDLERS

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from runfold.serve.source import Source

# Each has ROUTES.
MODULES = (
    *("status", "table", "curves", "folds", "comparing", "querying", "importance"),
    *("blobs", "images", "sounds", "texts", "histograms", "extras"),
    *("story", "problems", "views", "stream"),
)


def gather_routes() -> list[BaseRoute]:
    """The routes of every module that serves something."""
    routes: list[BaseRoute] = []
    for name in MODULES:
        if find_spec(f"runfold.serve.{name}"):
            routes += import_module(f"runfold.serve.{name}").ROUTES
    return routes


def make_app(source: Source) -> Starlette:
    """The application that serves these runs; `app.state.source` is the source."""
    app = Starlette(routes=gather_routes(), exception_handlers=HANDLERS)  # type: ignore[arg-type]
    app.state.source = source
    return app
