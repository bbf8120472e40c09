"""Tables read back from Arrow and Parquet, as written by `arrow_table`."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from runfold._events.kinds import audio, image
from runfold._humanize import escape
from runfold._tables.arrow.arrow_lists import from_list
from runfold._tables.arrow.arrow_table import HUGGING_FACE, OURS, read_metadata
from runfold._tables.arrow.cell_forms import MEDIA, make_embedding
from runfold._tables.arrow.pandas_metadata import restore, restore_axes
from runfold._tables.frames.column_values import objects
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pyarrow as pa

    from runfold._tables.frames.frame import Table


def read_table(path: str | os.PathLike[str]) -> Table:
    """Read a table from a Parquet file that `to_parquet` or `export` wrote.

    Images, clips, arrays, categories and the index are restored. Other Parquet files are
    read as pandas reads them, including images stored by Hugging Face datasets.

    Raises:
        RunfoldError: the file is not a Parquet file, or is damaged.

    Examples:
        >>> runs.table().to_parquet("runs.parquet")
        >>> rf.read_table("runs.parquet")
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
            f"{escape(str(path))} is not a Parquet file, or is damaged: {escape(reason)}."
        ) from None
    return from_arrow(stored)


def from_arrow(stored: pa.Table) -> Table:
    """Return the table that was passed to `to_arrow`; convert other tables as pandas does."""
    import pandas as pd

    from runfold._tables.frames.frame import Table

    metadata = stored.schema.metadata or {}
    if OURS not in metadata and HUGGING_FACE not in metadata:
        return Table(stored.to_pandas())
    fields, index = read_metadata(metadata)
    axes, described = _described(metadata)
    index = [name for name in index if name in stored.column_names]
    companions = {
        name
        for name, field in fields.items()
        if "of" in field
        and (field.get("form") == "plain" or fields.get(field["of"], {}).get("form") == "embedding")
    }
    columns = {
        name: _restore(stored, name, fields.get(name, {}))
        for name in stored.column_names
        if name not in companions
    }
    for name in columns.keys() & described.keys():
        columns[name] = restore(pd.Series(columns[name]), described[name])
    table = Table(columns, copy=False)
    if index:
        table = table.set_index(index)
        table.index.names = [fields.get(name, {}).get("name", name) for name in index]
    table.columns = [fields.get(name, {}).get("name", name) for name in table.columns]
    restore_axes(table, axes, bool(index))
    return table


def _described(metadata: Mapping[bytes, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the stored description of the axes and columns; `pandas_metadata` checks it."""
    try:
        described = json.loads(metadata.get(OURS, b"{}")).get("pandas", {})
        return dict(described.get("axes", {})), dict(described.get("columns", {}))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}, {}


def _restore(stored: pa.Table, name: str, field: Mapping[str, Any]) -> Any:
    import pandas as pd
    import pyarrow as pa

    column = stored.column(name)
    form = field.get("form")
    if form in MEDIA and _is_media(column.type):
        make = image.of_bytes if form == "image" else audio.of_bytes
        blobs = [None if cell is None else cell.get("bytes") for cell in column.to_pylist()]
        return objects([None if data is None else make(data) for data in blobs])
    is_list = pa.types.is_list(column.type) or pa.types.is_large_list(column.type)
    if form in ("array", "embedding") and is_list:
        arrays = _arrays(stored, column, field)
        return objects(arrays if form == "array" else _embeddings(stored, arrays, field))
    if form == "json" and pa.types.is_string(column.type):
        with suppress(ValueError, RecursionError):
            cells = column.to_pylist()
            return objects([None if cell is None else json.loads(cell) for cell in cells])
    # pandas would convert integers with missing values to floats.
    whole = pd.Int64Dtype() if column.type == pa.int64() and column.null_count else None
    return column.to_pandas(types_mapper=lambda kind: whole)


def _is_media(kind: pa.DataType) -> bool:
    import pyarrow as pa

    number = kind.get_field_index("bytes") if pa.types.is_struct(kind) else -1
    return number >= 0 and kind.field(number).type in (pa.binary(), pa.large_binary())


def _arrays(stored: pa.Table, column: pa.ChunkedArray, field: Mapping[str, Any]) -> list[Any]:
    shapes, dtypes = (_companion(stored, field, part) for part in ("shape", "dtype"))
    cells = []
    for scalar, shape, dtype in zip(column, shapes, dtypes, strict=True):
        cells.append(from_list(scalar, shape, dtype) if scalar.is_valid else None)
    return cells


def _companion(stored: pa.Table, field: Mapping[str, Any], part: str) -> list[Any]:
    known = field.get(part) in stored.column_names
    return stored.column(field[part]).to_pylist() if known else [None] * len(stored)


def _embeddings(stored: pa.Table, arrays: list[Any], field: Mapping[str, Any]) -> list[Any]:
    """Return the embeddings, or only their points if another program removed the rest."""
    parts = (_companion(stored, field, part) for part in ("metadata", "sprite", "config"))
    cells = []
    try:
        for array, metadata, sprite, config in zip(arrays, *parts, strict=True):
            labels = None if metadata is None else json.loads(metadata)
            known = None if config is None else json.loads(config)
            cells.append(known and make_embedding(array, labels, sprite, known))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return arrays
    return cells
