"""Sound: which clips there are of a tag; their bytes are asked for one by one."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from runfold._serve.charts.stored_values import StoredEntry, TagRequest, describe_entry, find_stored
from runfold._serve.http.endpoint import endpoint
from runfold._tables.frames.decoded_values import find_clips
from runfold._tables.frames.value_rows import read_each_run

if TYPE_CHECKING:
    from runfold._serve.run_source import Source

MOST = 5000
# A label is for reading; a log may put anything there.
_LONGEST_LABEL = 10_000


class Clip(StoredEntry, TypedDict):
    """What is known of a clip without decoding it; null for what the log does not say."""

    sampleRate: float | None
    channels: int | None
    lengthFrames: int | None
    contentType: str
    label: str


class AudioResponse(TypedDict):
    """Clips, and how many more there are."""

    clips: list[Clip]
    leftOut: int


@endpoint("GET /api/audio", TagRequest, queue="work")
def list_clips(source: Source, wanted: TagRequest) -> AudioResponse:
    """The clips of a tag, in the order of runs and steps, without their bytes.

    No clip is decoded. Raises UnknownRun and UnknownTag.
    """
    found = find_stored(source, "audio", wanted, MOST)
    clips: list[Clip] = [
        {
            **describe_entry(place, wanted.tag, index),
            "sampleRate": clip.sample_rate,
            "channels": clip.channels,
            "lengthFrames": clip.length_frames,
            "contentType": clip.content_type[:_LONGEST_LABEL],
            "label": clip.label[:_LONGEST_LABEL],
        }
        for place, index, clip in read_each_run(found.selected, find_clips)
    ]
    return {"clips": clips, "leftOut": found.left_out}
