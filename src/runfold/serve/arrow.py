"""Columns as Arrow streams, in which NaN, infinity and 64-bit steps stay what they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa


class ArrowResponse(Response):
    """An answer whose body is an Arrow IPC stream."""

    media_type = "application/vnd.apache.arrow.stream"


def encode_columns(columns: Mapping[str, Any], **metadata: Any) -> bytes:
    """The stream of arrays of NumPy or Arrow by name; the metadata is JSON under each name."""
    import pyarrow as pa

    arrays = {name: pa.array(column, from_pandas=False) for name, column in columns.items()}
    return encode_table(pa.table(arrays), **metadata)


def encode_table(table: pa.Table, **metadata: Any) -> bytes:
    """The stream of a table in one batch, which a page need not put together."""
    import pyarrow as pa

    told = {**(table.schema.metadata or {}), **{key: json.dumps(metadata[key]) for key in metadata}}
    table = table.combine_chunks().replace_schema_metadata(told)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]
