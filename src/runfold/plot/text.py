"""Small drawings in text: a curve, bars, a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import PIL.Image
    from numpy.typing import NDArray

# The bit of each of a braille character's dots, by row and column.
_DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]], np.uint8)
_BLANK_BRAILLE = 0x2800
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def draw_curve(
    steps: NDArray[np.int64],
    values: NDArray[np.float64],
    width: int,
    height: int = 15,
    has_braille: bool = True,
) -> list[str]:
    """The lines of a curve with its axes; no lines where no value is finite.

    Points that share a column are drawn as one stroke from the lowest to the
    highest, so that no spike is lost.
    """
    finite = np.isfinite(values)
    steps, values = steps[finite], values[finite]
    if not len(values):
        return []
    low, high = float(values.min()), float(values.max())
    labels = _labels(low, high, height)
    margin = max(map(len, labels))
    columns = max(width - margin - 2, 10)
    per_column, per_row = (2, 4) if has_braille else (1, 1)
    canvas = np.zeros((height * per_row, columns * per_column), np.bool_)
    _draw(canvas, _places(steps, canvas.shape[1]), _levels(values, low, high, canvas.shape[0]))
    side, corner = ("│", "└") if has_braille else ("|", "+")
    drawn = _braille(canvas) if has_braille else _stars(canvas)
    lines = [f"{label:>{margin}} {side}{row}" for label, row in zip(labels, drawn, strict=True)]
    first, last = f"{int(steps.min())}", f"{int(steps.max())}"
    lines.append(" " * (margin + 1) + corner + ("─" if has_braille else "-") * columns)
    gap = columns - len(first) - len(last)
    ends = f"{first}{' ' * gap}{last}" if gap > 0 and first != last else first
    lines.append(" " * (margin + 2) + ends)
    return [line.rstrip() for line in lines]


def _labels(low: float, high: float, height: int) -> list[str]:
    """A number at the top, the middle and the bottom row."""
    labels = [""] * height
    if low == high:
        labels[height // 2] = f"{low:.4g}"
        return labels
    # As many digits as tell the three apart.
    for digits in range(4, 18):
        at = [f"{value:.{digits}g}" for value in (high, high / 2 + low / 2, low)]
        if len(set(at)) == 3:
            break
    labels[0], labels[height // 2], labels[-1] = at
    return labels


def _places(steps: NDArray[np.int64], columns: int) -> NDArray[np.intp]:
    # Unsigned, because the distance of two int64 steps may not fit into an int64.
    distance = (steps.view(np.uint64) - steps.min().view(np.uint64)).astype(np.float64)
    span = distance.max() or 1.0
    places: NDArray[np.intp] = np.rint(distance / span * (columns - 1)).astype(np.intp)
    return places


def _levels(values: NDArray[np.float64], low: float, high: float, rows: int) -> NDArray[np.intp]:
    if low == high:
        return np.full(len(values), rows // 2, np.intp)
    # Halves, because the distance of two floats may not be a finite float.
    share = (high / 2 - values / 2) / (high / 2 - low / 2)
    return np.rint(share * (rows - 1)).astype(np.intp)


def _draw(canvas: NDArray[np.bool_], places: NDArray[np.intp], levels: NDArray[np.intp]) -> None:
    order = np.argsort(places, kind="stable")
    places, levels = places[order], levels[order]
    starts = np.flatnonzero(np.r_[True, places[1:] != places[:-1]])
    tops, bottoms = np.minimum.reduceat(levels, starts), np.maximum.reduceat(levels, starts)
    ends = levels[np.r_[starts[1:], len(levels)] - 1]
    columns = places[starts]
    for number, column in enumerate(columns):
        canvas[tops[number] : bottoms[number] + 1, column] = True
        if number:
            _connect(canvas, columns[number - 1], ends[number - 1], column, levels[starts[number]])


def _connect(canvas: NDArray[np.bool_], x0: int, y0: int, x1: int, y1: int) -> None:
    count = max(abs(int(x1) - int(x0)), abs(int(y1) - int(y0))) + 1
    rows = np.rint(np.linspace(y0, y1, count)).astype(np.intp)
    canvas[rows, np.rint(np.linspace(x0, x1, count)).astype(np.intp)] = True


def _braille(canvas: NDArray[np.bool_]) -> list[str]:
    rows, columns = canvas.shape
    cells = canvas.reshape(rows // 4, 4, columns // 2, 2)
    codes = np.einsum("rycx,yx->rc", cells, _DOTS, dtype=np.int64) + _BLANK_BRAILLE
    return ["".join(map(chr, row)).replace(chr(_BLANK_BRAILLE), " ") for row in codes.tolist()]


def _stars(canvas: NDArray[np.bool_]) -> list[str]:
    return ["".join("*" if dot else " " for dot in row) for row in canvas]


def draw_bars(
    labels: Sequence[str], shares: Sequence[float], width: int, has_blocks: bool = True
) -> list[str]:
    """One bar a line, the longest as long as the width allows, each with its share."""
    ends = [f"{share:.1%}" for share in shares]
    margin, end = max(map(len, labels)), max(map(len, ends))
    room = max(width - margin - end - 2, 10)
    most = max(shares) or 1.0
    lines = []
    for label, share, shown in zip(labels, shares, ends, strict=True):
        # What is there is seen, however little.
        eighths = max(round(share / most * room * 8), 1) if share > 0 else 0
        if has_blocks:
            bar = _EIGHTHS[8] * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        else:
            bar = "#" * -(-eighths // 8)
        lines.append(f"{label:>{margin}} {bar:<{room}} {shown:>{end}}")
    return lines


def draw_picture(
    image: PIL.Image.Image, width: int, height: int = 24, has_true_colour: bool = True
) -> list[str]:
    """The image in coloured half-block characters: two pixels a character.

    Without 24-bit colours the terminal's cube of 6 x 6 x 6 colours is used.
    """
    code = _true_colour if has_true_colour else _cube_colour
    scale = min(1.0, width / image.width, 2 * height / image.height)
    size = max(1, round(image.width * scale)), max(1, round(image.height * scale))
    pixels = np.asarray(image.convert("RGB").resize(size))
    if len(pixels) % 2:
        pixels = np.concatenate([pixels, pixels[-1:]])
    lines = []
    for upper, lower in zip(pixels[::2], pixels[1::2], strict=True):
        cells = [
            f"\x1b[38;{code(*top)};48;{code(*bottom)}m▀"
            for top, bottom in zip(upper.tolist(), lower.tolist(), strict=True)
        ]
        lines.append("".join(cells) + "\x1b[0m")
    return lines


def _true_colour(red: int, green: int, blue: int) -> str:
    return f"2;{red};{green};{blue}"


def _cube_colour(red: int, green: int, blue: int) -> str:
    levels = [round(level / 51) for level in (red, green, blue)]
    return f"5;{16 + 36 * levels[0] + 6 * levels[1] + levels[2]}"
