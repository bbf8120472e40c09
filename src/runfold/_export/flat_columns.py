"""The columns of an Arrow table for formats without lists, bytes or pictures."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

import numpy as np

from runfold._export.cell_text import Column
from runfold._humanize import escape
from runfold._tables.arrow.arrow_table import forms_in
from runfold._tables.arrow.cell_forms import spell

if TYPE_CHECKING:
    import pyarrow as pa


def flatten(table: pa.Table) -> tuple[list[Column], list[str]]:
    """Return columns of plain values, and notes on columns whose bytes became base64.

    Numbers are exact. Lists are JSON, with NaN and infinity as strings.
    """
    forms = forms_in(table)
    encoded: list[str] = []
    columns = [
        _column(name, table.column(name), forms.get(name, ""), encoded)
        for name in table.column_names
    ]
    return columns, encoded


def _column(name: str, values: pa.ChunkedArray, form: str, encoded: list[str]) -> Column:
    import pyarrow as pa

    kind = values.type
    is_full = values.null_count == 0
    if pa.types.is_dictionary(kind):
        return Column(name, "text", values.cast(kind.value_type).to_pylist())
    if pa.types.is_boolean(kind):
        return Column(name, "bool", _numbers(values, np.bool_) if is_full else values.to_pylist())
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return Column(name, "int", _numbers(values, np.int64) if is_full else values.to_pylist())
    if pa.types.is_floating(kind):
        numbers = _numbers(values, np.float64) if is_full else values.to_pylist()
        return Column(name, "float", numbers)
    cells = values.to_pylist()
    if pa.types.is_struct(kind) and kind.get_field_index("bytes") >= 0:
        cells = [None if cell is None else cell["bytes"] for cell in cells]
    is_encoded = any(isinstance(cell, bytes) for cell in cells)
    if is_encoded:
        encoded.append(f"{escape(name)}: its bytes are written as base64")
        cells = [None if cell is None else b64encode(cell).decode("ascii") for cell in cells]
    # Integers beyond int64 keep all digits in JSON; in other formats they are text.
    is_json = form == "json" or pa.types.is_nested(kind) or pa.types.is_integer(kind)
    spelled = [None if cell is None else spell(cell) for cell in cells]
    return Column(name, "json" if is_json and not is_encoded else "text", spelled)


def _numbers(values: pa.ChunkedArray, dtype: Any) -> np.ndarray:
    numbers: np.ndarray = values.to_numpy().astype(dtype, copy=False)
    return numbers
