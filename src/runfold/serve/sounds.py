"""Sound: which clips there are of a tag; their bytes are asked for one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route

from runfold.serve.answer import JsonResponse
from runfold.serve.request import read_query
from runfold.serve.stored import Wanted, find_stored, name_value
from runfold.tables.values import find_clips

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from runfold.serve.source import Source

MOST = 5000
# A label is for reading; a log may put anything there.
_LONGEST_LABEL = 10_000


async def sounds(request: Request) -> Response:
    """The clips of a tag, in the order of runs and steps, without their bytes."""
    source: Source = request.app.state.source
    return JsonResponse(await source.work(list_clips, source, read_query(request, Wanted)))


def list_clips(source: Source, wanted: Wanted) -> dict[str, Any]:
    """What is known of each clip without decoding it. Raises UnknownRun and UnknownTag."""
    found = find_stored(source, "audio", wanted, MOST)
    clips = [
        {
            "run": place.log.name,
            "tag": wanted.tag,
            "step": int(place.item["step"]),
            "wallTime": float(place.item["wall_time"]),
            "index": index,
            "sampleRate": clip.sample_rate,
            "channels": clip.channels,
            "lengthFrames": clip.length_frames,
            "contentType": clip.content_type[:_LONGEST_LABEL],
            "label": clip.label[:_LONGEST_LABEL],
            "blob": name_value(place),
        }
        for place, index, clip in find_clips(found.selected)
    ]
    return {"clips": clips, "leftOut": found.left_out}


ROUTES = [Route("/api/audio", sounds)]
