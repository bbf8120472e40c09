"""The columns of a wide table that fit the window."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runfold._cli.terminal import NARROWEST_NAME, Column, fit_names
from runfold._humanize import cell_width, shorten

_GAP = 2
# Text cells are cut down to this width, and so are headings if they stay distinct.
_NARROWEST = 8


@dataclass(frozen=True, slots=True)
class Fitting:
    """The part of a table that fits a window.

    Attributes:
        columns: the columns that fit, by number, with shortened headings.
        rows: the rows, reduced to these columns.
        folder: the folder removed from the names in the first column.
    """

    columns: dict[int, Column]
    rows: list[list[str]]
    folder: str


def fit_columns(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], ranks: Sequence[int], limit: int
) -> Fitting:
    """Return the part of a table that fits in `limit` terminal columns.

    The first column is always kept, with its names as short as possible while still
    distinct. The other columns are kept in order of rank, and from left to right within
    a rank. A number is shown in full or not at all. Long text cells, and then headings, are
    shortened in the middle before a column is dropped. Names wrap only if no other column
    would fit next to them.
    """
    short = _narrowest_headings([column.heading for column in columns])
    least = [
        max([_least_cell(column, row[number]) for row in rows] + [short[number]])
        for number, column in enumerate(columns)
    ]
    others = sum(least[1:]) + _GAP * (len(columns) - 1)
    names, folder = fit_names(columns[:1], [row[:1] for row in rows], limit - others)
    rows = [[*name, *row[1:]] for name, row in zip(names, rows, strict=True)]
    least[0] = max(cell_width(text) for text in (columns[0].heading, *(row[0] for row in rows)))
    order = sorted(range(1, len(columns)), key=lambda number: (ranks[number], number))
    room = limit - (least[order[0]] + _GAP if order else 0)
    least[0] = min(least[0], max(room, NARROWEST_NAME))
    kept, left = [0], limit - least[0]
    for number in order:
        if least[number] + _GAP <= left:
            left -= least[number] + _GAP
            kept.append(number)
    kept.sort()
    cells = [[row[number] for number in kept] for row in rows]
    return Fitting(_shorten_headings(columns, cells, kept, least, limit), cells, folder)


def _least_cell(column: Column, cell: str) -> int:
    narrowest = NARROWEST_NAME if column.is_name else _NARROWEST
    can_shrink = column.is_name or column.may_shrink
    return min(cell_width(cell), narrowest) if can_shrink else cell_width(cell)


def _narrowest_headings(headings: Sequence[str]) -> list[int]:
    """Return the minimum width of each heading that keeps all headings distinct."""
    sizes = [min(_NARROWEST, cell_width(heading)) for heading in headings]
    while True:
        shown = [shorten(heading, size) for heading, size in zip(headings, sizes, strict=True)]
        counts = Counter(shown)
        growing = [
            number
            for number, heading in enumerate(headings)
            if counts[shown[number]] > 1 and sizes[number] < cell_width(heading)
        ]
        if not growing:
            return sizes
        for number in growing:
            sizes[number] += 1


def _shorten_headings(
    columns: Sequence[Column],
    rows: Sequence[Sequence[str]],
    kept: Sequence[int],
    least: Sequence[int],
    limit: int,
) -> dict[int, Column]:
    """Return the kept columns, with headings cut if shrinking cells does not free enough room."""
    full = {
        number: max(cell_width(text) for text in (columns[number].heading, *cells))
        for number, *cells in zip(kept, *rows, strict=True)
    }
    full[0] = least[0]  # wider names wrap
    excess = sum(full.values()) + _GAP * (len(kept) - 1) - limit
    shrinkable = [
        number for number in kept if columns[number].may_shrink or columns[number].is_name
    ]
    excess -= sum(full[number] - least[number] for number in shrinkable)
    fitted = {number: columns[number] for number in kept}
    for number in sorted(kept, key=lambda number: least[number] - full[number]):
        column = columns[number]
        cut = min(excess, full[number] - least[number])
        if cut > 0 and not (column.may_shrink or column.is_name):
            excess -= cut
            heading = shorten(column.heading, full[number] - cut)
            fitted[number] = replace(column, heading=heading)
    return fitted
