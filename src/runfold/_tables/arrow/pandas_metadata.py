"""Properties of a pandas table that Arrow lacks, stored to restore an equal table.

The metadata of a Parquet file contains the dtype of each column, the ordered categories,
the Python type of each cell in an object column, and the index. The file is not trusted:
metadata that does not match its columns is ignored.
"""

from __future__ import annotations

import json
import math
import re
from base64 import b64decode
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._events.kinds.audio import Audio, Clip
from runfold._events.kinds.graph import Graph
from runfold._events.kinds.image import Image
from runfold._events.kinds.layout import Category, Chart, Layout, Margin
from runfold._events.kinds.run_metadata import RunMetadata
from runfold._humanize import utf8

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

_ERRORS = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError)
_DTYPE = re.compile(
    r"str|string|boolean|bool|[uU]?[iI]nt(8|16|32|64)|[fF]loat(16|32|64)"
    r"|datetime64\[(s|ms|us|ns)(, UTC)?\]|timedelta64\[(s|ms|us|ns)\]"
)
_MISSING = "nxat"  # None, NaN, pandas' NA and NaT


def describe(column: pd.Series) -> dict[str, Any]:
    """Return what `restore` needs to restore the column, in JSON types."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        names = column.dtype.categories
        is_plain = all(isinstance(name, str | int | float) for name in names)
        described = {"dtype": "category", "ordered": bool(column.dtype.ordered)}
        known = names.tolist() if is_plain else None
        return described | {"of": str(names.dtype), "categories": known}
    if column.dtype.kind != "O" or str(column.dtype) != "object":
        return {"dtype": str(column.dtype)}
    cells = column.tolist()
    if {*map(type, cells)} == {str}:  # a shortcut for the most common case
        return {"dtype": "object", "cells": "s", "missing": ""}
    kinds = "".join(map(_kind, cells))
    missing = {*kinds} & {*_MISSING}
    present = {*kinds} - missing
    described = {"dtype": "object", "cells": kinds}
    if len(missing) <= 1 and len(present) <= 1:
        described |= {"cells": "".join(present), "missing": "".join(missing)}
    heads = [_head(cell) for cell in cells]
    has_heads = any(head is not None for head in heads)
    return described | {"heads": heads} if has_heads else described


def restore(column: pd.Series, described: Any) -> Any:
    """Return the column as described; unchanged if the description does not match it."""
    with suppress(*_ERRORS):
        if described["dtype"] == "category":
            return _restore_categories(column, described)
        if described["dtype"] == "object":
            return _restore_objects(column, described)
        if str(column.dtype) != described["dtype"] and _DTYPE.fullmatch(described["dtype"]):
            return column.astype(described["dtype"])
    return column


def _restore_categories(column: pd.Series, described: dict[str, Any]) -> Any:
    import pandas as pd

    if described["categories"] is None or described["of"] not in (
        "object",
        "str",
        "int64",
        "float64",
    ):
        return column
    names = pd.Index(described["categories"], dtype=described["of"])
    if not isinstance(column.dtype, pd.CategoricalDtype):  # Parquet dictionaries contain only text
        return pd.Series(pd.Categorical(column, names, ordered=described["ordered"] is True))
    positions = {
        utf8(name) if isinstance(name, str) else name: position
        for position, name in enumerate(names)
    }
    codes = column.cat.codes.to_numpy()
    numbers = [positions.get(name, -1) for name in column.cat.categories.tolist()]
    new_codes = np.where(codes < 0, -1, np.array([*numbers, -1], np.int64)[codes])
    if np.any((new_codes < 0) & (codes >= 0)):
        return column
    categories = pd.Categorical.from_codes(new_codes, names, ordered=described["ordered"] is True)
    return pd.Series(categories, index=column.index)


def _restore_objects(column: pd.Series, described: dict[str, Any]) -> Any:
    import pandas as pd

    from runfold._tables.frames.column_values import objects

    cells = column.tolist()
    kinds = described["cells"]
    if "missing" in described:
        are_missing = [_kind(cell) in _MISSING for cell in cells]
        kinds = [described["missing"] if is_missing else kinds for is_missing in are_missing]
    heads = described.get("heads", [None] * len(cells))
    made = [_make(*parts) for parts in zip(cells, kinds, heads, strict=True)]
    return pd.Series(objects(made), index=column.index, dtype=object)


def _kind(cell: Any) -> str:
    """Return a letter for the type of a cell."""
    if cell is None:
        return "n"
    if isinstance(cell, float | np.floating) and math.isnan(cell):
        return "x"
    name = type(cell).__name__
    if name in ("NAType", "NaTType"):
        return "a" if name == "NAType" else "t"
    if isinstance(cell, Graph):
        return "k" if cell.is_keras else "g"
    return next((letter for letter, kind in _KINDS.items() if isinstance(cell, kind)), "?")


_KINDS: dict[str, Any] = {
    "b": bool | np.bool_,
    "i": int | np.integer,
    "f": float | np.floating,
    "s": str,
    "y": bytes,
    "A": np.ndarray,
    "L": list,
    "T": tuple,
    "p": Image,
    "c": Audio,
    "m": RunMetadata,
    "o": Layout,
}


def _head(cell: Any) -> Any:
    """Return the properties of an object that are not in its bytes."""
    if isinstance(cell, Image):
        return [cell.width, cell.height]
    if isinstance(cell, Audio):
        return [
            cell.sample_rate,
            cell.channels,
            cell.length_frames,
            cell.content_type,
            cell.label,
        ]
    return cell.tag if isinstance(cell, RunMetadata) else None


def _make(cell: Any, kind: str, head: Any) -> Any:
    """Convert a cell from its Arrow form back to its original type."""
    import pandas as pd

    if kind in ("n", "x", "a", "t"):
        return {"n": None, "x": math.nan, "a": pd.NA, "t": pd.NaT}[kind]
    if kind == "b":
        return cell == "true" if isinstance(cell, str) else bool(cell)
    if kind == "y" and isinstance(cell, str):
        return b64decode(cell)
    if kind in ("L", "T"):
        return (list if kind == "L" else tuple)(cell.tolist())
    if kind == "p" and isinstance(cell, Image):
        return Image(int(head[0]), int(head[1]), cell._load)
    if kind == "c" and isinstance(cell, Audio):
        return Audio(Clip(0, 0, *head), cell._load)
    if kind in ("g", "k") and isinstance(cell, bytes):
        return Graph(cell, kind == "k")
    if kind == "m" and isinstance(cell, bytes):
        return RunMetadata(str(head), cell)
    if kind == "o":
        return _layout(cell)
    return {"i": int, "f": float}.get(kind, lambda value: value)(cell)


def _layout(layout: dict[str, Any]) -> Layout:
    def make_chart(chart: dict[str, Any]) -> Chart:
        margins = tuple(Margin(**margin) for margin in chart["margins"])
        return Chart(chart["title"], tuple(chart["tags"]), margins)

    return Layout(
        tuple(
            Category(part["title"], part["closed"], tuple(map(make_chart, part["charts"])))
            for part in layout["categories"]
        )
    )


# The two axes of a table.


def describe_axes(table: pd.DataFrame) -> dict[str, Any]:
    """Return what `restore_axes` needs: names, the range of the index, and non-text labels."""
    import pandas as pd

    index, columns = table.index, table.columns
    described: dict[str, Any] = {"names": _plain(index.names)}
    with suppress(ValueError, TypeError, RecursionError):
        described["attrs"] = json.loads(json.dumps(table.attrs))
    if isinstance(index, pd.RangeIndex):
        described["range"] = [index.start, index.stop, index.step]
    described["columns"] = {"names": _plain(columns.names), "dtype": str(columns.dtype)}
    if columns.nlevels > 1 or not all(isinstance(label, str) for label in columns):
        labels = [list(label) if isinstance(label, tuple) else label for label in columns]
        described["columns"]["labels"] = _plain(labels)
    return described


def _plain(values: Sequence[Any]) -> list[Any] | None:
    """Return the values if JSON represents them unchanged, otherwise None."""
    flat = [part for value in values for part in (value if isinstance(value, list) else [value])]
    is_plain = all(part is None or isinstance(part, str | int | float) for part in flat)
    return list(values) if is_plain else None


def restore_axes(table: pd.DataFrame, described: dict[str, Any], has_index: bool) -> None:
    """Set the names, labels and index range of the axes, where they match."""
    import pandas as pd

    with suppress(*_ERRORS):
        if not has_index and len(range(*described["range"])) == len(table):
            table.index = pd.RangeIndex(*described["range"])
    with suppress(*_ERRORS):
        if len(described["names"]) == table.index.nlevels:
            table.index.names = described["names"]
    with suppress(*_ERRORS):
        names, labels = described["columns"]["names"], described["columns"].get("labels")
        if len(names) > 1:
            table.columns = pd.MultiIndex.from_tuples(map(tuple, labels), names=names)
        elif described["columns"]["dtype"] in ("object", "str", "int64", "float64", "bool"):
            shown = list(table.columns) if labels is None else labels
            table.columns = pd.Index(shown, dtype=described["columns"]["dtype"], name=names[0])
    with suppress(*_ERRORS):
        table.attrs = dict(described["attrs"])
