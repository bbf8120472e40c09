"""A view as one HTML file that contains its data and needs no server."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from starlette.responses import Response

from runfold._humanize import human_count
from runfold._serve.api.server_status import list_totals
from runfold._serve.api.tag_list import list_tags
from runfold._serve.http.arrow_response import ArrowResponse, encode_table
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import BadRequest, error_response
from runfold._serve.http.request_fields import RequestFields
from runfold._serve.page_vocabulary import TABLE_STATISTICS
from runfold._serve.report.page_view import read_view
from runfold._serve.report.recorded_answers import Recording
from runfold._serve.report.standalone_page import NoPage, make_file
from runfold._serve.report.view_requests import ViewRecorder, record_view
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    import pyarrow as pa
    from starlette.applications import Starlette
    from starlette.requests import Request

    from runfold._serve.report.page_view import View
    from runfold._serve.run_source import Source

STATS = [("stat", stat) for stat in TABLE_STATISTICS]
_JSON = "application/json"


class NothingChosen(RunfoldError, ValueError):
    """The view contains no runs, so there is nothing to report."""


class ReportRequest(RequestFields):
    """The view to report, as the part of its URL after the question mark."""

    view: Annotated[str, Meta(max_length=1_000_000)] = ""


@endpoint("POST /api/report", ReportRequest, response=Response)
async def report(request: Request, fields: ReportRequest) -> Response:
    """Return the view as an HTML file to save."""
    try:
        data = await make_report(request.app, read_view(fields.view))
    except NoPage as error:
        return error_response(str(error), 503)
    headers = {"Content-Disposition": 'attachment; filename="report.html"'}
    return Response(data, media_type="text/html; charset=utf-8", headers=headers)


async def make_report(app: Starlette, view: View) -> bytes:
    """Return the report: the page with the data of the view and its runs.

    The report contains no other runs. Raises NothingChosen, NoPage, TooLarge, any error in the
    view's condition, and BadRequest for TensorBoards, which need a server.
    """
    if view.tab == "boards":
        raise BadRequest("A report cannot show TensorBoards. Choose another view.")
    source: Source = app.state.source
    recording = Recording(app)
    table = await _choose(recording, view)
    runs = table["run"].to_pylist()
    tags = await source.work(list_tags, source, runs)
    names = {entry["tag"] for known in tags["kinds"].values() for entry in known}
    matching_tags = await source.work(view.find_tags, names)
    recorder = ViewRecorder(recording, view, runs, table.schema, tags["kinds"], matching_tags)
    await record_view(recorder)
    status = json.loads((await recording.fetch("/api/status"))[1])
    kinds = {
        kind: len(known) + tags["leftOut"].get(kind, 0) for kind, known in tags["kinds"].items()
    }
    for kind, count in tags["leftOut"].items():
        verb = "is" if count == 1 else "are"
        more = human_count(count, f"more {kind} tag")
        recorder.notes.append(f"{more} {verb} not in this report.")
    plugins = await source.work(list_totals, source, runs)
    status |= {"runs": len(runs), "isLive": False, "kinds": kinds, "plugins": plugins}
    await recording.keep("/api/table", STATS, ArrowResponse.media_type, encode_table(table))
    for path, answer in (
        ("/api/status", status),
        ("/api/tags", tags),
        ("/api/views", {"views": [], "queries": [], "revision": None}),
    ):
        await recording.keep(path, (), _JSON, json.dumps(answer).encode())
    recorded = {
        "time": time.time(),
        "view": view.write(),
        "smooth": view.smooth,
        "tabs": list(dict.fromkeys(("runs", view.tab))),
        "notes": recorder.notes,
        "answers": recording.list(),
    }
    return await source.work(make_file, f"{status['title']} - a Runfold report", recorded)


async def _choose(recording: Recording, view: View) -> pa.Table:
    """Return the rows of the view's runs, without columns that are empty for them."""
    import pyarrow as pa

    _, data = await recording.fetch("/api/table", STATS)
    table = pa.ipc.open_stream(data).read_all()
    names: list[str] = table["run"].to_pylist()
    chosen = await _find_shown(recording, view, names)
    if not chosen:
        shown = f"none of the {len(names)} runs" if len(names) > 1 else "no runs"
        raise NothingChosen(f"The view shows {shown}, so there is nothing to report.")
    table = table.filter(pa.array([name in chosen for name in names]))
    is_fixed = [(field.metadata or {}).get(b"kind") == b"fixed" for field in table.schema]
    return table.select(
        [
            name
            for name, fixed in zip(table.schema.names, is_fixed, strict=True)
            if fixed or table[name].null_count < len(table)
        ]
    )


async def _find_shown(recording: Recording, view: View, names: list[str]) -> set[str]:
    kept: list[str] = names
    if view.where:
        _, data = await recording.fetch("/api/where", {"condition": view.where})
        kept = json.loads(data)["runs"]
    search = view.search.lower()
    listed = [name for name in kept if search in name.lower()]
    if view.tab == "run":
        return {view.run or next(iter(listed), ""), view.other} & set(names)
    return set(listed) - set(view.off) if view.on is None else set(listed) & set(view.on)
