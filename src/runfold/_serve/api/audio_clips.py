"""Lists of a tag's audio clips. Each clip's bytes are requested separately."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from runfold._serve.charts.stored_values import StoredEntry, TagRequest, describe_entry, find_stored
from runfold._serve.http.endpoint import endpoint
from runfold._tables.frames.decoded_values import find_clips
from runfold._tables.frames.value_rows import read_each_run

if TYPE_CHECKING:
    from runfold._serve.run_source import Source

MOST = 5000
# Labels are normally short, but a log can contain anything.
_LONGEST_LABEL = 10_000


class Clip(StoredEntry, TypedDict):
    """Properties of a clip that are known without decoding it; null if the log lacks them."""

    sampleRate: float | None
    channels: int | None
    lengthFrames: int | None
    contentType: str
    label: str


class AudioResponse(TypedDict):
    """Clips, and the number of clips left out."""

    clips: list[Clip]
    leftOut: int


@endpoint("GET /api/audio", TagRequest, queue="work")
def list_clips(source: Source, request: TagRequest) -> AudioResponse:
    """List the audio clips of a tag, by run and step, without their bytes.

    Clips are not decoded. Raises UnknownRun and UnknownTag.
    """
    found = find_stored(source, "audio", request, MOST)
    clips: list[Clip] = [
        {
            **describe_entry(place, request.tag, index),
            "sampleRate": clip.sample_rate,
            "channels": clip.channels,
            "lengthFrames": clip.length_frames,
            "contentType": clip.content_type[:_LONGEST_LABEL],
            "label": clip.label[:_LONGEST_LABEL],
        }
        for place, index, clip in read_each_run(found.selected, find_clips)
    ]
    return {"clips": clips, "leftOut": found.left_out}
