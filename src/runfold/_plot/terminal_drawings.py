"""Small text drawings: a curve, bars, a picture."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from runfold._plot.panels import Stroke
from runfold._plot.terminal_curves import draw_curves

if TYPE_CHECKING:
    from collections.abc import Sequence

    import PIL.Image
    from numpy.typing import NDArray

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def draw_curve(
    steps: NDArray[np.int64],
    values: NDArray[np.float64],
    width: int,
    height: int = 15,
    has_braille: bool = True,
) -> list[str]:
    """Return the text lines of a curve with axes, or [] if no value is finite.

    Points in the same column are drawn as one stroke from the lowest to the highest, so
    that spikes remain visible.
    """
    return draw_curves([Stroke("", "", steps, values)], width, height, has_braille=has_braille)


def draw_bars(
    labels: Sequence[str], shares: Sequence[float], width: int, has_blocks: bool = True
) -> list[str]:
    """Return one bar per line with its share; the longest bar fills the width."""
    ends = [f"{share:.1%}" for share in shares]
    margin, end = max(map(len, labels)), max(map(len, ends))
    room = max(width - margin - end - 2, 10)
    most = max(shares) or 1.0
    lines = []
    for label, share, shown in zip(labels, shares, ends, strict=True):
        # Even a tiny share is visible.
        eighths = max(round(share / most * room * 8), 1) if share > 0 else 0
        if has_blocks:
            bar = _EIGHTHS[8] * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
        else:
            bar = "#" * -(-eighths // 8)
        lines.append(f"{label:>{margin}} {bar:<{room}} {shown:>{end}}")
    return lines


def draw_picture(
    image: PIL.Image.Image, width: int, height: int = 24, has_true_color: bool = True
) -> list[str]:
    """Return an image in colored half-block characters, two pixels per character.

    Without 24-bit colors, it uses the terminal's cube of 6 x 6 x 6 colors.
    """
    code = partial(color_code, has_true_color=has_true_color)
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


def color_code(red: int, green: int, blue: int, has_true_color: bool = True) -> str:
    """Return the terminal code of a color, to follow `38;` or `48;`."""
    if has_true_color:
        return f"2;{red};{green};{blue}"
    levels = [round(level / 51) for level in (red, green, blue)]
    return f"5;{16 + 36 * levels[0] + 6 * levels[1] + levels[2]}"
