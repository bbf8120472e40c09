"""Columns as Arrow streams, in which NaN, infinity and 64-bit steps stay what they are."""

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
    """An answer whose body is an Arrow IPC stream."""

    media_type = "application/vnd.apache.arrow.stream"


def encode_columns(columns: Mapping[str, NDArray[Any]], **metadata: Any) -> bytes:
    """The stream of columns of numbers by name; the metadata is JSON under each name."""
    arrays = {name: number_array(column) for name, column in columns.items()}
    return encode_table(pa.table(arrays), **metadata)


def encode_table(table: pa.Table, **metadata: Any) -> bytes:
    """The stream of a table in one batch, which a page need not put together."""
    told = {
        **(table.schema.metadata or {}),
        **{key: encode_json(metadata[key]) for key in metadata},
    }
    table = table.combine_chunks().replace_schema_metadata(told)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


# Not by pa.array, which imports pandas to see whether it is given something of pandas':
# half a second before the first chart.


def number_array(values: NDArray[Any], known: NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers or truths, not copied where they need not be; null where they are not known."""
    validity = None if known is None or known.all() else _bits(known)
    is_truth = values.dtype == np.bool_
    data = _bits(values) if is_truth else pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [validity, data])


def text_array(cells: Sequence[str | None]) -> pa.Array:
    """Text, null where there is none; what is no Unicode, as of a folder, is shown with escapes.

    In all they are shorter than 2 GB: a page has no use for more.
    """
    coded = [b"" if cell is None else utf8(cell).encode() for cell in cells]
    offsets = np.cumsum([0, *map(len, coded)], dtype=np.int32)
    known = np.array([cell is not None for cell in cells], np.bool_)
    buffers = [_bits(known), pa.py_buffer(offsets), pa.py_buffer(b"".join(coded))]
    return pa.Array.from_buffers(pa.string(), len(cells), buffers)


def _bits(truths: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))
