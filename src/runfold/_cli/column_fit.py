"""Which columns of a wide table a window has room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runfold._cli.terminal import NARROWEST_NAME, Column, fit_names
from runfold._humanize import cell_width, shorten

_GAP = 2
# A text is cut down to this width, and a heading if it stays distinct from the others.
_NARROWEST = 8


@dataclass(frozen=True, slots=True)
class Fitting:
    """The part of a table that fits a window.

    Attributes:
        columns: the columns that fit, by their numbers, with short headings.
        rows: the rows, with the cells of these columns only.
        folder: the folder that the names in the first column are in and do not repeat.
    """

    columns: dict[int, Column]
    rows: list[list[str]]
    folder: str


def fit_columns(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], ranks: Sequence[int], limit: int
) -> Fitting:
    """Return the part of a table that fits into `limit` columns of a terminal.

    The first column always stays, and its names are as short as they can be without
    two becoming the same. Of the others those of the lowest rank come first, and of
    one rank the left ones. A number is shown whole or not at all; a text, and then a
    heading, loses its middle before a column goes. Names wrap only where not even
    one other column would fit next to them.
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
    may_lose = column.is_name or column.may_shrink
    return min(cell_width(cell), narrowest) if may_lose else cell_width(cell)


def _narrowest_headings(headings: Sequence[str]) -> list[int]:
    """Return how narrow each heading can be so that no two become the same."""
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
    """Return the kept columns, with headings cut where texts cannot give up enough room."""
    full = {
        number: max(cell_width(text) for text in (columns[number].heading, *cells))
        for number, *cells in zip(kept, *rows, strict=True)
    }
    full[0] = least[0]  # wider names wrap
    excess = sum(full.values()) + _GAP * (len(kept) - 1) - limit
    able = [number for number in kept if columns[number].may_shrink or columns[number].is_name]
    excess -= sum(full[number] - least[number] for number in able)
    found = {number: columns[number] for number in kept}
    for number in sorted(kept, key=lambda number: least[number] - full[number]):
        column = columns[number]
        cut = min(excess, full[number] - least[number])
        if cut > 0 and not (column.may_shrink or column.is_name):
            excess -= cut
            heading = shorten(column.heading, full[number] - cut)
            found[number] = replace(column, heading=heading)
    return found
