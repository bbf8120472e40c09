"""The bytes of one picture or clip, under a type that is found in them and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from starlette.responses import Response
from starlette.routing import Route

from runfold.events.kinds.boxes import PREFIX
from runfold.serve.errors import NotFound, TooLarge
from runfold.serve.request import Limit, read_query
from runfold.serve.sniff import ANY, sniff
from runfold.serve.stored import find_value
from runfold.tables.values import ROWS
from runfold.text import human_bytes

if TYPE_CHECKING:
    from starlette.requests import Request

    from runfold.serve.source import Source

LARGEST = 128 << 20


@dataclass(frozen=True)
class Blob:
    """One of the pictures or clips in a value, by the value's name in a list."""

    kind: Literal["image", "audio", "boxes"]
    run: str
    tag: str
    row: Annotated[str, Limit(1, 100)]
    index: Annotated[int, Limit(0, 1 << 31)] = 0


async def blob(request: Request) -> Response:
    """A picture or a clip; as a file to be saved where it is none that a browser may open."""
    source: Source = request.app.state.source
    data = await source.work(read_blob, source, read_query(request, Blob))
    kind = sniff(data)
    # What a browser may not open it saves, wherever it was led here from.
    headers = {"Content-Disposition": "attachment"} if kind == ANY else {}
    return Response(data, media_type=kind, headers=headers)


def read_blob(source: Source, asked: Blob) -> bytes:
    """The bytes as they are stored; of kind `boxes`, the picture without its drawings.

    Raises NotFound, and TooLarge before anything is read.
    """
    (log,) = source.logs_with(asked.tag, "audio" if asked.kind == "audio" else "image", [asked.run])
    tag = PREFIX + asked.tag if asked.kind == "boxes" else asked.tag
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


ROUTES = [Route("/api/blob", blob)]
