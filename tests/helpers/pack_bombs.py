"""Packs of a few kilobytes that would expand to gigabytes."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from helpers.packs import pack, write
from runfold._core.encoder import EventBuffer
from runfold._events import value_encoding as values
from runfold._pack.pack_index import SEGMENT, Index, StoredFile, StoredRun, StoredTags
from runfold._pack.pack_layout import KEY, MOST_ROWS, SCALAR, schema

ROWS = 20_001
SIZE = 4 << 20


def many_texts(folder: Path, count: int = ROWS) -> Path:
    """Write a valid pack of one run with texts, all in one row group."""
    buffer = EventBuffer()
    for step in range(count):
        buffer.summary([values.text("note", "x")], step, 5.0)
    write(folder / "logs" / "run" / "events.out.tfevents.1", buffer.getvalue())
    return pack(folder / "logs")


def repeat_value(path: Path, column: str, size: int = SIZE, **options: Any) -> None:
    """Make all rows of a column share one long value, which is stored once in the file."""
    with pq.ParquetFile(path) as file:
        table, metadata = file.read(), file.metadata.metadata
    value = pa.array([bytes(size)], pa.binary())
    if column != "payload":
        value = value.cast(pa.string())
    shared = pa.DictionaryArray.from_arrays(pa.array([0] * len(table), pa.int32()), value)
    table = table.set_column(table.column_names.index(column), column, shared)
    options = {"dictionary_pagesize_limit": 2 * size, "compression": "zstd"} | options
    with pq.ParquetWriter(path, table.schema, store_schema=False, **options) as writer:
        writer.write_table(table, row_group_size=len(table))
        # Keep the original types, so that the pack is not rejected for another reason.
        writer.add_key_value_metadata({key: metadata[key] for key in (KEY, b"ARROW:schema")})


def forge_index(path: Path, text: bytes) -> None:
    """Replace the index of a pack with another document."""
    table = pq.ParquetFile(path).read()
    index = base64.b64encode(zlib.compress(text, 9)).decode()
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata({KEY: json.dumps({"version": 1, "index": index})})


def deflated(size: int) -> str:
    """Return this many zero bytes, encoded like a column of the index."""
    deflate = zlib.compressobj(9)
    pieces = [deflate.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return base64.b64encode(b"".join([*pieces, deflate.flush()])).decode()


def equal_rows(path: Path, groups: int, kind: str) -> None:
    """Write a pack with one run per row group, and the maximum number of equal rows in each."""
    zeros = np.zeros(MOST_ROWS)
    names = {"run": "r", "tag": "loss", "kind": kind, "file": "f"}
    columns = [
        pa.DictionaryArray.from_arrays(pa.array(zeros, pa.int32(), safe=False), [names[field.name]])
        if field.name in names
        else pa.array([b""], pa.binary()).take(pa.array(zeros.astype(np.int64)))
        if field.name == "payload"
        else pa.array(zeros).cast(field.type)
        for field in schema()
    ]
    table = pa.Table.from_arrays(columns, schema=schema())
    file = StoredFile("events.out.tfevents.1", 100, MOST_ROWS, 1.0, 2.0, 1.0)
    runs = [StoredRun(f"r{number}", f"r{number}", 0, [file]) for number in range(groups)]
    segments = np.zeros(groups, SEGMENT)
    segments["group"] = segments["run"] = range(groups)
    segments["count"] = MOST_ROWS
    tags = StoredTags(["loss"], [None], [0], ["scalars" if kind == SCALAR else kind])
    index = Index(runs, [tags], [], [], [kind == SCALAR] * groups, segments)
    options: dict[str, Any] = {"compression": "zstd", "data_page_size": 1 << 30}
    with pq.ParquetWriter(path, schema(), max_rows_per_page=MOST_ROWS, **options) as writer:
        for _ in range(groups):
            writer.write_table(table, row_group_size=MOST_ROWS)
        writer.add_key_value_metadata({KEY: index.to_bytes()})
