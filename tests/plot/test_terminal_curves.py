"""Several curves drawn as text."""

import math
import re

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runfold._humanize import cell_width
from runfold._plot import terminal_curves
from runfold._plot.panels import Stroke
from runfold._plot.terminal_curves import draw_curves

CODE = re.compile(r"\x1b\[[0-9;]*m")
SIZES = st.shared(st.integers(1, 30), key="n")


def stroke(*y: float, x: list[float] | None = None, spread: float | None = None) -> Stroke:
    values = np.array(y, np.float64)
    places = np.arange(len(y)) if x is None else np.array(x)
    if spread is None:
        return Stroke("", "mean", places, values)
    return Stroke("", "mean", places, values, values - spread, values + spread)


def plain(*strokes: Stroke, **options: object) -> list[str]:
    return draw_curves(strokes, 13, 5, marks="*o", has_braille=False, **options)


def test_curves_share_axes_and_have_marks() -> None:
    assert plain(stroke(0, 4), stroke(4, 4), x_label="step") == [
        "4 |oooooooo**",
        "  |      **",
        "2 |    **",
        "  |  **",
        "0 |**",
        "  +----------",
        "   0  step  1",
    ]


def test_band_of_one_curve_is_dotted() -> None:
    assert plain(stroke(2, 2, spread=1)) == [
        "3 |..........",
        "  |..........",
        "2 |**********",
        "  |..........",
        "1 |..........",
        "  +----------",
        "   0        1",
    ]


def test_gaps_stay_open() -> None:
    nan = math.nan
    drawn = plain(stroke(1, 1, 1, nan, 1, 1, 1, 1, 1, 1, spread=1))
    assert drawn[2] == "1 |*** ******"
    assert drawn[0] == "2 |... ......"


def test_log_axes() -> None:
    assert plain(stroke(1, 100, x=[1.0, 100.0]), log_x=True, log_y=True) == [
        "100 |        **",
        "    |      **",
        " 10 |    **",
        "    |  **",
        "  1 |**",
        "    +----------",
        "     1      100",
    ]


def test_axes_fit_curves_that_are_not_drawn() -> None:
    assert plain(stroke(1, 1), among=[stroke(0, 2)])[2] == "1 |**********"


def test_curves_keep_their_colors_and_bands_are_faint() -> None:
    lines = draw_curves([stroke(0, 0, spread=1), stroke(9, 9)], 20, 6, paints=["38;5;1", "38;5;2"])
    assert lines[0].startswith(" 9 │\x1b[0;38;5;2m⠉")
    assert set(CODE.findall("".join(lines))) == {
        "\x1b[0;38;5;1m",
        "\x1b[0;2;38;5;1m",
        "\x1b[0;38;5;2m",
        "\x1b[0m",
    }
    assert all(line.count("\x1b[0m") <= 1 for line in lines)


def test_band_with_color_is_denser() -> None:
    flat = stroke(0, 0, spread=1)
    dots = [
        sum(bin(ord(char) - 0x2800).count("1") for char in "".join(lines) if char >= "\u2800")
        for lines in (draw_curves([flat], 20, 5), draw_curves([flat], 20, 5, paints=["31"]))
    ]
    assert dots == [2 * 16 * 4 + 2 * 16, 4 * 16 * 4 + 2 * 16]


def test_nothing_finite_draws_nothing() -> None:
    assert draw_curves([stroke(math.nan), stroke(math.inf)], 40) == []


def test_the_smallest_floats_are_in_the_middle() -> None:
    assert plain(stroke(0.0, 5e-324))[2].count("*") > 1


def test_labels_of_another_axis_use_its_format() -> None:
    drawn = plain(stroke(1, 2, x=[0.25, 0.5]), show_x="{:.0%}".format)
    assert drawn[-1].split() == ["25%", "50%"]


@given(
    x=arrays.arrays(np.int64, SIZES) | arrays.arrays(np.float64, SIZES, elements=st.floats(0, 1e9)),
    y=arrays.arrays(np.float64, SIZES),
    edges=arrays.arrays(np.float64, st.tuples(st.just(2), SIZES)),
    width=st.integers(20, 120),
    has_braille=st.booleans(),
    paints=st.sampled_from([[], ["31", "32"]]),
)
def test_any_strokes_can_be_drawn_in_any_width(
    x: np.ndarray,
    y: np.ndarray,
    edges: np.ndarray,
    width: int,
    has_braille: bool,
    paints: list[str],
) -> None:
    strokes = [Stroke("", "", x, y, edges.min(axis=0), edges.max(axis=0)), Stroke("", "", x, -y)]
    lines = draw_curves(strokes, width, paints=paints, has_braille=has_braille)
    assert len(lines) in (0, 17)
    assert all(cell_width(CODE.sub("", line)) <= max(width, 50) for line in lines)


# The first column has points on both sides of a gap.
@example(np.array([1, math.nan, 2, 2]), np.array([0, 0, 0, 9]), 3, False)
@given(
    y=arrays.arrays(np.float64, SIZES, elements=st.floats()),
    x=arrays.arrays(
        np.int64, SIZES, elements=st.integers(-9, 9) | st.integers(-(2**63), 2**63 - 1)
    ),
    block=st.integers(1, 9),
    has_braille=st.booleans(),
)
def test_a_long_curve_is_drawn_in_blocks_without_a_difference(
    y: np.ndarray, x: np.ndarray, block: int, has_braille: bool
) -> None:
    long = [Stroke("", "loss", x, y)]
    whole = draw_curves(long, 20, 5, has_braille=has_braille)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terminal_curves, "_BLOCK", block)
        assert draw_curves(long, 20, 5, has_braille=has_braille) == whole
