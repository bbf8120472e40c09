"""Lists of a tag's images and their boxes. Each image's bytes are requested separately."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, cast

import numpy as np

from runfold._conventions import BOXES_PREFIX
from runfold._events.kinds import boxes
from runfold._events.kinds.image import MAX_PIXELS
from runfold._serve.charts.stored_values import (
    StoredEntry,
    TagRequest,
    describe_entry,
    find_stored,
    name_value,
)
from runfold._serve.http.endpoint import endpoint
from runfold._tables.frames.decoded_values import find_images
from runfold._tables.frames.value_rows import decode_rows, fetched, read_each_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from runfold._logdir.payloads import Payloads
    from runfold._logdir.run_log import RunLog
    from runfold._serve.run_source import Source

MOST = 5000
# Limit for one value: the mask of a large image can take millions of numbers.
MOST_BOX_CHARACTERS = 1 << 20


class Mask(TypedDict):
    """The mask of one box, run-length encoded."""

    size: tuple[int, int]
    counts: list[int]


class DrawnBoxes(TypedDict):
    """Boxes as `x1, y1, x2, y2` in pixels. All lists have one entry per box.

    `blob` is the image without boxes. `isCut` is true if masks or boxes were left out.
    """

    width: int
    height: int
    boxes: list[tuple[float, float, float, float]]
    colors: list[str]
    labels: NotRequired[list[str]]
    scores: NotRequired[list[float | None]]
    masks: NotRequired[list[Mask]]
    blob: str
    isCut: NotRequired[bool]


class Picture(StoredEntry, TypedDict):
    """Properties of an image that are known without decoding it."""

    width: int
    height: int
    problem: NotRequired[str]
    boxes: NotRequired[DrawnBoxes]


class ImagesResponse(TypedDict):
    """Images, and the number of images left out."""

    images: list[Picture]
    leftOut: int


@endpoint("GET /api/images", TagRequest, queue="work")
def list_images(source: Source, request: TagRequest) -> ImagesResponse:
    """List the images of a tag, by run and step, without their bytes.

    Images are not decoded. Raises UnknownRun and UnknownTag.
    """
    found = find_stored(source, "image", request, MOST)
    return {"images": read_each_run(found.selected, _describe), "leftOut": found.left_out}


def _describe(selected: list[tuple[RunLog, Payloads]]) -> Iterator[Picture]:
    for log, payloads in selected:
        drawn = list_boxes(log, payloads)
        for place, index, image in find_images([(log, payloads)]):
            size = {"width": image.width, "height": image.height}
            entry = cast("Picture", describe_entry(place, payloads.tag, index) | size)
            if image.width * image.height > MAX_PIXELS:
                entry["problem"] = (
                    f"This image is too large to show: {image.width:,} x {image.height:,} pixels."
                )
            if index == 0 and place.record in drawn:
                entry["boxes"] = drawn[place.record]
            yield entry


def list_boxes(log: RunLog, images: Payloads) -> dict[tuple[str, int], DrawnBoxes]:
    """Return the boxes of images, keyed by the event that contains both.

    `blob` names the image without boxes. `isCut` is true if masks, or all boxes, were left
    out because they are too large to send.
    """
    payloads = log.payloads.get(("boxes", BOXES_PREFIX + images.tag))
    if payloads is None:
        return {}
    payloads = payloads.readable()
    selected = payloads.only(np.isin(payloads.items["record"], images.items["record"]))
    drawn = {}
    for place, data in fetched([(log, selected)]):
        for row in decode_rows([(place, data)], boxes.decode):
            described = describe_boxes(row.value) | {"blob": name_value(place)}
            drawn[place.record] = cast("DrawnBoxes", described)
    return drawn


def describe_boxes(drawn: boxes.Boxes) -> dict[str, Any]:
    """Return boxes as stored. If they are too large to send, cut them and set `isCut`."""
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
