"""Views and queries that a person saved, kept in their state folder for each set of paths."""

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

# Two windows of one server may save at once.
_lock = threading.Lock()


class SavedView(RequestFields):
    """What the page shows, by the part of its address that says so."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    # It names the runs that are off, which may be thousands.
    view: Annotated[str, Meta(max_length=LARGEST)]


class SavedQuery(RequestFields):
    """A query in SQL."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]
    query: Annotated[str, Meta(max_length=100_000)]


class ViewsRequest(RequestFields):
    """All that was saved; `revision` is that of what the sender had seen of it before."""

    views: Annotated[tuple[SavedView, ...], Meta(max_length=1000)] = ()
    queries: Annotated[tuple[SavedQuery, ...], Meta(max_length=1000)] = ()
    revision: Text | None = None


class ViewsResponse(TypedDict):
    """All that was saved, and its revision; null in a report, where nothing can be saved."""

    views: list[SavedView]
    queries: list[SavedQuery]
    revision: str | None


class CannotSave(RunfoldError, OSError):
    """The state folder cannot be written to; what was saved before is as it was."""


class SavedElsewhere(RunfoldError):
    """Another window saved something that the sender has not seen, as of `revision`."""

    def __init__(self, revision: object) -> None:
        super().__init__(
            "Another window has saved something since; nothing was changed. Load again."
        )
        self.revision = revision


@endpoint("GET /api/views", queue="work")
def list_views(source: Source) -> ViewsResponse:
    """What was saved for the paths that are served."""
    return load_views(place_for(source.paths))


@endpoint("PUT /api/views", ViewsRequest)
async def save(request: Request, asked: ViewsRequest) -> ViewsResponse | Response:
    """Save in place of all that was saved; gives what there is then."""
    source: Source = request.app.state.source
    try:
        return await source.work(save_views, place_for(source.paths), asked)
    except SavedElsewhere as error:
        return error_response(str(error), 400, revision=error.revision)


def place_for(paths: Iterable[str]) -> str:
    """The file for a set of paths, whatever their order; it need not be there."""
    whole = sorted(
        {path if is_url(path) else os.path.realpath(os.path.expanduser(path)) for path in paths}
    )
    key = sha256("\0".join(whole).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return state_folder("views", f"{key}.json")


def load_views(place: str) -> ViewsResponse:
    """What a file holds, and its revision; nothing where it is not there or no such file."""
    try:
        content = json.loads(read_small(place, 4 * LARGEST))
        saved = ViewsRequest(
            tuple(SavedView(str(one["name"]), str(one["view"])) for one in content["views"]),
            tuple(SavedQuery(str(one["name"]), str(one["query"])) for one in content["queries"]),
        )
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        saved = ViewsRequest()
    return _describe(saved)


def save_views(place: str, given: ViewsRequest) -> ViewsResponse:
    """Put views into a file, whole or not at all, for its owner only.

    Raises SavedElsewhere if the sender tells of a revision that is not the last,
    TooLarge, and CannotSave.
    """
    described = _describe(given)
    text = json.dumps({"views": described["views"], "queries": described["queries"]})
    if len(text) > LARGEST:
        raise TooLarge(
            f"The saved views and queries would take {human_bytes(len(text))}; at most "
            f"{human_bytes(LARGEST)} are kept. Delete some; nothing was changed."
        )
    with _lock:
        last = load_views(place)["revision"]
        if given.revision not in (None, last):
            raise SavedElsewhere(last)
        try:
            make_private(os.path.dirname(place))
            write_private(place, text, is_synced=True)
        except OSError as error:
            raise CannotSave(
                f"{escape(place)} cannot be written: {error.strerror}. Nothing was saved. Set "
                "XDG_STATE_HOME to a folder that can be written to."
            ) from None
    return described


def _describe(saved: ViewsRequest) -> ViewsResponse:
    entries: dict[str, Any] = {
        "views": [msgspec.structs.asdict(one) for one in saved.views],
        "queries": [msgspec.structs.asdict(one) for one in saved.queries],
    }
    revision = sha256(json.dumps(entries).encode()).hexdigest()[:16]
    return {"views": entries["views"], "queries": entries["queries"], "revision": revision}
