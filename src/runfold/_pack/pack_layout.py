"""The layout of a pack: its columns, how each is encoded, and the names of its parts.

docs/guides/pack.md is the specification, with the reasons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

VERSION = 1
# Where the index is among the key-value metadata of the footer.
KEY = b"runfold"

# A folder of packs, one for each run, and what says that it is one. Readers of
# Parquet folders leave out names that start with an underscore.
SUFFIX = ".parquet"

# What rows hold besides the kinds that a user knows.
SCALAR = "scalar"
METADATA = "metadata"  # a value that only says what its tag is
EVENT = "event"  # a whole event that the other rows do not give back
BYTES = "bytes"  # a stretch of a file that holds no sound record

# The columns that tell where a value of any other kind than scalar stands.
ITEM_COLUMNS = ["step", "wall_time", "offset", "form", "plugin", "size", "place"]
POINT_COLUMNS = ["step", "wall_time", "value"]

# No row group has more rows, so that a small file cannot ask for much memory.
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
    """The columns of every pack."""
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
    """How the columns are written: the same on every version of pyarrow."""
    return {
        "compression": "zstd",
        "compression_level": 3,
        "use_dictionary": _DICTIONARIES,
        "column_encoding": _ENCODINGS,
        "write_statistics": [*_NAMES, "step"],
        # Event files have checksums, too.
        "write_page_checksum": True,
        "version": "2.6",
    }
