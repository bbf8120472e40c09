"""Problems as a DataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from runfold._events.problems import Problem
    from runfold._tables.frames.frame import Table


def problem_frame(problems: Sequence[Problem]) -> Table:
    """One row a problem: run, file, offset (missing where it has no place), code, message."""
    import pandas as pd

    from runfold._tables.frames.frame import Table

    return Table(
        {
            "run": pd.Series([one.run for one in problems], dtype=object),
            "file": pd.Series([one.file for one in problems], dtype=object),
            "offset": pd.array([one.offset for one in problems], dtype="Int64"),
            "code": pd.Series([str(one.code) for one in problems], dtype=object),
            "message": pd.Series([one.message for one in problems], dtype=object),
        }
    )
