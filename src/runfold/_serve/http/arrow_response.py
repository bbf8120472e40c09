"""Columns as Arrow streams, which preserve NaN, infinity and 64-bit steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from starlette.responses import Response

from runfold._humanize import utf8
from runfold._serve.http.json_response import encode_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


class ArrowResponse(Response):
    """A response with an Arrow IPC stream as its body."""

    media_type = "application/vnd.apache.arrow.stream"


def encode_columns(columns: Mapping[str, NDArray[Any]], **metadata: Any) -> bytes:
    """Encode numeric columns as an Arrow stream, with each metadata value as JSON."""
    arrays = {name: number_array(column) for name, column in columns.items()}
    return encode_table(pa.table(arrays), **metadata)


def encode_table(table: pa.Table, **metadata: Any) -> bytes:
    """Encode a table as an Arrow stream with one batch, so the page need not join batches."""
    encoded = {
        **(table.schema.metadata or {}),
        **{key: encode_json(metadata[key]) for key in metadata},
    }
    table = table.combine_chunks().replace_schema_metadata(encoded)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


# pa.array is avoided because it imports pandas to check its argument, which would take
# half a second before the first chart.


def number_array(values: NDArray[Any], known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Return an array of numbers or booleans, without a copy if possible.

    Values are null where `known` is False.
    """
    validity = None if known is None or known.all() else _bits(known)
    is_truth = values.dtype == np.bool_
    data = _bits(values) if is_truth else pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [validity, data])


def text_array(cells: Sequence[str | None]) -> pa.Array:
    """Return an array of text with nulls. Text that is not valid Unicode is escaped.

    The total size must be below 2 GB; a page cannot use more.
    """
    coded = [b"" if cell is None else utf8(cell).encode() for cell in cells]
    offsets = np.cumsum([0, *map(len, coded)], dtype=np.int32)
    known = np.array([cell is not None for cell in cells], np.bool_)
    buffers = [_bits(known), pa.py_buffer(offsets), pa.py_buffer(b"".join(coded))]
    return pa.Array.from_buffers(pa.string(), len(cells), buffers)


def _bits(truths: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))
