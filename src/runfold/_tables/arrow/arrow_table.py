"""Tables converted to Arrow, and written as Parquet files."""

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
# The key under which Hugging Face datasets looks up which columns are images or clips.
HUGGING_FACE = b"huggingface"


def to_arrow(table: pd.DataFrame, keep_index: bool = False) -> tuple[pa.Table, list[str]]:
    """Return the table as an Arrow table, and notes on content that Arrow cannot represent.

    Numbers are not copied if pandas stores them like Arrow; categories become dictionaries;
    `cell_forms` converts objects. The index comes first, but an unnamed index of integers
    is left out or, with `keep_index`, only an unnamed range. The metadata contains what
    `from_arrow` needs to restore an equal table. A name that is already taken gets the
    suffix `_2`, because most readers reject duplicate names.
    """
    import pyarrow as pa

    arrays: dict[str, pa.Array] = {}
    fields: dict[str, dict[str, Any]] = {}
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
        field: dict[str, Any] = {} if form.name == "plain" else {"form": form.name}
        if key != name:
            field["name"] = name
        for suffix, companion in form.companions.items():
            other = free_name(name + suffix, arrays.__contains__, "{}_{}")
            arrays[other] = companion.array
            field[suffix.strip("_")] = other
            fields.setdefault(other, {"form": companion.name, "of": key})
        if field:
            fields[key] = field
    pandas = {"axes": describe_axes(table), "columns": described}
    ours = {"columns": fields, "index": index, "pandas": pandas}
    schema = pa.schema(
        [(name, array.type) for name, array in arrays.items()],
        {OURS: json.dumps(ours), **_features(fields)},
    )
    return pa.Table.from_arrays(list(arrays.values()), schema=schema), notes


def _features(fields: Mapping[str, Mapping[str, Any]]) -> dict[bytes, str]:
    features = {
        name: {"_type": field["form"].capitalize()}
        for name, field in fields.items()
        if field.get("form") in MEDIA
    }
    return {HUGGING_FACE: json.dumps({"info": {"features": features}})} if features else {}


def _columns(table: pd.DataFrame, keep_index: bool) -> Iterator[tuple[str, pd.Series, bool]]:
    """Yield the name and values of each column, after an index that is not just row numbers."""
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
        return " ".join(_shown(part, "") for part in name).strip() or default
    return default if name is None else utf8(str(name))


def _form(column: pd.Series) -> Form:
    import pandas as pd
    import pyarrow as pa

    values = column.array
    if isinstance(values, pd.Categorical):
        names = form_of(values.categories.tolist() or [""])  # without categories, use text
        codes = pa.array(np.asarray(values.codes), mask=_absent(values.codes))
        return Form(pa.DictionaryArray.from_arrays(codes, names.array), note=names.note)
    if column.dtype == object:
        return form_of(column.tolist())
    if column.dtype == np.float16:  # not supported by DuckDB and others
        column = column.astype(np.float32)
    try:
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "biuf":
            return Form(pa.array(column.to_numpy(copy=False), from_pandas=False))
        return Form(pa.array(column.array, from_pandas=True))
    except pa.ArrowException:
        return form_of(column.astype(object).tolist())


def is_ours(column: pd.Series) -> bool:
    """Return whether only Runfold can convert a column: Runfold's objects, PIL images, mixed types.

    Hparams have mixed types: pyarrow infers numbers from the first value, and fails on text.
    """
    if column.dtype != object:
        return False
    types = set(map(type, column)) - {type(None)}
    is_mixed = len(types) > 1 and types <= {bool, int, float, str, bytes}
    return is_mixed or any(kind.__module__.startswith("runfold.") or is_pil(kind) for kind in types)


def hand_over(column: pd.Series, type: pa.DataType | None = None) -> pa.Array:
    """Return a single column as an Arrow array. Raises TypeError if it needs several columns."""
    form = _form(column)
    if form.companions:
        raise TypeError(
            f"Column '{escape(str(column.name))}' needs several Arrow columns. Use table.arrow()."
        )
    if form.note:
        warnings.warn(f"{escape(str(column.name))}: {form.note}", stacklevel=3)
    return form.array if type is None else form.array.cast(type)


def _absent(codes: np.ndarray) -> np.ndarray | None:
    absent: np.ndarray = codes < 0
    return absent if absent.any() else None


def write_parquet(
    table: pa.Table, path: str | os.PathLike[str] | BinaryIO | None, **options: Any
) -> bytes | None:
    """Write a Parquet file that appears only when complete; without a path, return its bytes."""
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
    """Return the original form of the cells in each column that `to_arrow` converted."""
    fields, _ = read_metadata(table.schema.metadata or {})
    return {name: str(field.get("form", "")) for name, field in fields.items()}


def read_metadata(metadata: Mapping[bytes, bytes]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the stored description of the columns; empty if it is missing or invalid."""
    try:
        ours = json.loads(metadata.get(OURS, b"{}"))
        theirs = json.loads(metadata.get(HUGGING_FACE, b"{}")).get("info", {}).get("features", {})
        fields = {
            name: {"form": str(feature.get("_type", "")).lower()}
            for name, feature in theirs.items()
            if isinstance(feature, dict)
        }
        for name, field in ours.get("columns", {}).items():
            fields[name] = {str(key): str(value) for key, value in field.items()}
        return fields, list(map(str, ours.get("index", [])))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}, []
