"""Pictures: what there is of a tag, and the boxes on them; their bytes are asked for one by one."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from starlette.routing import Route

from runfold.events.kinds import boxes
from runfold.events.kinds.image import MAX_PIXELS
from runfold.serve.answer import JsonResponse
from runfold.serve.request import read_query
from runfold.serve.stored import Wanted, find_stored, name_value
from runfold.tables.rows import decode_rows, fetched
from runfold.tables.values import find_images

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.logdir.log import RunLog
    from runfold.logdir.payloads import Payloads
    from runfold.serve.source import Source

MOST = 5000
# Of one value: a mask of a large picture may take millions of numbers.
MOST_BOX_CHARACTERS = 1 << 20


async def images(request: Request) -> Response:
    """The pictures of a tag, in the order of runs and steps, without their bytes."""
    source: Source = request.app.state.source
    return JsonResponse(await source.work(list_images, source, read_query(request, Wanted)))


def list_images(source: Source, wanted: Wanted) -> dict[str, Any]:
    """What is known of each picture without decoding it. Raises UnknownRun and UnknownTag."""
    found = find_stored(source, "image", wanted, MOST)
    entries = []
    for log, payloads in found.selected:
        drawn = list_boxes(log, payloads)
        for place, index, one in find_images([(log, payloads)]):
            entry: dict[str, Any] = {
                "run": log.name,
                "tag": wanted.tag,
                "step": int(place.item["step"]),
                "wallTime": float(place.item["wall_time"]),
                "index": index,
                "width": one.width,
                "height": one.height,
                "blob": name_value(place),
            }
            if one.width * one.height > MAX_PIXELS:
                entry["problem"] = f"{one.width:,} x {one.height:,} pixels are too many to show."
            if index == 0 and place.record in drawn:
                entry["boxes"] = drawn[place.record]
            entries.append(entry)
    return {"images": entries, "leftOut": found.left_out}


def list_boxes(log: RunLog, images: Payloads) -> dict[tuple[str, int], dict[str, Any]]:
    """The boxes of some pictures by the event that holds both.

    `blob` names the picture without them; `isCut` says that masks, or all boxes,
    were too many to be sent.
    """
    payloads = log.payloads.get(("boxes", boxes.PREFIX + images.tag))
    if payloads is None:
        return {}
    payloads = payloads.readable()
    wanted = payloads.only(np.isin(payloads.items["record"], images.items["record"]))
    drawn = {}
    for place, data in fetched([(log, wanted)]):
        for row in decode_rows([(place, data)], boxes.decode):
            drawn[place.record] = describe_boxes(row.value) | {"blob": name_value(place)}
    return drawn


def describe_boxes(drawn: boxes.Boxes) -> dict[str, Any]:
    """Boxes as they are stored; without what is too much to send, and then with `isCut`."""
    nothing = replace(
        drawn, boxes=np.empty((0, 4)), colors=(), labels=None, scores=None, masks=None
    )
    forms = (drawn, replace(drawn, masks=None), nothing)
    texts = map(boxes.encode, forms)
    number, text = next(
        (number, text) for number, text in enumerate(texts) if len(text) <= MOST_BOX_CHARACTERS
    )
    described: dict[str, Any] = json.loads(text)
    return described | ({"isCut": True} if number else {})


ROUTES = [Route("/api/images", images)]
