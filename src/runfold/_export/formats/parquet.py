"""Tables with all Arrow types: Parquet, and Feather, which is Arrow's own file format."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

from runfold._export.table_format import TableFormat

if TYPE_CHECKING:
    import pyarrow as pa


def write_parquet(table: pa.Table, file: BinaryIO) -> None:
    """Write Parquet with internal Zstandard compression."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # A dictionary for floats that never repeat would only cost time and space.
    is_text = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    text = [field.name for field in table.schema if any(test(field.type) for test in is_text)]
    pq.write_table(table, file, compression="zstd", use_dictionary=text, write_page_checksum=True)


def write_feather(table: pa.Table, file: BinaryIO) -> None:
    """Write Arrow's file format, also called Feather, with internal Zstandard compression."""
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(file, table.schema, options=options) as writer:
        writer.write_table(table)


FORMATS = (
    TableFormat(suffix=".parquet", write_arrow=write_parquet),
    TableFormat(suffix=".feather", write_arrow=write_feather),
    TableFormat(suffix=".arrow", write_arrow=write_feather),
)
