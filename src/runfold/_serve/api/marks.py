"""Events marked by runs, which charts show as vertical lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from runfold._serve.http.endpoint import endpoint
from runfold._serve.page_vocabulary import JsonNumber

if TYPE_CHECKING:
    from runfold._serve.run_source import Source

MOST = 10_000
LONGEST = 500


class Mark(TypedDict):
    """An event marked by a run, with its position on every axis."""

    run: str
    step: JsonNumber
    wallTime: float
    relative: float
    text: str


class MarksResponse(TypedDict):
    """Marks, and the number of marks left out."""

    marks: list[Mark]
    leftOut: int


@endpoint("GET /api/marks", queue="work")
def list_marks(source: Source) -> MarksResponse:
    """List the events that runs marked, ordered by run and file.

    Each mark has its position on every axis. If there are too many, only the first are listed.
    `relative` is in seconds since the run's first event, as in the curves.
    """
    # Imported late, because it loads all code that reads a tracked run's records.
    from runfold._tables.by_run.run_story import read_marks
    from runfold._tables.frames.value_rows import noting_changes

    marks: list[Mark] = []
    facts = source.facts()
    # A plain run has no marks.
    for log in source.logs() if facts is None else facts.logs.values():
        with noting_changes(log):
            marks += [
                {
                    "run": log.name,
                    "step": mark.step,
                    "wallTime": mark.wall_time,
                    "relative": mark.wall_time - log.wall_time_range[0],
                    "text": mark.text[:LONGEST],
                }
                for mark in read_marks(log)
            ]
    return {"marks": marks[:MOST], "leftOut": max(0, len(marks) - MOST)}
