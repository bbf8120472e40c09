"""The events that runs marked, for the lines that charts have there."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from runfold._serve.http.endpoint import endpoint
from runfold._serve.page_vocabulary import JsonNumber

if TYPE_CHECKING:
    from runfold._serve.run_source import Source

MOST = 10_000
LONGEST = 500


class Mark(TypedDict):
    """An event that a run marked, with its place on every axis."""

    run: str
    step: JsonNumber
    wallTime: float
    relative: float
    text: str


class MarksResponse(TypedDict):
    """Marks, and how many more there are."""

    marks: list[Mark]
    leftOut: int


@endpoint("GET /api/marks", queue="work")
def list_marks(source: Source) -> MarksResponse:
    """The events that runs marked, in the order of runs and files.

    Each has its place on every axis; of very many the first are listed. `relative` is
    in seconds since the run's first event, as in the curves.
    """
    # Not before it is asked for: it brings along all that a tracked run tells.
    from runfold._tables.by_run.run_story import read_marks
    from runfold._tables.frames.value_rows import noting_changes

    found: list[Mark] = []
    for log in source.logs():
        with noting_changes(log):
            found += [
                {
                    "run": log.name,
                    "step": mark.step,
                    "wallTime": mark.wall_time,
                    "relative": mark.wall_time - log.wall_time_range[0],
                    "text": mark.text[:LONGEST],
                }
                for mark in read_marks(log)
            ]
    return {"marks": found[:MOST], "leftOut": max(0, len(found) - MOST)}
