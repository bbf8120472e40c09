"""The tables that a query sees: their columns and types."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_POINT = {"run": "VARCHAR", "tag": "VARCHAR", "step": "BIGINT", "wall_time": "DOUBLE"}
# `left`, `right` and `offset` are SQL keywords and would need quotes.
EDGES = {"left_edges": "left", "right_edges": "right", "counts": "counts"}
TOTALS = ("min", "max", "num", "sum", "sum_squares")

# The columns of each table, with their types in SQL.
TABLES: dict[str, dict[str, str]] = {
    "runs": {
        "run": "VARCHAR",
        "path": "VARCHAR",
        "status": "VARCHAR",
        "start": "DOUBLE",
        "duration": "DOUBLE",
        "steps": "BIGINT",
        "points": "BIGINT",
        "hidden": "BIGINT",
        "files": "BIGINT",
        "size": "BIGINT",
        "problems": "BIGINT",
        "hparams": "MAP(VARCHAR, VARCHAR)",
    },
    "scalars": {**_POINT, "value": "DOUBLE"},
    "hparams": {
        "run": "VARCHAR",
        "hparam": "VARCHAR",
        "type": "VARCHAR",
        "value": "VARCHAR",
        "number": "DOUBLE",
        "flag": "BOOLEAN",
        "source": "VARCHAR",
    },
    "text": {**_POINT, "index": "BIGINT", "text": "VARCHAR"},
    "images": {
        **_POINT,
        "index": "BIGINT",
        "width": "BIGINT",
        "height": "BIGINT",
        "data": "BLOB",
    },
    "histograms": {
        **_POINT,
        **dict.fromkeys(EDGES, "DOUBLE[]"),
        **dict.fromkeys(TOTALS, "DOUBLE"),
    },
    "problems": {
        "run": "VARCHAR",
        "file": "VARCHAR",
        "position": "BIGINT",
        "code": "VARCHAR",
        "message": "VARCHAR",
    },
}
# Columns with few distinct names, dictionary-encoded in Arrow.
_NAMES = ("run", "tag", "hparam")


def schema_of(table: str) -> pa.Schema:
    """Return the Arrow schema of a table."""
    import pyarrow as pa

    text = pa.large_utf8()
    kinds = {
        "VARCHAR": text,
        "DOUBLE": pa.float64(),
        "BIGINT": pa.int64(),
        "BOOLEAN": pa.bool_(),
        "BLOB": pa.large_binary(),
        "DOUBLE[]": pa.large_list(pa.float64()),
        "MAP(VARCHAR, VARCHAR)": pa.map_(text, text),
    }
    return pa.schema(
        [
            (name, pa.dictionary(pa.int32(), text) if name in _NAMES else kinds[kind])
            for name, kind in TABLES[table].items()
        ]
    )
