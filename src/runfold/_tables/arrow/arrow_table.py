"""A table handed to Arrow, and a Parquet file that came of one read back into a table."""

from __future__ import annotations

import io
import json
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._files import open_draft
from runfold._humanize import escape, free_name, utf8
from runfold._tables.arrow.cell_forms import MEDIA, Form, form_of
from runfold._tables.arrow.pandas_metadata import describe, describe_axes
from runfold._tables.frames.column_values import is_pil

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    import pandas as pd
    import pyarrow as pa


OURS = b"runfold"
# What datasets looks for, to know a struct of bytes as a picture or a clip.
HUGGING_FACE = b"huggingface"


def to_arrow(table: pd.DataFrame, keep_index: bool = False) -> tuple[pa.Table, list[str]]:
    """The table for Arrow, and notes on what has no form there.

    Numbers are not copied where pandas holds them as Arrow does; categories
    become dictionaries; `forms` says what becomes of objects. An index comes
    first, unless it only numbers the rows; with `keep_index` also then, if the numbers
    are not a range. The metadata has what `from_arrow` needs to give an equal table
    back. A name that stands already gets
    `_2` behind it, because most readers refuse a name twice.
    """
    import pyarrow as pa

    arrays: dict[str, pa.Array] = {}
    told: dict[str, dict[str, Any]] = {}
    notes: list[str] = []
    index = []
    described: dict[str, Any] = {}
    for name, column, is_index in _columns(table, keep_index):
        form = _form(column)
        key = free_name(name, arrays.__contains__, "{}_{}")
        described[key] = describe(column)
        arrays[key] = form.array
        if is_index:
            index.append(key)
        if form.note:
            notes.append(f"{escape(name)}: {form.note}")
        said: dict[str, Any] = {} if form.name == "plain" else {"form": form.name}
        if key != name:
            said["name"] = name
        for ending, beside in form.beside.items():
            other = free_name(name + ending, arrays.__contains__, "{}_{}")
            arrays[other] = beside.array
            said[ending.strip("_")] = other
            told.setdefault(other, {"form": beside.name, "of": key})
        if said:
            told[key] = said
    pandas = {"axes": describe_axes(table), "columns": described}
    ours = {"columns": told, "index": index, "pandas": pandas}
    schema = pa.schema(
        [(name, array.type) for name, array in arrays.items()],
        {OURS: json.dumps(ours), **_features(told)},
    )
    return pa.Table.from_arrays(list(arrays.values()), schema=schema), notes


def _features(told: Mapping[str, Mapping[str, Any]]) -> dict[bytes, str]:
    features = {
        name: {"_type": said["form"].capitalize()}
        for name, said in told.items()
        if said.get("form") in MEDIA
    }
    return {HUGGING_FACE: json.dumps({"info": {"features": features}})} if features else {}


def _columns(table: pd.DataFrame, keep_index: bool) -> Iterator[tuple[str, pd.Series, bool]]:
    """Name and values of the index, if it says anything, and of every column."""
    import pandas as pd

    index = table.index
    is_kept = keep_index and not isinstance(index, pd.RangeIndex)
    if is_kept or index.nlevels > 1 or index.name is not None or index.dtype.kind not in "iu":
        for number in range(index.nlevels):
            values = index.get_level_values(number)
            yield _shown(values.name, "index"), values.to_series(), True
    for number, name in enumerate(table.columns):
        yield _shown(name, "column"), table.iloc[:, number], False


def _shown(name: object, default: str) -> str:
    if isinstance(name, tuple):
        return " ".join(_shown(one, "") for one in name).strip() or default
    return default if name is None else utf8(str(name))


def _form(column: pd.Series) -> Form:
    import pandas as pd
    import pyarrow as pa

    values = column.array
    if isinstance(values, pd.Categorical):
        names = form_of(values.categories.tolist() or [""])  # so that none are still text
        codes = pa.array(np.asarray(values.codes), mask=_absent(values.codes))
        return Form(pa.DictionaryArray.from_arrays(codes, names.array), note=names.note)
    if column.dtype == object:
        return form_of(column.tolist())
    if column.dtype == np.float16:  # DuckDB and others know no halves
        column = column.astype(np.float32)
    try:
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
            return Form(pa.array(column.to_numpy(copy=False), from_pandas=False))
        return Form(pa.array(column.array, from_pandas=True))
    except pa.ArrowException:
        return form_of(column.astype(object).tolist())


def is_ours(column: pd.Series) -> bool:
    """Whether only Runfold can read a column: its objects, PIL's pictures, values of several types.

    Hparams are the last: pyarrow takes a column for numbers by its first, and fails at a text.
    """
    if column.dtype != object:
        return False
    types = set(map(type, column)) - {type(None)}
    is_mixed = len(types) > 1 and types <= {bool, int, float, str, bytes}
    return is_mixed or any(one.__module__.startswith("runfold.") or is_pil(one) for one in types)


def hand_over(column: pd.Series, type: pa.DataType | None = None) -> pa.Array:
    """A column by itself for Arrow. Raises TypeError for one that needs others beside it."""
    form = _form(column)
    if form.beside:
        raise TypeError(f"{escape(str(column.name))} becomes several columns: take table.arrow().")
    if form.note:
        warnings.warn(f"{escape(str(column.name))}: {form.note}", stacklevel=3)
    return form.array if type is None else form.array.cast(type)


def _absent(codes: np.ndarray) -> np.ndarray | None:
    absent: np.ndarray = codes < 0
    return absent if absent.any() else None


def write_parquet(
    table: pa.Table, path: str | os.PathLike[str] | BinaryIO | None, **options: Any
) -> bytes | None:
    """Write a Parquet file that appears when it is whole; without a path, give its bytes."""
    import pyarrow.parquet as pq

    options = {"write_page_checksum": True, **options}
    if path is None:
        out = io.BytesIO()
        pq.write_table(table, out, **options)
        return out.getvalue()
    if not isinstance(path, str | os.PathLike) or "://" in str(path):
        pq.write_table(table, path, **options)
        return None
    with open_draft(os.path.realpath(path)) as file:
        pq.write_table(table, file, **options)
    return None


def forms_in(table: pa.Table) -> dict[str, str]:
    """What the cells of each column were, where `to_arrow` says more than what they are."""
    told, _ = read_metadata(table.schema.metadata or {})
    return {name: str(said.get("form", "")) for name, said in told.items()}


def read_metadata(metadata: Mapping[bytes, bytes]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """What the file says of its columns; a file may come from anyone, and say nothing of use."""
    try:
        ours = json.loads(metadata.get(OURS, b"{}"))
        theirs = json.loads(metadata.get(HUGGING_FACE, b"{}")).get("info", {}).get("features", {})
        told = {
            name: {"form": str(feature.get("_type", "")).lower()}
            for name, feature in theirs.items()
            if isinstance(feature, dict)
        }
        for name, said in ours.get("columns", {}).items():
            told[name] = {str(key): str(one) for key, one in said.items()}
        return told, list(map(str, ours.get("index", [])))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}, []
