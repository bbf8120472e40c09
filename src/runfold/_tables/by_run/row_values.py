"""The operands of a condition: functions of a row, and columns that know the values of all rows.

A comparison of a column with a constant is computed for all rows at once if its result is certainly
the same as row by row.
"""

from __future__ import annotations

import fnmatch
import operator
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from runfold._tables.by_run.tag_statistics import Found

ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
# Up to this number, float64 has all integers.
_EXACT = 1 << 53


class Mask:
    """Whether each row matches."""

    def __init__(self, rows: NDArray[np.bool_]) -> None:
        self.rows = rows

    def __call__(self, row: int) -> bool:
        return self._list[row]

    @cached_property
    def _list(self) -> list[bool]:
        found: list[bool] = self.rows.tolist()
        return found


class Constant:
    """The same value in every row."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __call__(self, row: int) -> Any:
        return self.value


class Numbers:
    """A number in some of the rows; the others have none."""

    def __init__(self, found: Found, count: int) -> None:
        self._rows, self._values = found
        self._count = count

    def __call__(self, row: int) -> Any:
        return self._by_row.get(row)

    @cached_property
    def _by_row(self) -> dict[int, Any]:
        return dict(zip(self._rows.tolist(), self._values.tolist(), strict=True))

    def compare(self, sign: str, other: Any) -> Mask | None:
        """Return the rows that match the comparison with a constant; None if it is not certain."""
        if sign not in ORDER or kind_of(other) is not float:
            return None
        values: NDArray[Any] = self._values
        if values.dtype == np.int64 and -_EXACT <= other <= _EXACT:
            other = int(other) if other == int(other) else other
            if isinstance(other, float) and not (np.abs(values) <= _EXACT).all():
                return None
        elif values.dtype == np.float64 and (isinstance(other, float) or abs(other) <= _EXACT):
            other = float(other)
        else:
            return None
        mask = np.zeros(self._count, np.bool_)
        mask[self._rows] = ORDER[sign](values, other)
        return Mask(mask)


class Cells:
    """The values of a column that can be of any type."""

    def __init__(self, cells: Sequence[Any]) -> None:
        self._cells = cells

    def __call__(self, row: int) -> Any:
        return self._cells[row]

    def compare(self, sign: str, other: Any) -> Mask | None:
        """Return the rows that match the comparison with a constant; None if not all are text."""
        if isinstance(other, list) or not set(map(type, self._cells)) <= {str, type(None)}:
            return None
        matching = {
            value for value in set(self._cells) if compare(value, sign, other, other is None)
        }
        return Mask(np.fromiter(map(matching.__contains__, self._cells), np.bool_))


def compare_rows(left: Any, sign: str, right: Any, is_none: bool) -> Callable[[int], bool]:
    """Return the comparison of two operands, as a Mask if possible."""
    mask = None
    if isinstance(right, Constant) and isinstance(left, Numbers | Cells):
        mask = left.compare(sign, right.value)
    elif isinstance(left, Constant) and isinstance(right, Numbers) and sign in _MIRRORED:
        mask = right.compare(_MIRRORED[sign], left.value)
    return mask or (lambda row: compare(left(row), sign, right(row), is_none))


def compare(left: Any, sign: str, right: Any, is_none: bool = False) -> bool:
    if sign.endswith("in"):
        return _is_in(left, right) if sign == "in" else left is not None and not _is_in(left, right)
    if is_none and sign in ("==", "!="):
        return (left is right) == (sign == "==")
    if left is None or right is None:
        return False
    if sign.endswith("like"):
        if not (isinstance(left, str) and isinstance(right, str)):
            return sign != "like"
        return (re.match(fnmatch.translate(right), left) is not None) == (sign == "like")
    if kind_of(left) is not kind_of(right):
        return sign == "!="
    if sign not in ("==", "!=") and kind_of(left) not in (float, str):
        return False
    return bool(ORDER[sign](left, right))


def _is_in(left: Any, right: Any) -> bool:
    if isinstance(right, list):
        return any(compare(left, "==", item, is_none=item is None) for item in right)
    return isinstance(left, str) and isinstance(right, str) and left in right


def kind_of(value: Any) -> type:
    return float if isinstance(value, int | float) and not isinstance(value, bool) else type(value)
