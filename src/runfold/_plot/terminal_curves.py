"""Curves with bands in text, drawn with Braille dots if the terminal has them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from runfold._plot.panels import Stroke

# The bit of each dot in a Braille character, by row and column.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.uint8)
_BLANK = 0x2800
# Points located at a time, so that a long curve needs little memory besides its own.
_BLOCK = 1 << 18


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
    """Return text lines with several curves on the same axes, and their bands as sparse dots.

    `paints` are the terminal color codes of the strokes. Without colors or Braille,
    strokes differ by `marks`, and only a single stroke has a band. The axes also cover
    the strokes in `among`, which are not drawn.
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
    """The limits of the axes. `low` and `high` are logarithms on a log axis."""

    low: float
    high: float
    ends: tuple[int, int] | tuple[float, float]
    log_x: bool
    log_y: bool

    def levels(self, values: NDArray[np.float64], rows: int) -> NDArray[np.intp]:
        """Return the row of each value, counted from the top."""
        # Divide by 2 first, because the distance between two floats may not be finite. The
        # halves of the smallest floats are equal, so the span can be 0.
        span = self.high / 2 - self.low / 2
        if span == 0:
            return np.full(len(values), rows // 2, np.intp)
        values = np.log10(values) if self.log_y else values
        share = (self.high / 2 - values / 2) / span
        return np.rint(share * (rows - 1)).astype(np.intp)

    def find_columns(self, x: NDArray[np.generic], columns: int) -> NDArray[np.intp]:
        """Return the column of each x."""
        if x.dtype == np.int64 and not self.log_x:
            # Unsigned, because the distance between two steps may not fit into an int64.
            distance = x.view(np.uint64) - np.int64(self.ends[0]).view(np.uint64)
            share = distance.astype(np.float64) / ((int(self.ends[1]) - int(self.ends[0])) or 1)
        else:
            at, (first, last) = x.astype(np.float64), np.array(self.ends, np.float64)
            if self.log_x:
                at, first, last = np.log10(at), np.log10(first), np.log10(last)
            share = (at / 2 - first / 2) / ((last / 2 - first / 2) or 1.0)
        return np.rint(share * (columns - 1)).astype(np.intp)


def _frame(strokes: Sequence[Stroke], log_x: bool, log_y: bool) -> _Frame | None:
    """Return axes that fit all finite values, or None if there are none."""
    shown = [stroke for stroke in strokes if np.isfinite(stroke.y).any()]
    if not shown:
        return None
    heights = _join(
        [
            _select(values, np.isfinite(values) & np.isfinite(stroke.y))
            for stroke in shown
            for values in (stroke.y, stroke.lower, stroke.upper)
            if values is not None
        ]
    )
    x = _join([_select(stroke.x, np.isfinite(stroke.y)) for stroke in shown])
    low, high = float(heights.min()), float(heights.max())
    if log_y:
        low, high = math.log10(low), math.log10(high)
    return _Frame(low, high, (x.min().item(), x.max().item()), log_x, log_y)


def _select(values: NDArray[Any], mask: NDArray[np.bool_]) -> NDArray[Any]:
    return values if mask.all() else values[mask]


def _join(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _labels(frame: _Frame, height: int) -> list[str]:
    """Return one label per row, with numbers in the top, middle and bottom rows."""
    labels = [""] * height
    low, high = frame.low, frame.high
    at = [high, high / 2 + low / 2, low]
    if frame.log_y:
        at = [10**level for level in at]
    if low == high:
        labels[height // 2] = f"{at[0]:.4g}"
        return labels
    # Use the fewest digits that keep the three numbers distinct.
    for digits in range(4, 18):
        shown = [f"{value:.{digits}g}" for value in at]
        if len(set(shown)) == 3:
            break
    labels[0], labels[height // 2], labels[-1] = shown
    return labels


def _below(first: str, label: str, last: str, columns: int) -> str:
    """Return both ends of the x-axis, with its label between them if there is room."""
    gap = columns - len(first) - len(last)
    if gap <= 0 or first == last:
        return first
    label = label if len(label) + 2 <= gap else ""
    return f"{first}{label:^{gap}}{last}"


def _draw(
    stroke: Stroke, frame: _Frame, rows: int, columns: int, per_column: int
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the dots of a line and of its band; a character is `per_column` dots wide."""
    line, band = np.zeros((2, rows, columns), np.bool_)
    finite = np.isfinite(stroke.y)
    if not finite.any():
        return line, band
    if len(finite) > _BLOCK and stroke.lower is None and stroke.fewer is None:
        _draw_line(line, *_locate(stroke, frame, rows, columns))
        return line, band
    # Points between two gaps have the same part number.
    parts = np.cumsum(~finite)[finite]
    positions = frame.find_columns(stroke.x[finite], columns)
    order = np.argsort(positions, kind="stable")
    positions, parts = positions[order], parts[order]
    levels = frame.levels(stroke.y[finite][order], rows)
    _draw_line(line, positions, levels, parts)
    if stroke.fewer is not None:
        _dash(line, positions, stroke.fewer[finite][order], parts, per_column)
    if stroke.lower is not None and stroke.upper is not None:
        lower, upper = stroke.lower[finite][order], stroke.upper[finite][order]
        known = np.isfinite(lower) & np.isfinite(upper)
        if known.any():
            tops, bottoms = (frame.levels(edge[known], rows) for edge in (upper, lower))
            _fill_band(band, positions[known], tops, bottoms, parts[known])
    return line, band


def _locate(
    stroke: Stroke, frame: _Frame, rows: int, columns: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the sorted positions of a long line's points, with their levels and part numbers.

    Of each block of points and each column, only those that `_draw_line` needs are included:
    the first, the highest, the lowest and the last.
    """
    pieces = []
    gaps = 0
    for start in range(0, len(stroke.y), _BLOCK):
        y = stroke.y[start : start + _BLOCK]
        finite = np.isfinite(y)
        parts = gaps + np.cumsum(~finite)
        gaps = int(parts[-1])
        if not finite.any():
            continue
        positions = frame.find_columns(stroke.x[start : start + _BLOCK][finite], columns)
        order = np.argsort(positions, kind="stable")
        positions, parts = positions[order], parts[finite][order]
        levels = frame.levels(y[finite][order], rows)
        first = np.flatnonzero(np.r_[True, positions[1:] != positions[:-1]])
        last = np.r_[first[1:], len(levels)] - 1
        tops, bottoms = np.minimum.reduceat(levels, first), np.maximum.reduceat(levels, first)
        pieces.append(
            (
                np.repeat(positions[first], 4),
                np.stack([levels[first], tops, bottoms, levels[last]], axis=1).ravel(),
                np.stack([parts[first]] * 2 + [parts[last]] * 2, axis=1).ravel(),
            )
        )
    positions, levels, parts = map(np.concatenate, zip(*pieces, strict=True))
    order = np.argsort(positions, kind="stable")
    return positions[order], levels[order], parts[order]


def _draw_line(
    canvas: NDArray[np.bool_],
    positions: NDArray[np.intp],
    levels: NDArray[np.intp],
    parts: NDArray[np.intp],
) -> None:
    starts = np.flatnonzero(np.r_[True, positions[1:] != positions[:-1]])
    tops, bottoms = np.minimum.reduceat(levels, starts), np.maximum.reduceat(levels, starts)
    ends = np.r_[starts[1:], len(levels)] - 1
    columns = positions[starts]
    for number, column in enumerate(columns):
        canvas[tops[number] : bottoms[number] + 1, column] = True
        start, before = starts[number], ends[number - 1]
        if number and parts[start] == parts[before]:
            _connect(canvas, columns[number - 1], levels[before], column, levels[start])


def _dash(
    canvas: NDArray[np.bool_],
    positions: NDArray[np.intp],
    fewer: NDArray[np.bool_],
    parts: NDArray[np.intp],
    per_column: int,
) -> None:
    """Remove every third character of the line where it has fewer runs."""
    columns = canvas.shape[1]
    is_between = fewer[:-1] | fewer[1:]
    begun = np.bincount(positions[:-1][is_between], minlength=columns)
    ended = np.bincount(positions[1:][is_between] + 1, minlength=columns + 1)[:columns]
    is_dashed = np.cumsum(begun - ended) > 0
    # Do not dash isolated points, because they would disappear.
    joined = parts[1:] == parts[:-1]
    is_alone = ~(np.r_[False, joined] | np.r_[joined, False])
    is_dashed[positions[is_alone | ~fewer]] = False
    characters = np.arange(columns) // per_column
    canvas[:, is_dashed & (characters % 3 == 2)] = False


def _connect(canvas: NDArray[np.bool_], x0: int, y0: int, x1: int, y1: int) -> None:
    count = max(abs(int(x1) - int(x0)), abs(int(y1) - int(y0))) + 1
    rows = np.rint(np.linspace(y0, y1, count)).astype(np.intp)
    canvas[rows, np.rint(np.linspace(x0, x1, count)).astype(np.intp)] = True


def _fill_band(
    canvas: NDArray[np.bool_],
    positions: NDArray[np.intp],
    tops: NDArray[np.intp],
    bottoms: NDArray[np.intp],
    parts: NDArray[np.intp],
) -> None:
    starts = np.flatnonzero(np.r_[True, positions[1:] != positions[:-1]])
    known = positions[starts]
    columns = np.arange(known[0], known[-1] + 1)
    top = np.rint(np.interp(columns, known, np.minimum.reduceat(tops, starts)))
    bottom = np.rint(np.interp(columns, known, np.maximum.reduceat(bottoms, starts)))
    rows = np.arange(len(canvas))[:, None]
    canvas[:, columns] = (rows >= top) & (rows <= bottom)
    ends = np.r_[starts[1:], len(positions)] - 1
    for number in np.flatnonzero(parts[starts[1:]] != parts[ends[:-1]]):
        canvas[:, known[number] + 1 : known[number + 1]] = False


def _braille(
    lines: NDArray[np.bool_], bands: NDArray[np.bool_], paints: Sequence[str]
) -> list[str]:
    """Return rows of Braille; a cell has the color of the stroke with the most dots in it."""
    _, rows, columns = lines.shape
    # A band has two of the eight dots per cell, so that it is lighter than a line, or four
    # if it also has a fainter color.
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
    # The faint colors of the bands come after those of the lines.
    colors = np.array([*paints, *(f"2;{paint}" for paint in paints)])
    owners = np.where(has_line, 0, len(paints)) + counts.argmax(axis=0)
    return [_paint(*row) for row in zip(texts, colors[owners].tolist(), strict=True)]


def _paint(text: str, colors: Sequence[str]) -> str:
    """Return text with each character in its color; blanks need no color."""
    shown, current = "", ""
    for char, color in zip(text, colors, strict=False):
        if char != " " and color != current:
            shown += f"\x1b[0;{color}m"
            current = color
        shown += char
    return shown + ("\x1b[0m" if current else "")


def _characters(lines: NDArray[np.bool_], bands: NDArray[np.bool_], marks: str) -> list[str]:
    """Return rows of plain characters; if strokes overlap, the first is visible."""
    shown = np.full(lines.shape[1:], " ")
    if len(bands) == 1:
        shown[bands[0]] = "."
    for number in reversed(range(len(lines))):
        shown[lines[number]] = marks[number % len(marks)]
    return ["".join(row).rstrip() for row in shown.tolist()]
