"""Curves with their bands drawn in text, in braille where the terminal has it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from runfold._plot.panels import Stroke

# The bit of each of a braille character's dots, by row and column.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.uint8)
_BLANK = 0x2800


def draw_curves(
    strokes: Sequence[Stroke],
    width: int,
    height: int = 15,
    *,
    among: Sequence[Stroke] = (),
    marks: str = "*",
    paints: Sequence[str] = (),
    has_braille: bool = True,
    log_x: bool = False,
    log_y: bool = False,
    x_label: str = "",
    show_x: Callable[[Any], str] = "{:.6g}".format,
) -> list[str]:
    """The lines of several curves over the same axes, each with its band in sparse dots.

    `paints` are the colours of the strokes, as codes of a terminal. Without
    them, or without braille, strokes are told apart by `marks`, and only one
    alone has its band. `among` are strokes that the axes have room for too,
    though they are not drawn.
    """
    frame = _frame([*strokes, *among], log_x, log_y)
    if frame is None:
        return []
    labels = _labels(frame, height)
    margin = max(map(len, labels))
    columns = max(width - margin - 2, 10)
    is_marked = not has_braille or (not paints and len(strokes) > 1)
    per_row, per_column = (1, 1) if is_marked else (4, 2)
    dots = [
        _draw(stroke, frame, height * per_row, columns * per_column, per_column)
        for stroke in strokes
    ]
    lines, bands = (np.array(part) for part in zip(*dots, strict=True))
    drawn = _characters(lines, bands, marks) if is_marked else _braille(lines, bands, paints)
    side, corner, edge = "│└─" if has_braille else "|+-"
    rows = [
        f"{label:>{margin}} {side}{row}".rstrip() for label, row in zip(labels, drawn, strict=True)
    ]
    ends = [x if isinstance(x, int) else show_x(x) for x in frame.ends]
    return [
        *rows,
        " " * (margin + 1) + corner + edge * columns,
        " " * (margin + 2) + _below(str(ends[0]), x_label, str(ends[1]), columns),
    ]


@dataclass(frozen=True, slots=True)
class _Frame:
    """The axes: how far they reach. `low` and `high` are logarithms on a log axis."""

    low: float
    high: float
    ends: tuple[int, int] | tuple[float, float]
    log_x: bool
    log_y: bool

    def levels(self, values: NDArray[np.float64], rows: int) -> NDArray[np.intp]:
        """The row of each value, counted from the top."""
        # Halves, because the distance of two floats may not be a finite float. Those of
        # the two smallest floats are the same.
        span = self.high / 2 - self.low / 2
        if span == 0:
            return np.full(len(values), rows // 2, np.intp)
        values = np.log10(values) if self.log_y else values
        share = (self.high / 2 - values / 2) / span
        return np.rint(share * (rows - 1)).astype(np.intp)

    def places(self, x: NDArray[np.generic], columns: int) -> NDArray[np.intp]:
        """The column of each x."""
        if x.dtype == np.int64 and not self.log_x:
            # Unsigned, because the distance of two int64 steps may not fit into an int64.
            distance = x.view(np.uint64) - np.int64(self.ends[0]).view(np.uint64)
            share = distance.astype(np.float64) / ((int(self.ends[1]) - int(self.ends[0])) or 1)
        else:
            at, (first, last) = x.astype(np.float64), np.array(self.ends, np.float64)
            if self.log_x:
                at, first, last = np.log10(at), np.log10(first), np.log10(last)
            share = (at / 2 - first / 2) / ((last / 2 - first / 2) or 1.0)
        return np.rint(share * (columns - 1)).astype(np.intp)


def _frame(strokes: Sequence[Stroke], log_x: bool, log_y: bool) -> _Frame | None:
    """Axes with room for everything that is finite, or None where nothing is."""
    shown = [stroke for stroke in strokes if np.isfinite(stroke.y).any()]
    if not shown:
        return None
    heights = np.concatenate(
        [
            values[np.isfinite(values) & np.isfinite(stroke.y)]
            for stroke in shown
            for values in (stroke.y, stroke.lower, stroke.upper)
            if values is not None
        ]
    )
    x = np.concatenate([stroke.x[np.isfinite(stroke.y)] for stroke in shown])
    low, high = float(heights.min()), float(heights.max())
    if log_y:
        low, high = math.log10(low), math.log10(high)
    return _Frame(low, high, (x.min().item(), x.max().item()), log_x, log_y)


def _labels(frame: _Frame, height: int) -> list[str]:
    """A number at the top, the middle and the bottom row."""
    labels = [""] * height
    low, high = frame.low, frame.high
    at = [high, high / 2 + low / 2, low]
    if frame.log_y:
        at = [10**level for level in at]
    if low == high:
        labels[height // 2] = f"{at[0]:.4g}"
        return labels
    # As many digits as tell the three apart.
    for digits in range(4, 18):
        shown = [f"{value:.{digits}g}" for value in at]
        if len(set(shown)) == 3:
            break
    labels[0], labels[height // 2], labels[-1] = shown
    return labels


def _below(first: str, label: str, last: str, columns: int) -> str:
    """Both ends of the x-axis, and its label between them if there is room."""
    gap = columns - len(first) - len(last)
    if gap <= 0 or first == last:
        return first
    label = label if len(label) + 2 <= gap else ""
    return f"{first}{label:^{gap}}{last}"


def _draw(
    stroke: Stroke, frame: _Frame, rows: int, columns: int, per_column: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The dots of the line, and those of its band; a character has `per_column` columns."""
    line, band = np.zeros((2, rows, columns), np.bool_)
    finite = np.isfinite(stroke.y)
    if not finite.any():
        return line, band
    # The points between two gaps have one number.
    parts = np.cumsum(~finite)[finite]
    places = frame.places(stroke.x[finite], columns)
    order = np.argsort(places, kind="stable")
    places, parts = places[order], parts[order]
    levels = frame.levels(stroke.y[finite][order], rows)
    _draw_line(line, places, levels, parts)
    if stroke.fewer is not None:
        _dash(line, places, stroke.fewer[finite][order], parts, per_column)
    if stroke.lower is not None and stroke.upper is not None:
        lower, upper = stroke.lower[finite][order], stroke.upper[finite][order]
        known = np.isfinite(lower) & np.isfinite(upper)
        if known.any():
            tops, bottoms = (frame.levels(edge[known], rows) for edge in (upper, lower))
            _fill_band(band, places[known], tops, bottoms, parts[known])
    return line, band


def _draw_line(
    canvas: NDArray[np.bool_],
    places: NDArray[np.intp],
    levels: NDArray[np.intp],
    parts: NDArray[np.intp],
) -> None:
    starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    tops, bottoms = np.minimum.reduceat(levels, starts), np.maximum.reduceat(levels, starts)
    ends = np.r_[starts[1:], len(levels)] - 1
    columns = places[starts]
    for number, column in enumerate(columns):
        canvas[tops[number] : bottoms[number] + 1, column] = True
        start, before = starts[number], ends[number - 1]
        if number and parts[start] == parts[before]:
            _connect(canvas, columns[number - 1], levels[before], column, levels[start])


def _dash(
    canvas: NDArray[np.bool_],
    places: NDArray[np.intp],
    fewer: NDArray[np.bool_],
    parts: NDArray[np.intp],
    per_column: int,
) -> None:
    """Leave out every third character of the line where it has fewer runs."""
    columns = canvas.shape[1]
    is_between = fewer[:-1] | fewer[1:]
    begun = np.bincount(places[:-1][is_between], minlength=columns)
    ended = np.bincount(places[1:][is_between] + 1, minlength=columns + 1)[:columns]
    is_dashed = np.cumsum(begun - ended) > 0
    # A point alone would be lost.
    joined = parts[1:] == parts[:-1]
    is_alone = ~(np.r_[False, joined] | np.r_[joined, False])
    is_dashed[places[is_alone | ~fewer]] = False
    characters = np.arange(columns) // per_column
    canvas[:, is_dashed & (characters % 3 == 2)] = False


def _connect(canvas: NDArray[np.bool_], x0: int, y0: int, x1: int, y1: int) -> None:
    count = max(abs(int(x1) - int(x0)), abs(int(y1) - int(y0))) + 1
    rows = np.rint(np.linspace(y0, y1, count)).astype(np.intp)
    canvas[rows, np.rint(np.linspace(x0, x1, count)).astype(np.intp)] = True


def _fill_band(
    canvas: NDArray[np.bool_],
    places: NDArray[np.intp],
    tops: NDArray[np.intp],
    bottoms: NDArray[np.intp],
    parts: NDArray[np.intp],
) -> None:
    starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    known = places[starts]
    columns = np.arange(known[0], known[-1] + 1)
    top = np.rint(np.interp(columns, known, np.minimum.reduceat(tops, starts)))
    bottom = np.rint(np.interp(columns, known, np.maximum.reduceat(bottoms, starts)))
    rows = np.arange(len(canvas))[:, None]
    canvas[:, columns] = (rows >= top) & (rows <= bottom)
    ends = np.r_[starts[1:], len(places)] - 1
    for number in np.flatnonzero(parts[starts[1:]] != parts[ends[:-1]]):
        canvas[:, known[number] + 1 : known[number + 1]] = False


def _braille(
    lines: NDArray[np.bool_], bands: NDArray[np.bool_], paints: Sequence[str]
) -> list[str]:
    """Rows of braille: a cell has the colour of whom most of its dots are of."""
    _, rows, columns = lines.shape
    # Two dots of a cell's eight, so that a band is lighter than a line; four where its
    # faint colour makes it so.
    every, slope = (2, 1) if paints else (4, 2)
    sparse = (np.arange(rows)[:, None] + slope * np.arange(columns)) % every == 0
    by_line, by_band = (
        dots.reshape(-1, rows // 4, 4, columns // 2, 2) for dots in (lines, bands & sparse)
    )
    has_line = by_line.sum(axis=(0, 2, 4)) > 0
    counts = np.where(has_line, by_line.sum(axis=(2, 4)), by_band.sum(axis=(2, 4)))
    dots = np.where(has_line[:, None, :, None], by_line.any(axis=0), by_band.any(axis=0))
    codes = np.einsum("rycx,yx->rc", dots, _DOTS, dtype=np.int64) + _BLANK
    texts = ["".join(map(chr, row)).replace(chr(_BLANK), " ").rstrip() for row in codes.tolist()]
    if not paints:
        return texts
    # The faint ones, for bands, follow on the others.
    colours = np.array([*paints, *(f"2;{paint}" for paint in paints)])
    owners = np.where(has_line, 0, len(paints)) + counts.argmax(axis=0)
    return [_paint(*one) for one in zip(texts, colours[owners].tolist(), strict=True)]


def _paint(text: str, colours: Sequence[str]) -> str:
    """The text with each character in its colour; blanks need none."""
    shown, current = "", ""
    for char, colour in zip(text, colours, strict=False):
        if char != " " and colour != current:
            shown += f"\x1b[0;{colour}m"
            current = colour
        shown += char
    return shown + ("\x1b[0m" if current else "")


def _characters(lines: NDArray[np.bool_], bands: NDArray[np.bool_], marks: str) -> list[str]:
    """Rows of plain characters; where strokes meet, the first is seen."""
    shown = np.full(lines.shape[1:], " ")
    if len(bands) == 1:
        shown[bands[0]] = "."
    for number in reversed(range(len(lines))):
        shown[lines[number]] = marks[number % len(marks)]
    return ["".join(row).rstrip() for row in shown.tolist()]
