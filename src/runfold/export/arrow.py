"""Tables as Arrow keeps them: Parquet, and Feather, which is Arrow's own file format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from runfold.export.columns import Column

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray


def write_parquet(table: pa.Table, file: BinaryIO) -> None:
    """Write Parquet, compressed inside with Zstandard."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def is_text(kind: pa.DataType) -> bool:
        return bool(pa.types.is_string(kind) or pa.types.is_dictionary(kind))

    # A dictionary of floats that never repeat would only be in the way.
    text = [column.name for column in table.schema if is_text(column.type)]
    pq.write_table(table, file, compression="zstd", use_dictionary=text, write_page_checksum=True)


def write_feather(table: pa.Table, file: BinaryIO) -> None:
    """Write Arrow's file format, known as Feather too, compressed inside with Zstandard."""
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table)


ARROW = {".parquet": write_parquet, ".feather": write_feather, ".arrow": write_feather}


def to_table(columns: Sequence[Column]) -> pa.Table:
    """A table of Arrow's with these columns."""
    import pyarrow as pa

    return pa.Table.from_arrays(
        [_text(column) if column.kind == "text" else _numbers(column) for column in columns],
        names=[column.name for column in columns],
    )


# Both arrays are built by hand: pa.array() would import pandas, for half a second.


def _text(column: Column) -> pa.Array:
    """Text, encoded by a dictionary where it repeats: a tag stands in thousands of rows."""
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
