"""Tables with all Arrow types: Parquet, and Feather, which is Arrow's own file format."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from runfold._export.table_format import TableFormat

if TYPE_CHECKING:
    import pyarrow as pa


# Rows in a row group: pyarrow's default.
_ROWS = 1 << 20


def write_parquet(tables: Iterable[pa.Table], file: BinaryIO) -> None:
    """Write Parquet with internal Zstandard compression."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rest = iter(tables)
    first = next(rest)
    # A dictionary for floats that never repeat would only cost time and space.
    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    text = [field.name for field in first.schema if any(test(field.type) for test in is_text)]
    with pq.ParquetWriter(
        file, first.schema, compression="zstd", use_dictionary=text, write_page_checksum=True
    ) as writer:
        for table in chain([first], rest):
            writer.write_table(table, _ROWS)


def write_feather(tables: Iterable[pa.Table], file: BinaryIO) -> None:
    """Write Arrow's file format, also called Feather, with internal Zstandard compression."""
    import pyarrow as pa

    rest = iter(tables)
    first = next(rest)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(file, first.schema, options=options) as writer:
        for table in chain([first], rest):
            writer.write_table(table)


FORMATS = (
    TableFormat(suffix=".parquet", write_arrow=write_parquet, rows=_ROWS),
    TableFormat(suffix=".feather", write_arrow=write_feather),
    TableFormat(suffix=".arrow", write_arrow=write_feather),
)
