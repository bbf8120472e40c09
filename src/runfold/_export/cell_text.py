"""The columns of a table: their kinds, and their cells as the text of a format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

Kind = Literal["bool", "int", "float", "text", "json"]

# Rows that are spelled at a time: enough to be quick, few enough to stay small.
_BLOCK = 65_536
# What a spreadsheet takes for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


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


def disarm(text: str) -> str:
    """Put a `'` before text that a spreadsheet would take for a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


def count_rows(columns: Sequence[Column]) -> int:
    """How many rows a table has."""
    return len(columns[0].values) if columns else 0
