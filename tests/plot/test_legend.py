"""Legends do not cover curves, wherever the curves are."""

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest
from helpers.plot_folds import curve, fold, seeds
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from runfold._plot.figure import plot_folded
from runfold._reduce.folded import Folded

X = np.linspace(0, 1, 60)
SHAPES = {
    "falling": [np.exp(-3 * X), np.exp(-2 * X)],
    "rising": [1 - np.exp(-3 * X), 1 - np.exp(-2 * X)],
    "crossing": [X, 1 - X],
    "wave": [np.sin(20 * X), np.cos(20 * X)],
    "full": [np.random.default_rng(0).random(60), np.random.default_rng(1).random(60)],
    "flat": [np.zeros(60), np.ones(60)],
    "spike": [np.where(np.arange(60) == 55, 9.0, 0.1), np.where(np.arange(60) == 3, 9.0, 0.1)],
    "dots": [np.where(np.arange(60) % 7 == 0, X, math.nan), 1 - X],
    "four": [X, 1 - X, X**2, np.sqrt(X)],
}


def folded(shape: str, spread: float = 0.05) -> Folded:
    return fold(
        *(
            (f"group-{number}", curve("loss", {"mean": values, "std": np.full(60, spread)}))
            for number, values in enumerate(SHAPES[shape])
        )
    )


def legends(figure: Figure) -> list[Legend]:
    places = [figure, *figure.axes]
    return [
        child for place in places for child in place.get_children() if isinstance(child, Legend)
    ]


def is_over(legend: Legend, ax: Axes) -> bool:
    """Return whether any of many points on the lines and in the bands is under the legend."""
    box = legend.get_window_extent()
    points = []
    for line in ax.lines:
        x, y = (np.asarray(values, float) for values in line.get_data())
        fine = np.linspace(0, len(x) - 1, 20_000)
        points.append(
            line.get_transform().transform(
                np.column_stack([np.interp(fine, np.arange(len(x)), values) for values in (x, y)])
            )
        )
        dots = np.column_stack([x, y])
        points.append(line.get_transform().transform(dots))
    for part in ax.collections:
        for path in part.get_paths():
            points.append(part.get_transform().transform(path.vertices))
    return any(bool(box.count_contains(some)) for some in points)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("log_y", [False, True])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_legend_of_a_figure_covers_no_curve(shape: str, log_y: bool) -> None:
    figure = plot_folded(folded(shape), log_y=log_y)
    figure.draw_without_rendering()
    (legend,) = legends(figure)
    (ax,) = figure.axes
    assert not is_over(legend, ax)
    box = legend.get_window_extent()
    assert figure.bbox.padded(1).contains(box.x0, box.y0)
    assert figure.bbox.padded(1).contains(box.x1, box.y1)
    if legend.axes is None:
        assert box.y1 <= ax.get_tightbbox().y0 + 1
    # The panel is as large as it would be without a legend.
    assert ax.bbox.height / figure.dpi > 1.8


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [(4, 3), (8, 5)])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_legend_in_the_callers_axes_covers_no_curve(shape: str, size: tuple[int, int]) -> None:
    figure = plt.figure(figsize=size)
    ax = figure.subplots()
    plot_folded(folded(shape), ax=ax, title="mine")
    figure.draw_without_rendering()
    (legend,) = legends(figure)
    assert not is_over(legend, ax)
    plt.close(figure)


def test_legend_is_inside_a_panel_with_room() -> None:
    figure = plot_folded(folded("falling"))
    assert figure.axes[0].get_legend() is not None
    assert figure.get_size_inches().tolist() == [3.5, 2.6]


def test_legend_is_below_a_full_panel_and_the_figure_grows() -> None:
    figure = plot_folded(folded("full"))
    assert figure.axes[0].get_legend() is None
    assert figure.get_figheight() > 2.6
    fixed = plot_folded(folded("full"), size=(4, 3))
    assert fixed.get_size_inches().tolist() == [4, 3]


def test_long_labels_are_broken_into_lines() -> None:
    names = ["x" * 30 + "y" * 30 + str(number) * 90 for number in range(6)]
    figure = plot_folded(seeds(*names))
    figure.draw_without_rendering()
    (legend,) = legends(figure)
    texts = [text.get_text().replace("\n", "") for text in legend.get_texts()]
    assert len(set(texts)) == 6
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.x1


def test_later_lines_still_scale_the_callers_axes() -> None:
    ax = Figure().subplots()
    plot_folded(folded("full"), ax=ax)
    ax.plot([0, 590], [50, 60])
    assert ax.get_ylim()[1] > 60
