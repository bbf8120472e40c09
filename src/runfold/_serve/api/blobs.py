"""The bytes of one picture or clip, under a type that is found in them and nowhere else."""

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
    """One of the pictures or clips in a value, by the value's name in a list."""

    kind: BlobKind
    run: Text
    tag: Text
    row: Annotated[str, Meta(min_length=1, max_length=100)]
    index: Annotated[int, Meta(ge=0, le=1 << 31)] = 0


@endpoint("GET /api/blob", BlobRequest, response=Response)
async def blob(request: Request, asked: BlobRequest) -> Response:
    """A picture or a clip; as a file to be saved where it is none that a browser may open."""
    source: Source = request.app.state.source
    data = await source.work(read_blob, source, asked)
    kind = sniff(data)
    # What a browser may not open it saves, wherever it was led here from.
    headers = {"Content-Disposition": "attachment"} if kind == ANY else {}
    return Response(data, media_type=kind, headers=headers)


def read_blob(source: Source, asked: BlobRequest) -> bytes:
    """The bytes as they are stored; of kind `boxes`, the picture without its drawings.

    Raises NotFound, and TooLarge before anything is read.
    """
    (log,) = source.logs_with(asked.tag, "audio" if asked.kind == "audio" else "image", [asked.run])
    tag = BOXES_PREFIX + asked.tag if asked.kind == "boxes" else asked.tag
    payloads = log.payloads.get((asked.kind, tag))
    if payloads is None:
        raise NotFound("No boxes were logged with these pictures.")
    value = find_value(payloads, asked.row)
    length = int(value.items["length"][0])
    if length > LARGEST:
        raise TooLarge(
            f"The value has {human_bytes(length)}; at most {human_bytes(LARGEST)} are sent. "
            "`runfold show -o` saves it."
        )
    rows = list(ROWS[asked.kind]([(log, value)]))
    if asked.kind == "boxes":
        found = [row.value[1] for row in rows if row.value[1] is not None]
    else:
        found = [row.value[1] for row in rows]
    if asked.index >= len(found):
        raise NotFound(f"The value has no number {asked.index}.")
    data: bytes = found[asked.index].data
    return data
