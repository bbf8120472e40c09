"""Views and queries that a user saved, stored in the state folder per set of paths."""

from __future__ import annotations

import json
import os
import threading
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from runfold._files import read_small
from runfold._humanize import escape, human_bytes
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import TooLarge, error_response
from runfold._serve.http.request_fields import RequestFields, Text
from runfold._state import make_private, state_folder, write_private
from runfold._storage.url import is_url
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.requests import Request
    from starlette.responses import Response

    from runfold._serve.run_source import Source

LARGEST = 1 << 20

# Two browser windows can save at the same time.
_lock = threading.Lock()


class SavedView(RequestFields):
    """A view of the page, stored as the part of its URL that describes it."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    # A view names the deselected runs, possibly thousands.
    view: Annotated[str, Meta(max_length=LARGEST)]


class SavedQuery(RequestFields):
    """A SQL query."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    query: Annotated[str, Meta(max_length=100_000)]


class ViewsRequest(RequestFields):
    """All views and queries to save; `revision` is the one that the sender last loaded."""

    views: Annotated[tuple[SavedView, ...], Meta(max_length=1000)] = ()
    queries: Annotated[tuple[SavedQuery, ...], Meta(max_length=1000)] = ()
    revision: Text | None = None


class ViewsResponse(TypedDict):
    """All saved views and queries, and their revision, which is null in a report."""

    views: list[SavedView]
    queries: list[SavedQuery]
    revision: str | None


class CannotSave(RunfoldError, OSError):
    """The state folder is not writable; previously saved data is unchanged."""


class SavedElsewhere(RunfoldError):
    """Another window has saved since the sender loaded the views; `revision` is the current one."""

    def __init__(self, revision: object) -> None:
        super().__init__(
            "Another window has saved changes, so yours were not saved. Reload and try again."
        )
        self.revision = revision


@endpoint("GET /api/views", queue="work")
def list_views(source: Source) -> ViewsResponse:
    """Return the views and queries saved for the served paths."""
    return load_views(place_for(source.paths))


@endpoint("PUT /api/views", ViewsRequest)
async def save(request: Request, fields: ViewsRequest) -> ViewsResponse | Response:
    """Replace all saved views and queries, and return the new ones."""
    source: Source = request.app.state.source
    try:
        return await source.work(save_views, place_for(source.paths), fields)
    except SavedElsewhere as error:
        return error_response(str(error), 400, revision=error.revision)


def place_for(paths: Iterable[str]) -> str:
    """Return the path of the file for a set of paths, in any order. The file need not exist."""
    resolved = sorted(
        {path if is_url(path) else os.path.realpath(os.path.expanduser(path)) for path in paths}
    )
    key = sha256("\0".join(resolved).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return state_folder("views", f"{key}.json")


def load_views(path: str) -> ViewsResponse:
    """Return a file's content, empty if it is missing or invalid, and its revision."""
    try:
        content = json.loads(read_small(path, 4 * LARGEST))
        saved = ViewsRequest(
            tuple(SavedView(str(entry["name"]), str(entry["view"])) for entry in content["views"]),
            tuple(
                SavedQuery(str(entry["name"]), str(entry["query"])) for entry in content["queries"]
            ),
        )
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        saved = ViewsRequest()
    return _describe(saved)


def save_views(path: str, request: ViewsRequest) -> ViewsResponse:
    """Write views to a private file atomically.

    Raises SavedElsewhere if the request's revision is not the current one, TooLarge if
    the views are too large, and CannotSave if the file cannot be written.
    """
    described = _describe(request)
    text = json.dumps({"views": described["views"], "queries": described["queries"]})
    if len(text) > LARGEST:
        raise TooLarge(
            f"The saved views and queries would take up {human_bytes(len(text))}; the limit is "
            f"{human_bytes(LARGEST)}. Nothing was changed. Delete some and try again."
        )
    with _lock:
        last = load_views(path)["revision"]
        if request.revision not in (None, last):
            raise SavedElsewhere(last)
        try:
            make_private(os.path.dirname(path))
            write_private(path, text, is_synced=True)
        except OSError as error:
            raise CannotSave(
                f"Cannot write {escape(path)}: {error.strerror}. Nothing was saved. Set "
                "XDG_STATE_HOME to a writable folder."
            ) from None
    return described


def _describe(saved: ViewsRequest) -> ViewsResponse:
    entries: dict[str, Any] = {
        "views": [msgspec.structs.asdict(entry) for entry in saved.views],
        "queries": [msgspec.structs.asdict(entry) for entry in saved.queries],
    }
    revision = sha256(json.dumps(entries).encode()).hexdigest()[:16]
    return {"views": entries["views"], "queries": entries["queries"], "revision": revision}
