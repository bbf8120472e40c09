"""Arrays and lists as columns of one kind, which every format can store."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runfold._export.cell_text import Column, Kind
from runfold._export.long_columns import Joined, Repeated
from runfold._humanize import escape

Values = Sequence[Any] | NDArray[Any] | Joined

_INT64 = range(-(2**63), 2**63)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DTYPES = {"bool": np.bool_, "int": np.int64, "float": np.float64}


def make_columns(columns: Mapping[str, Values]) -> list[Column]:
    """Return columns with their kinds; int64 and float64 numbers stay exact.

    A mixture of integers and floats becomes floats. Any other mixture becomes text, and
    so do integers beyond int64. Bytes of file names that are not UTF-8 become visible
    escapes, because no format can store them. Raises ValueError if the columns have
    different lengths.
    """
    result = [_make_column(_whole(str(name)), values) for name, values in columns.items()]
    if len({len(column.values) for column in result}) > 1:
        lengths = ", ".join(f"{column.name} {len(column.values)}" for column in result)
        raise ValueError(f"The columns of a table must have the same length: {lengths}")
    return result


def _make_column(name: str, values: Values) -> Column:
    if isinstance(values, Joined):
        if values.dtype in (np.int64, np.float64):
            return Column(name, "int" if values.dtype == np.int64 else "float", values)
        return _make_column(name, values[:])
    if isinstance(values, Repeated) and all(values.counts):
        column = _make_column(name, values.distinct)
        if column.kind == "text":
            return Column(name, "text", Repeated(column.part(), values.counts))
    if isinstance(values, np.ndarray):
        if values.dtype == np.bool_:
            return Column(name, "bool", values)
        if np.can_cast(values.dtype, np.int64):
            return Column(name, "int", values.astype(np.int64, copy=False))
        if values.dtype.kind == "f":
            return Column(name, "float", values.astype(np.float64, copy=False))
        values = values.tolist()
    plain = list(values)
    types = set(map(type, plain))
    # The repr of a NumPy scalar is not a number: "np.float64(1.0)".
    if any(issubclass(scalar, np.generic) for scalar in types):
        plain = [value.item() if isinstance(value, np.generic) else value for value in plain]
        types = set(map(type, plain))
    kind = _kind(types - {type(None)})
    if kind == "int" and not all(value is None or value in _INT64 for value in plain):
        kind = "text"
    if kind == "text":
        if not types <= {str, type(None)}:
            plain = [value if value is None else str(value) for value in plain]
        whole = {text: text and _whole(text) for text in set(plain)}
        return Column(name, kind, list(map(whole.__getitem__, plain)))
    if kind == "float":
        plain = [value if value is None else float(value) for value in plain]
    is_full = all(value is not None for value in plain)
    return Column(name, kind, np.array(plain, _DTYPES[kind]) if is_full else plain)


def _whole(text: str) -> str:
    return _SURROGATE.sub(lambda match: escape(match[0]), text)


def _kind(types: set[type]) -> Kind:
    if types == {bool}:
        return "bool"
    if types == {int}:
        return "int"
    return "float" if types and types <= {int, float} else "text"
