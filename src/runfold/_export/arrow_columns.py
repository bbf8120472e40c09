"""Columns of plain values as an Arrow table, without pandas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from runfold._export.cell_text import Column

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def to_table(columns: Sequence[Column]) -> pa.Table:
    """Return an Arrow table with these columns."""
    import pyarrow as pa

    return pa.Table.from_arrays(
        [_text(column) if column.kind == "text" else _numbers(column) for column in columns],
        names=[column.name for column in columns],
    )


# Both arrays are built by hand because pa.array() imports pandas, which takes half a second.


def _text(column: Column) -> pa.Array:
    """Return text, dictionary-encoded if it repeats, as tags do in thousands of rows."""
    import pyarrow as pa

    builder = pa.lib.StringBuilder()
    builder.append_values(column.values)
    array = builder.finish()
    return array.dictionary_encode() if 2 * len(set(column.values)) <= len(array) else array


def _numbers(column: Column) -> pa.Array:
    import pyarrow as pa

    present = None
    values = column.values
    if isinstance(values, list):
        present = np.array([value is not None for value in values])
        values = np.array([value or 0 for value in values])
    types = {"bool": pa.bool_(), "int": pa.int64(), "float": pa.float64()}
    data = _bits(values) if column.kind == "bool" else pa.py_buffer(np.ascontiguousarray(values))
    validity = None if present is None else _bits(present)
    return pa.Array.from_buffers(types[column.kind], len(values), [validity, data])


def _bits(flags: NDArray[np.bool_]) -> pa.Buffer:
    import pyarrow as pa

    return pa.py_buffer(np.packbits(flags.astype(bool), bitorder="little"))
