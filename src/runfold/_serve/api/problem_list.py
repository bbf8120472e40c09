"""Problems in the served logs."""

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
    """A problem in a file, and its position."""

    run: str
    file: str
    offset: int | None
    code: str
    message: str


class ProblemsResponse(TypedDict):
    """Problems, and the number of problems left out."""

    problems: list[ProblemEntry]
    leftOut: int


@endpoint("GET /api/problems", queue="work")
def list_problems(source: Source) -> ProblemsResponse:
    """List all problems found so far, by run and file."""
    return describe_problems(source.runs()._list_problems())


def describe_problems(problems: Sequence[Problem], most: int = MOST) -> ProblemsResponse:
    """Describe problems, with the names of their files but without the folders."""
    entries: list[ProblemEntry] = [
        {
            "run": problem.run,
            "file": os.path.basename(problem.file),
            "offset": problem.offset,
            "code": str(problem.code),
            "message": problem.message,
        }
        for problem in problems[:most]
    ]
    return {"problems": entries, "leftOut": max(0, len(problems) - most)}
