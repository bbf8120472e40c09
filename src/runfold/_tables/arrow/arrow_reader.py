"""Tables of log data from Arrow and Parquet, as `arrow_table` stored them."""

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

    from runfold._tables.frames.frame import Table

    metadata = stored.schema.metadata or {}
    if OURS not in metadata and HUGGING_FACE not in metadata:
        return Table(stored.to_pandas())
    told, index = read_metadata(metadata)
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


def _described(metadata: Mapping[bytes, bytes]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the file says about a table's axes and columns; `pandas_metadata` checks it."""
    try:
        said = json.loads(metadata.get(OURS, b"{}")).get("pandas", {})
        return dict(said.get("axes", {})), dict(said.get("columns", {}))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return {}, {}


def _restore(stored: pa.Table, name: str, said: Mapping[str, Any]) -> Any:
    import pandas as pd
    import pyarrow as pa

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
