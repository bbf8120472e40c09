"""The layout of a pack: its columns, their encodings, and the names of its parts.

docs/reference/pack_format.md is the specification, with the reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
# The key of the index in the footer's metadata.
KEY = b"runfold"

# The suffix of a pack's file name.
SUFFIX = ".parquet"

# Kinds of rows in addition to the kinds of data.
SCALAR = "scalar"
METADATA = "metadata"  # a value that only describes its tag
EVENT = "event"  # a whole event that the other rows cannot reproduce
BYTES = "bytes"  # a range of a file without an intact record

# The columns with the position of a non-scalar value.
ITEM_COLUMNS = ["step", "wall_time", "offset", "form", "plugin", "size", "place"]
POINT_COLUMNS = ["step", "wall_time", "value"]

# The maximum number of rows in a row group, so that a small file cannot claim much memory.
MOST_ROWS = 1 << 20

_NAMES = ["run", "tag", "kind", "file"]
_ENCODINGS = {
    "step": "DELTA_BINARY_PACKED",
    "wall_time": "BYTE_STREAM_SPLIT",
    "value": "BYTE_STREAM_SPLIT",
    "offset": "DELTA_BINARY_PACKED",
    "place": "DELTA_BINARY_PACKED",
    "size": "DELTA_BINARY_PACKED",
    "payload": "DELTA_LENGTH_BYTE_ARRAY",
}
_DICTIONARIES = [*_NAMES, "template", "form", "plugin"]


def schema() -> pa.Schema:
    """Return the columns of every pack."""
    import pyarrow as pa

    name = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            *(pa.field(column, name) for column in _NAMES),
            ("step", pa.int64()),
            ("wall_time", pa.float64()),
            ("value", pa.float64()),
            ("offset", pa.int64()),
            ("place", pa.int32()),
            ("template", pa.int32()),
            ("form", pa.int16()),
            ("plugin", pa.int16()),
            ("size", pa.int64()),
            ("payload", pa.binary()),
        ]
    )


def writer_options() -> dict[str, Any]:
    """Return options for writing the columns, the same for every version of pyarrow."""
    return {
        "compression": "zstd",
        "compression_level": 3,
        "use_dictionary": _DICTIONARIES,
        "column_encoding": _ENCODINGS,
        "write_statistics": [*_NAMES, "step"],
        # Event files have checksums, so packs have them too.
        "write_page_checksum": True,
        "version": "2.6",
    }
