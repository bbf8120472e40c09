"""The rows of a query, written to a file or converted for a program."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from runfold._atomic import StrPath, replace_file
from runfold._export.formats.delimited import spell_delimited
from runfold._export.plain_columns import make_columns
from runfold._export.table_file import check_path, write_table
from runfold._humanize import escape
from runfold.errors import RunfoldError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

# Values converted per call. A call cannot be interrupted, and one call for millions of rows
# would take seconds.
_BLOCK = 65_536


def write_rows(
    rows: pa.Table, path: StrPath, overwrite: bool = False, *, escape_formulas: bool = False
) -> str:
    """Write rows in the format of the file's suffix, and return the file's path.

    Parquet and Arrow keep every type. In other formats lists and mappings are JSON text
    and bytes are base64; numbers, text and missing values are exact. Raises the same
    errors as `write_table`.
    """
    form = check_path(path)
    write_arrow = form.table_format.write_arrow
    if write_arrow is None:
        return write_table(_flat(rows), path, overwrite, escape_formulas=escape_formulas)
    import pyarrow as pa

    with replace_file(path, overwrite) as file:
        try:
            write_arrow([rows], file)
        except pa.ArrowNotImplementedError as error:
            name = form.suffix.strip(".").capitalize()
            raise RunfoldError(
                f"{escape(str(path))}: {name} cannot store these rows. {escape(str(error))}."
                " Cast columns of this type in the query (`i::varchar`), or write .arrow or .csv."
            ) from None
    return str(path)


def spell_csv(rows: pa.Table) -> Iterator[str]:
    """Yield the rows as CSV, with a header line."""
    return spell_delimited(make_columns(_flat(rows)), ",")


def plain_rows(rows: pa.Table) -> list[dict[str, Any]]:
    """Return the rows as dicts of plain values, with bytes as base64."""
    columns = [list(map(_plain, values)) for values in list_values(rows)]
    return [dict(zip(rows.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def list_values(rows: pa.Table) -> Iterator[list[Any]]:
    """Yield the values of each column. Raises RunfoldError for times outside Python's range.

    Such times come from wall times that are not in seconds, as with `to_timestamp` of
    milliseconds.
    """
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        try:
            yield [
                value
                for start in range(0, len(column), _BLOCK)
                for value in column.slice(start, _BLOCK).to_pylist(maps_as_pydicts="lossy")
            ]
        except (OverflowError, ValueError):
            shown = escape(name)
            raise RunfoldError(
                f"Column '{shown}' has a time outside the years 1 to 9999, which only .parquet and"
                f" .arrow can store. Cast it in the query, for example with `{shown}::varchar`."
            ) from None


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _flat(rows: pa.Table) -> dict[str, list[Any]]:
    """Return the columns by name, with only numbers, booleans and text."""
    return {
        name: [
            json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value
            for value in map(_plain, values)
        ]
        for name, values in zip(rows.column_names, list_values(rows), strict=True)
    }
