"""Table columns with their kinds, and their cells as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from runfold._export.long_columns import Joined, Repeated, Requested

Kind = Literal["bool", "int", "float", "text", "json"]

# Rows converted at a time: enough to be fast, few enough to use little memory.
_BLOCK = 65_536
# Characters that a spreadsheet reads as the start of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A named column of one kind.

    `values` is an array of bool, int64 or float64, or a list of text or JSON. A column
    of any kind can also be a list with None for missing values. Instead of an array or a list
    of text, `values` can be `Joined`, `Repeated` or `Requested`.
    """

    name: str
    kind: Kind
    values: list[Any] | NDArray[Any] | Joined | Repeated | Requested

    def part(self, start: int = 0, stop: int | None = None) -> list[Any]:
        """Return the values of the given rows as plain Python objects."""
        values = self.values[start:stop]
        return values if isinstance(values, list) else values.tolist()


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a format writes a value.

    `json` writes values that are already JSON; by default, it writes them as text. `odd` replaces
    numbers such as `nan` that the format cannot write.
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
        """Return the cells of the given rows of a column as text."""
        values = column.part(start, stop)
        if column.kind in ("bool", "text", "json"):
            text = self.json if column.kind == "json" and self.json else self.text
            spelled = {value: self._spell_value(value, text) for value in set(values)}
            return list(map(spelled.__getitem__, values))
        number: Callable[[Any], str] = self.integer if column.kind == "int" else self.number
        if isinstance(column.values, list):
            cells = [self.missing if value is None else number(value) for value in values]
        else:
            cells = list(map(number, values))
        return [self.odd.get(cell, cell) for cell in cells] if self.odd else cells

    def _spell_value(self, value: bool | str | None, text: Callable[[str], str]) -> str:
        if value is None:
            return self.missing
        return text(value) if isinstance(value, str) else self.true if value else self.false

    def rows(self, columns: Sequence[Column]) -> Iterator[Iterator[tuple[str, ...]]]:
        """Yield blocks of rows, each row as a tuple of cells."""
        for start in range(0, count_rows(columns), _BLOCK):
            yield zip(
                *(self.spell(column, start, start + _BLOCK) for column in columns), strict=True
            )


def disarm(text: str) -> str:
    """Put a `'` before text that a spreadsheet would read as a formula."""
    return "'" + text if text.startswith(_FORMULA) else text


def count_rows(columns: Sequence[Column]) -> int:
    """Return the number of rows of a table."""
    return len(columns[0].values) if columns else 0
