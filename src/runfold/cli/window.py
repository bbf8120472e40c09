"""Which columns of a wide table a window has room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runfold.cli.terminal import Column
from runfold.text import cell_width, shorten

_GAP = 2
# What a heading, a text and the first column may be cut down to.
_NARROWEST, _FIRST = 8, 24


def fit_columns(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], ranks: Sequence[int], limit: int
) -> dict[int, Column]:
    """The columns that fit, by their numbers, with headings short enough for it.

    The first always stays. Of the others those of the lowest rank come first, and of
    one rank the left ones. A number is shown whole or not at all; a text, and then a
    heading, loses its middle before a column goes.
    """
    cells = list(zip(*rows, strict=True)) or [()] * len(columns)
    sizes = [max(map(cell_width, one), default=0) for one in cells]
    full = [max(size, cell_width(one.heading)) for size, one in zip(sizes, columns, strict=True)]
    least = [
        max(size, min(whole, _NARROWEST)) if column.is_number else min(whole, _NARROWEST)
        for size, whole, column in zip(sizes, full, columns, strict=True)
    ]
    least[0] = min(full[0], _FIRST)
    kept, left = [0], limit - least[0]
    for number in sorted(range(1, len(columns)), key=lambda number: (ranks[number], number)):
        if least[number] + _GAP <= left:
            left -= least[number] + _GAP
            kept.append(number)
    kept.sort()
    excess = sum(full[number] for number in kept) + _GAP * (len(kept) - 1) - limit
    excess -= sum(full[number] - least[number] for number in kept if columns[number].may_shrink)
    found = {number: columns[number] for number in kept}
    if full[0] <= _FIRST:  # or a long text would take its share of it
        found[0] = replace(columns[0], may_shrink=False)
    for number in sorted(kept, key=lambda number: least[number] - full[number]):
        cut = min(excess, full[number] - least[number])
        if cut > 0 and not columns[number].may_shrink:
            excess -= cut
            heading = shorten(columns[number].heading, full[number] - cut)
            found[number] = replace(columns[number], heading=heading)
    return found
