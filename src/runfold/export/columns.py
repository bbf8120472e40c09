"""The columns of a table: their kinds, and their cells as the text of a format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from runfold.text import escape

Kind = Literal["bool", "int", "float", "text", "json"]
Values = Sequence[Any] | NDArray[Any]

# Rows that are spelled at a time: enough to be quick, few enough to stay small.
_BLOCK = 65_536
_INT64 = range(-(2**63), 2**63)
_SURROGATE = re.compile("[\ud800-\udfff]")
_DTYPES = {"bool": np.bool_, "int": np.int64, "float": np.float64}


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A named column of one kind.

    `values` is an array of bool, int64 or float64, or a list: of text or JSON, or
    of any kind with None where there is nothing.
    """

    name: str
    kind: Kind
    values: list[Any] | NDArray[Any]

    def part(self, start: int = 0, stop: int | None = None) -> list[Any]:
        """The plain Python values of some rows."""
        values = self.values[start:stop]
        return values if isinstance(values, list) else values.tolist()


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a format writes a value.

    `json` is for what is JSON already, and is text where the format has no place
    for it. `odd` respells numbers, such as `nan`, as it must.
    """

    text: Callable[[str], str]
    json: Callable[[str], str] | None = None
    integer: Callable[[int], str] = int.__repr__
    number: Callable[[float], str] = float.__repr__
    true: str = "true"
    false: str = "false"
    missing: str = ""
    odd: Mapping[str, str] = field(default_factory=dict)

    def spell(self, column: Column, start: int = 0, stop: int | None = None) -> list[str]:
        """The cells of some rows of a column."""
        values = column.part(start, stop)
        if column.kind in ("bool", "text", "json"):
            text = self.json if column.kind == "json" and self.json else self.text
            spelled = {value: self._one(value, text) for value in set(values)}
            return list(map(spelled.__getitem__, values))
        one: Callable[[Any], str] = self.integer if column.kind == "int" else self.number
        if isinstance(column.values, list):
            cells = [self.missing if value is None else one(value) for value in values]
        else:
            cells = list(map(one, values))
        return [self.odd.get(cell, cell) for cell in cells] if self.odd else cells

    def _one(self, value: bool | str | None, text: Callable[[str], str]) -> str:
        if value is None:
            return self.missing
        return text(value) if isinstance(value, str) else self.true if value else self.false

    def rows(self, columns: Sequence[Column]) -> Iterator[Iterator[tuple[str, ...]]]:
        """The rows of a table as tuples of cells, a block of rows at a time."""
        for start in range(0, count_rows(columns), _BLOCK):
            yield zip(
                *(self.spell(column, start, start + _BLOCK) for column in columns), strict=True
            )


def count_rows(columns: Sequence[Column]) -> int:
    """How many rows a table has."""
    return len(columns[0].values) if columns else 0


def make_columns(columns: Mapping[str, Values]) -> list[Column]:
    """Return columns with their kinds; numbers keep every bit, int64 and float64.

    Integers among floats make a column of floats. Any other mixture becomes
    text, and so do integers that int64 cannot hold. A byte of a file name that
    is no UTF-8 becomes a visible escape, because no format can hold it. Raises
    ValueError if the columns are not equally long.
    """
    made = [_make_column(_whole(str(name)), values) for name, values in columns.items()]
    if len({len(column.values) for column in made}) > 1:
        lengths = ", ".join(f"{column.name} {len(column.values)}" for column in made)
        raise ValueError(f"The columns of a table must be equally long: {lengths}")
    return made


def _make_column(name: str, values: Values) -> Column:
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
    # NumPy's own scalars are not what they look like: repr(np.float64(1)) is no number.
    if any(issubclass(one, np.generic) for one in types):
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
    return _SURROGATE.sub(lambda found: escape(found[0]), text)


def _kind(types: set[type]) -> Kind:
    if types == {bool}:
        return "bool"
    if types == {int}:
        return "int"
    return "float" if types and types <= {int, float} else "text"
