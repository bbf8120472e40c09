"""What is wrong in the logs that are served."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypedDict

from runfold._serve.http.endpoint import endpoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._events.problems import Problem
    from runfold._serve.run_source import Source

MOST = 10_000


class ProblemEntry(TypedDict):
    """What is wrong in a file, and where in it."""

    run: str
    file: str
    offset: int | None
    code: str
    message: str


class ProblemsResponse(TypedDict):
    """Problems, and how many more there are."""

    problems: list[ProblemEntry]
    leftOut: int


@endpoint("GET /api/problems", queue="work")
def list_problems(source: Source) -> ProblemsResponse:
    """Every problem found so far, in the order of runs and files."""
    return describe_problems(source.runs()._list_problems())


def describe_problems(found: Sequence[Problem], most: int = MOST) -> ProblemsResponse:
    """Problems with the names of their files, but not where those lie."""
    entries: list[ProblemEntry] = [
        {
            "run": one.run,
            "file": os.path.basename(one.file),
            "offset": one.offset,
            "code": str(one.code),
            "message": one.message,
        }
        for one in found[:most]
    ]
    return {"problems": entries, "leftOut": max(0, len(found) - most)}
