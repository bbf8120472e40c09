"""What pandas knows of a table and Arrow does not, so that a saved table comes back equal.

It is kept in the metadata of a Parquet file: the dtype of every column, the categories
in their order, which Python type each cell of an object column had, and the index. A
file may come from anyone: what does not fit its columns is ignored.
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
    """What `restore` needs to give the column back, as JSON can hold it."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        names = column.dtype.categories
        known = names.tolist() if all(isinstance(one, str | int | float) for one in names) else None
        said = {"dtype": "category", "ordered": bool(column.dtype.ordered)}
        return said | {"of": str(names.dtype), "categories": known}
    if column.dtype.kind != "O" or str(column.dtype) != "object":
        return {"dtype": str(column.dtype)}
    cells = column.tolist()
    if {*map(type, cells)} == {str}:  # most often, and quicker
        return {"dtype": "object", "cells": "s", "missing": ""}
    kinds = "".join(map(_kind, cells))
    missing = {*kinds} & {*_MISSING}
    present = {*kinds} - missing
    said = {"dtype": "object", "cells": kinds}
    if len(missing) <= 1 and len(present) <= 1:
        said |= {"cells": "".join(present), "missing": "".join(missing)}
    heads = [_head(cell) for cell in cells]
    return said | {"heads": heads} if any(one is not None for one in heads) else said


def restore(column: pd.Series, said: Any) -> Any:
    """The column as it was described; unchanged where the description does not fit."""
    with suppress(*_ERRORS):
        if said["dtype"] == "category":
            return _restore_categories(column, said)
        if said["dtype"] == "object":
            return _restore_objects(column, said)
        if str(column.dtype) != said["dtype"] and _DTYPE.fullmatch(said["dtype"]):
            return column.astype(said["dtype"])
    return column


def _restore_categories(column: pd.Series, said: dict[str, Any]) -> Any:
    import pandas as pd

    if said["categories"] is None or said["of"] not in ("object", "str", "int64", "float64"):
        return column
    names = pd.Index(said["categories"], dtype=said["of"])
    if not isinstance(column.dtype, pd.CategoricalDtype):  # Parquet has dictionaries of text only
        return pd.Series(pd.Categorical(column, names, ordered=said["ordered"] is True))
    places = {utf8(one) if isinstance(one, str) else one: at for at, one in enumerate(names)}
    codes = column.cat.codes.to_numpy()
    numbers = [places.get(one, -1) for one in column.cat.categories.tolist()]
    found = np.where(codes < 0, -1, np.array([*numbers, -1], np.int64)[codes])
    if np.any((found < 0) & (codes >= 0)):
        return column
    categories = pd.Categorical.from_codes(found, names, ordered=said["ordered"] is True)
    return pd.Series(categories, index=column.index)


def _restore_objects(column: pd.Series, said: dict[str, Any]) -> Any:
    import pandas as pd

    from runfold._tables.frames.column_values import objects

    cells = column.tolist()
    kinds = said["cells"]
    if "missing" in said:
        is_missing = [_kind(cell) in _MISSING for cell in cells]
        kinds = [said["missing"] if one else kinds for one in is_missing]
    heads = said.get("heads", [None] * len(cells))
    made = [_make(*one) for one in zip(cells, kinds, heads, strict=True)]
    return pd.Series(objects(made), index=column.index, dtype=object)


def _kind(cell: Any) -> str:
    """A letter for the type of a cell."""
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
    """What an object says of itself besides its bytes."""
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
    """A cell of a kind, of what Arrow made of it."""
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
    return {"i": int, "f": float}.get(kind, lambda one: one)(cell)


def _layout(said: dict[str, Any]) -> Layout:
    def chart(one: dict[str, Any]) -> Chart:
        margins = tuple(Margin(**margin) for margin in one["margins"])
        return Chart(one["title"], tuple(one["tags"]), margins)

    return Layout(
        tuple(
            Category(one["title"], one["closed"], tuple(map(chart, one["charts"])))
            for one in said["categories"]
        )
    )


# The two axes of a table.


def describe_axes(table: pd.DataFrame) -> dict[str, Any]:
    """What `restore_axes` needs: names, the numbers of a range, and labels that are no text."""
    import pandas as pd

    index, columns = table.index, table.columns
    said: dict[str, Any] = {"names": _plain(index.names)}
    with suppress(ValueError, TypeError, RecursionError):
        said["attrs"] = json.loads(json.dumps(table.attrs))
    if isinstance(index, pd.RangeIndex):
        said["range"] = [index.start, index.stop, index.step]
    said["columns"] = {"names": _plain(columns.names), "dtype": str(columns.dtype)}
    if columns.nlevels > 1 or not all(isinstance(one, str) for one in columns):
        labels = [list(one) if isinstance(one, tuple) else one for one in columns]
        said["columns"]["labels"] = _plain(labels)
    return said


def _plain(values: Sequence[Any]) -> list[Any] | None:
    """The values, if JSON holds them as they are."""
    flat = [part for one in values for part in (one if isinstance(one, list) else [one])]
    is_plain = all(one is None or isinstance(one, str | int | float) for one in flat)
    return list(values) if is_plain else None


def restore_axes(table: pd.DataFrame, said: dict[str, Any], has_index: bool) -> None:
    """Set the names, labels and numbers of the axes, as far as they fit."""
    import pandas as pd

    with suppress(*_ERRORS):
        if not has_index and len(range(*said["range"])) == len(table):
            table.index = pd.RangeIndex(*said["range"])
    with suppress(*_ERRORS):
        if len(said["names"]) == table.index.nlevels:
            table.index.names = said["names"]
    with suppress(*_ERRORS):
        names, labels = said["columns"]["names"], said["columns"].get("labels")
        if len(names) > 1:
            table.columns = pd.MultiIndex.from_tuples(map(tuple, labels), names=names)
        elif said["columns"]["dtype"] in ("object", "str", "int64", "float64", "bool"):
            shown = list(table.columns) if labels is None else labels
            table.columns = pd.Index(shown, dtype=said["columns"]["dtype"], name=names[0])
    with suppress(*_ERRORS):
        table.attrs = dict(said["attrs"])
