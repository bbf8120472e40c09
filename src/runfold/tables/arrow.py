"""A table handed to Arrow, and a Parquet file that came of one read back into a table."""

from __future__ import annotations

import io
import json
import os
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold.errors import RunfoldError
from runfold.events.kinds import audio, image
from runfold.tables.dtypes import describe, describe_axes, restore, restore_axes
from runfold.tables.forms import MEDIA, Form, form_of, is_pil, make_embedding
from runfold.tables.lists import from_list
from runfold.text import escape, utf8

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    import pandas as pd
    import pyarrow as pa

    from runfold.tables.table import Table

_OURS = b"runfold"
# What datasets looks for, to know a struct of bytes as a picture or a clip.
_HUGGING_FACE = b"huggingface"


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
        key = _claim(name, arrays)
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
            other = _claim(name + ending, arrays)
            arrays[other] = beside.array
            said[ending.strip("_")] = other
            told.setdefault(other, {"form": beside.name, "of": key})
        if said:
            told[key] = said
    pandas = {"axes": describe_axes(table), "columns": described}
    ours = {"columns": told, "index": index, "pandas": pandas}
    schema = pa.schema(
        [(name, array.type) for name, array in arrays.items()],
        {_OURS: json.dumps(ours), **_features(told)},
    )
    return pa.Table.from_arrays(list(arrays.values()), schema=schema), notes


def _features(told: Mapping[str, Mapping[str, Any]]) -> dict[bytes, str]:
    features = {
        name: {"_type": said["form"].capitalize()}
        for name, said in told.items()
        if said.get("form") in MEDIA
    }
    return {_HUGGING_FACE: json.dumps({"info": {"features": features}})} if features else {}


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


def _claim(name: str, taken: Mapping[str, object]) -> str:
    free, number = name, 2
    while free in taken:
        free = f"{name}_{number}"
        number += 1
    return free


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
    target = os.path.realpath(path)
    temporary = os.path.join(os.path.dirname(target), f".runfold-{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            pq.write_table(table, file, **options)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    return None


def read_table(path: str | os.PathLike[str]) -> Table:
    """The table that `to_parquet` or `export` wrote to a Parquet file, pictures and all.

    Images, clips and arrays are again what they were, run and tag categorical,
    and the index is set. Of any other Parquet file, what pandas makes of it,
    with the pictures that Hugging Face datasets stored in it. Raises
    RunfoldError for a file that is no Parquet, or damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        stored = pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None or isinstance(error, FileNotFoundError):
            raise
        reason = str(error).partition("\n")[0].rstrip(".")
        raise RunfoldError(
            f"{escape(str(path))} is no Parquet file, or damaged: {escape(reason)}."
        ) from None
    return from_arrow(stored)


def from_arrow(stored: pa.Table) -> Table:
    """The table that `to_arrow` was given; of a table of others, what pandas makes of it."""
    import pandas as pd

    from runfold.tables.table import Table

    metadata = stored.schema.metadata or {}
    if _OURS not in metadata and _HUGGING_FACE not in metadata:
        return Table(stored.to_pandas())
    told, index = _told(metadata)
    axes, described = _described(metadata)
    index = [name for name in index if name in stored.column_names]
    is_beside = {
        name
        for name, said in told.items()
        if "of" in said
        and (said.get("form") == "plain" or told.get(said["of"], {}).get("form") == "embedding")
    }
    columns = {
        name: _restore(stored, name, told.get(name, {}))
        for name in stored.column_names
        if name not in is_beside
    }
    for name in columns.keys() & described.keys():
        columns[name] = restore(pd.Series(columns[name]), described[name])
    table = Table(columns, copy=False)
    if index:
        table = table.set_index(index)
        table.index.names = [told.get(name, {}).get("name", name) for name in index]
    table.columns = [told.get(name, {}).get("name", name) for name in table.columns]
    restore_axes(table, axes, bool(index))
    return table


def forms_in(table: pa.Table) -> dict[str, str]:
    """What the cells of each column were, where `to_arrow` says more than what they are."""
    told, _ = _told(table.schema.metadata or {})
    return {name: str(said.get("form", "")) for name, said in told.items()}


def _told(metadata: Mapping[bytes, bytes]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """What the file says of its columns; a file may come from anyone, and say nothing of use."""
    try:
        ours = json.loads(metadata.get(_OURS, b"{}"))
        theirs = json.loads(metadata.get(_HUGGING_FACE, b"{}")).get("info", {}).get("features", {})
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


def _described(metadata: Mapping[bytes, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the file says of the axes and the columns of a table, for `dtypes` to judge."""
    try:
        said = json.loads(metadata.get(_OURS, b"{}")).get("pandas", {})
        return dict(said.get("axes", {})), dict(said.get("columns", {}))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}, {}


def _restore(stored: pa.Table, name: str, said: Mapping[str, Any]) -> Any:
    import pandas as pd
    import pyarrow as pa

    from runfold.tables.rows import objects

    column = stored.column(name)
    form = said.get("form")
    if form in MEDIA and _is_media(column.type):
        make = image.of_bytes if form == "image" else audio.of_bytes
        cells = [None if one is None else one.get("bytes") for one in column.to_pylist()]
        return objects([None if one is None else make(one) for one in cells])
    is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    if form in ("array", "embedding") and is_list:
        arrays = _arrays(stored, column, said)
        return objects(arrays if form == "array" else _embeddings(stored, arrays, said))
    if form == "json" and pa.types.is_string(column.type):
        with suppress(ValueError, RecursionError):
            cells = column.to_pylist()
            return objects([None if one is None else json.loads(one) for one in cells])
    # pandas would make floats of integers where some are missing.
    whole = pd.Int64Dtype() if column.type == pa.int64() and column.null_count else None
    return column.to_pandas(types_mapper=lambda kind: whole)


def _is_media(kind: pa.DataType) -> bool:
    import pyarrow as pa

    number = kind.get_field_index("bytes") if pa.types.is_struct(kind) else -1
    return number >= 0 and kind.field(number).type in (pa.binary(), pa.large_binary())


def _arrays(stored: pa.Table, column: pa.ChunkedArray, said: Mapping[str, Any]) -> list[Any]:
    shapes, dtypes = (_beside(stored, said, part) for part in ("shape", "dtype"))
    cells = []
    for scalar, shape, dtype in zip(column, shapes, dtypes, strict=True):
        cells.append(from_list(scalar, shape, dtype) if scalar.is_valid else None)
    return cells


def _beside(stored: pa.Table, said: Mapping[str, Any], part: str) -> list[Any]:
    known = said.get(part) in stored.column_names
    return stored.column(said[part]).to_pylist() if known else [None] * len(stored)


def _embeddings(stored: pa.Table, arrays: list[Any], said: Mapping[str, Any]) -> list[Any]:
    """The embeddings; their points alone where a file that others have changed lacks the rest."""
    parts = (_beside(stored, said, part) for part in ("metadata", "sprite", "config"))
    cells = []
    try:
        for array, metadata, sprite, config in zip(arrays, *parts, strict=True):
            labels = None if metadata is None else json.loads(metadata)
            known = None if config is None else json.loads(config)
            cells.append(known and make_embedding(array, labels, sprite, known))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return arrays
    return cells
