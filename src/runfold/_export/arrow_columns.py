"""Columns of plain values as an Arrow table, without pandas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._export.cell_text import Column, Kind, count_rows
from runfold._export.long_columns import Repeated

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def to_tables(columns: Sequence[Column], rows: int | None = None) -> Iterator[pa.Table]:
    """Yield Arrow tables with these columns, each with this many rows; by default, only one."""
    import pyarrow as pa

    # Text is encoded once, so that all tables share its dictionary.
    texts = {column.name: _text(column) for column in columns if column.kind == "text"}
    count = count_rows(columns)
    for start in range(0, count or 1, rows or count or 1):
        part = slice(start, start + (rows or count))
        yield pa.Table.from_arrays(
            [
                texts[column.name][part]
                if column.kind == "text"
                else _numbers(column.kind, column.values[part])
                for column in columns
            ],
            names=[column.name for column in columns],
        )


# Both arrays are built by hand because pa.array() imports pandas, which takes half a second.


def _text(column: Column) -> pa.Array:
    """Return text, dictionary-encoded if it repeats, as tags do in thousands of rows."""
    import pyarrow as pa

    values: Any = column.values
    distinct = values.distinct if isinstance(values, Repeated) else values
    builder = pa.lib.StringBuilder()
    if 2 * len(set(distinct)) > len(values):
        builder.append_values(values)
        return builder.finish()
    builder.append_values(distinct)
    array = builder.finish().dictionary_encode()
    if not isinstance(values, Repeated):
        return array
    # Repeat the indices, because the text of all rows would take much more memory.
    numbers = array.indices.to_pylist()
    rows = np.repeat(np.array([number or 0 for number in numbers], np.int32), values.counts)
    is_known = np.repeat(np.array([number is not None for number in numbers]), values.counts)
    validity = None if is_known.all() else _bits(is_known)
    indices = pa.Array.from_buffers(pa.int32(), len(values), [validity, pa.py_buffer(rows)])
    return pa.DictionaryArray.from_arrays(indices, array.dictionary)


def _numbers(kind: Kind, values: Any) -> pa.Array:
    import pyarrow as pa

    present = None
    if isinstance(values, list):
        present = np.array([value is not None for value in values])
        values = np.array([value or 0 for value in values])
    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64()}
    data = _bits(values) if kind == "bool" else pa.py_buffer(np.ascontiguousarray(values))
    validity = None if present is None else _bits(present)
    return pa.Array.from_buffers(types[kind], len(values), [validity, data])


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(flags.astype(bool), bitorder="little"))
