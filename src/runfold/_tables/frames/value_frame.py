"""The DataFrame of decoded values of one kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._tables.frames.column_values import categories, objects

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pandas.api.extensions import ExtensionArray

    from runfold._tables.frames.frame import Table
    from runfold._tables.frames.value_rows import Row


def frame(
    rows: Sequence[Row[Any]], columns: Mapping[str, list[Any] | np.ndarray | ExtensionArray]
) -> Table:
    """Return a DataFrame of run, tag, step, wall_time and the columns of the kind.

    A list becomes a column of objects; an array keeps its dtype.
    """
    from runfold._tables.frames.frame import Table

    lengths = [1] * len(rows)
    return Table(
        {
            "run": categories([row.run for row in rows], lengths),
            "tag": categories([row.tag for row in rows], lengths),
            "step": np.array([row.step for row in rows], np.int64),
            "wall_time": np.array([row.wall_time for row in rows], np.float64),
            **{
                name: objects(values) if isinstance(values, list) else values
                for name, values in columns.items()
            },
        }
    )
