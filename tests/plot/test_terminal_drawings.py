"""Drawings made of text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from runfold._cli.terminal import Column, format_table
from runfold._humanize import cell_width, shorten
from runfold._plot.terminal_drawings import draw_bars, draw_curve


def curve(steps: list[int], values: list[float], **options: object) -> list[str]:
    return draw_curve(np.array(steps), np.array(values, float), **options)


def test_rising_line_goes_from_corner_to_corner() -> None:
    assert curve([0, 4], [0.0, 4.0], width=13, height=5, has_braille=False) == [
        "4 |        **",
        "  |      **",
        "2 |    **",
        "  |  **",
        "0 |**",
        "  +----------",
        "   0        4",
    ]


def test_spike_among_many_points_is_drawn() -> None:
    values = np.zeros(100_000)
    values[31_234] = 1.0
    top = draw_curve(np.arange(100_000), values, width=60)[0]
    assert len(top.partition("│")[2].strip()) == 1


def test_constant_and_single_values_have_one_label() -> None:
    for values in ([3.0], [3.0, 3.0]):
        lines = curve(list(range(len(values))), values, width=40)
        assert sum("3 │" in line for line in lines) == 1


def test_nothing_finite_draws_nothing() -> None:
    assert curve([0, 1], [np.nan, np.inf], width=40) == []


@given(
    steps=arrays.arrays(np.int64, st.shared(st.integers(1, 30), key="n")),
    values=arrays.arrays(np.float64, st.shared(st.integers(1, 30), key="n")),
    width=st.integers(20, 120),
)
def test_any_points_can_be_drawn_in_any_width(
    steps: np.ndarray, values: np.ndarray, width: int
) -> None:
    lines = draw_curve(steps, values, width)
    assert len(lines) in (0, 17)
    assert all(cell_width(line) <= max(width, 40) for line in lines)


def test_tiny_bars_are_visible_and_empty_bars_are_not() -> None:
    lines = draw_bars(["a", "b", "c"], [0.999, 0.001, 0.0], width=30)
    assert [line.split() for line in lines] == [
        ["a", "█" * 22, "99.9%"],
        ["b", "▏", "0.1%"],
        ["c", "0.0%"],
    ]


@pytest.mark.parametrize(
    ("text", "size", "shown"),
    [
        ("seed-1", 6, "seed-1"),
        ("sweep/lr-0.1/seed-7", 10, "swe…seed-7"),
        ("種子種子種子", 7, "種…種子"),
        ("abc", 1, "…"),
    ],
)
def test_shortened_text_keeps_its_end(text: str, size: int, shown: str) -> None:
    assert shorten(text, size) == shown
    assert cell_width(shown) <= size


def test_widest_column_shrinks_first() -> None:
    columns = [Column("run", may_shrink=True), Column("tag", may_shrink=True), Column("n", True)]
    rows = [["short", "a/very/long/tag/indeed", "1"], ["other", "b", "12"]]
    assert format_table(columns, rows, 24) == [
        "run    tag             n",
        "short  a/ve…g/indeed   1",
        "other  b              12",
    ]
