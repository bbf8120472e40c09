"""The bytes of one image or audio clip, with a media type derived only from the bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta
from starlette.responses import Response

from runfold._conventions import BOXES_PREFIX
from runfold._humanize import human_bytes
from runfold._serve.charts.stored_values import find_value
from runfold._serve.http.content_type import ANY, sniff
from runfold._serve.http.endpoint import endpoint
from runfold._serve.http.error_responses import NotFound, TooLarge
from runfold._serve.http.request_fields import RequestFields, Text
from runfold._serve.page_vocabulary import BlobKind
from runfold._tables.frames.decoded_values import ROWS

if TYPE_CHECKING:
    from starlette.requests import Request

    from runfold._serve.run_source import Source

LARGEST = 128 << 20


class BlobRequest(RequestFields):
    """One image or clip in a stored value; `row` is the value's name in the list of values."""

    kind: BlobKind
    run: Text
    tag: Text
    row: Annotated[str, Meta(min_length=1, max_length=100)]
    index: Annotated[int, Meta(ge=0, le=1 << 31)] = 0


@endpoint("GET /api/blob", BlobRequest, response=Response)
async def blob(request: Request, fields: BlobRequest) -> Response:
    """Return an image or audio clip, as an attachment if browsers should not open it."""
    source: Source = request.app.state.source
    data = await source.work(read_blob, source, fields)
    kind = sniff(data)
    # Browsers save an attachment rather than open it, even if they follow a link to it.
    headers = {"Content-Disposition": "attachment"} if kind == ANY else {}
    return Response(data, media_type=kind, headers=headers)


def read_blob(source: Source, request: BlobRequest) -> bytes:
    """Return the stored bytes; for kind `boxes`, the bytes of the image without boxes.

    Raises NotFound, or TooLarge before reading anything.
    """
    (log,) = source.logs_with(
        request.tag, "audio" if request.kind == "audio" else "image", [request.run]
    )
    tag = BOXES_PREFIX + request.tag if request.kind == "boxes" else request.tag
    payloads = log.payloads.get((request.kind, tag))
    if payloads is None:
        raise NotFound("No boxes were logged with these images.")
    value = find_value(payloads, request.row)
    length = int(value.items["length"][0])
    if length > LARGEST:
        raise TooLarge(
            f"The value is {human_bytes(length)}; at most {human_bytes(LARGEST)} can be sent. "
            "Save it with `runfold show -o`."
        )
    rows = list(ROWS[request.kind]([(log, value)]))
    if request.kind == "boxes":
        items = [row.value[1] for row in rows if row.value[1] is not None]
    else:
        items = [row.value[1] for row in rows]
    if request.index >= len(items):
        raise NotFound(f"The value has no item {request.index}.")
    data: bytes = items[request.index].data
    return data
