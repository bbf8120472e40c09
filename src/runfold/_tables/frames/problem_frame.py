"""Problems as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._events.problems import Problem
    from runfold._tables.frames.frame import Table


def problem_frame(problems: Sequence[Problem]) -> Table:
    """Return one row per problem: run, file, offset (missing if unknown), code, message."""
    import pandas as pd

    from runfold._tables.frames.frame import Table

    return Table(
        {
            "run": pd.Series([problem.run for problem in problems], dtype=object),
            "file": pd.Series([problem.file for problem in problems], dtype=object),
            "offset": pd.array([problem.offset for problem in problems], dtype="Int64"),
            "code": pd.Series([str(problem.code) for problem in problems], dtype=object),
            "message": pd.Series([problem.message for problem in problems], dtype=object),
        }
    )
