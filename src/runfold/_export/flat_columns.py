"""The columns of an Arrow table for formats that know no lists, bytes or pictures."""

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
    """Columns of plain values, and notes on those whose bytes became base64.

    Numbers are exact; lists are JSON, with NaN and the infinities as words.
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
        cells = [None if one is None else one["bytes"] for one in cells]
    is_encoded = any(isinstance(one, bytes) for one in cells)
    if is_encoded:
        encoded.append(f"{escape(name)}: its bytes are written in base64")
        cells = [None if one is None else b64encode(one).decode("ascii") for one in cells]
    # Integers beyond int64 have all their digits in JSON, and are no numbers elsewhere.
    is_json = form == "json" or pa.types.is_nested(kind) or pa.types.is_integer(kind)
    spelled = [None if one is None else spell(one) for one in cells]
    return Column(name, "json" if is_json and not is_encoded else "text", spelled)


def _numbers(values: pa.ChunkedArray, dtype: Any) -> np.ndarray:
    numbers: np.ndarray = values.to_numpy().astype(dtype, copy=False)
    return numbers
