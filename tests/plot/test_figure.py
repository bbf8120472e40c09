"""Figures of folded runs."""

import math
import pickle
import subprocess
import sys

import matplotlib
import numpy as np
import pytest
from helpers.checkout import ROOT
from helpers.plot_folds import curve, fold, seeds
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from numpy.testing import assert_allclose, assert_array_equal

from runfold._plot.figure import plot_folded
from runfold._plot.theme import OKABE_ITO
from runfold._reduced import Reduced


def drawn(figure: Figure) -> Figure:
    figure.draw_without_rendering()
    return figure


def legend_of(place: Axes | Figure) -> Legend:
    (found,) = [child for child in place.get_children() if isinstance(child, Legend)]
    return found


def texts(legend: Legend) -> list[str]:
    return [legend.get_title().get_text(), *(text.get_text() for text in legend.get_texts())]


def picture(figure: Figure) -> bytes:
    return figure._repr_png_()  # type: ignore[attr-defined]


def ticks(figure: Figure, axis: str) -> list[str]:
    found = getattr(drawn(figure).axes[0], f"{axis}axis").get_ticklabels()
    return [label.get_text() for label in found]


def test_figure_has_the_line_band_and_labels_of_the_fold() -> None:
    first = curve("val/loss", {"mean": [3, 2, 1], "std": [1, 0.5, 0.25]})
    second = curve("val/loss", {"mean": [6, 5, 4], "std": [1, 1, 1]}, runs=5)
    figure = plot_folded(fold(("lr=1", first), ("lr=2", second)))
    (ax,) = figure.axes
    assert [line.get_xydata().tolist() for line in ax.lines] == [
        [[0, 3], [10, 2], [20, 1]],
        [[0, 6], [10, 5], [20, 4]],
    ]
    (path,) = ax.collections[0].get_paths()
    edges = {(0, 2), (0, 4), (10, 1.5), (10, 2.5), (20, 0.75), (20, 1.25)}
    assert set(map(tuple, path.vertices.tolist())) == edges
    assert [to_hex(line.get_color()).upper() for line in ax.lines] == list(OKABE_ITO[:2])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("step", "val/loss", "")
    assert texts(legend_of(figure)) == ["mean ± std", "lr=1 (n=3)", "lr=2 (n=5)"]


@pytest.mark.parametrize(
    ("count", "shape"), [(1, (1, 1)), (2, (1, 2)), (4, (2, 2)), (5, (2, 3)), (13, (4, 4))]
)
def test_tags_make_a_grid_with_one_legend(count: int, shape: tuple[int, int]) -> None:
    tags = [f"tag-{number}" for number in range(count)]
    figure = plot_folded(seeds("a", "b", tags=tags))
    assert [ax.get_ylabel() for ax in figure.axes] == tags
    grid = figure.axes[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == shape
    place = figure if count > 1 else figure.axes[0]
    assert texts(legend_of(place)) == ["mean ± std", "a (n=3)", "b (n=3)"]


def test_group_has_its_color_in_every_panel() -> None:
    first, second = curve("x", {"mean": [1, 2]}), curve("y", {"mean": [1, 2]})
    left, right = plot_folded(fold(("a", first), ("b", first), ("b", second))).axes
    assert left.lines[1].get_color() == right.lines[0].get_color() == OKABE_ITO[1]


def test_many_groups_have_their_legend_below() -> None:
    figure = plot_folded(seeds(*map(str, range(12))))
    assert len(texts(legend_of(figure))) == 13
    assert figure.get_figheight() > 2.6
    (box,) = [ax.get_position() for ax in drawn(figure).axes]
    assert box.height * figure.get_figheight() > 1.8


def test_long_names_stay_inside_the_figure() -> None:
    figure = plot_folded(seeds("option=value," * 20, "b", tags=["tag/" * 50]))
    box = drawn(figure).axes[0].get_tightbbox()
    assert box is not None
    assert box.xmin >= 0
    assert box.xmax <= figure.bbox.xmax
    assert box.ymax <= figure.bbox.ymax


@pytest.mark.parametrize("tag", ["$x_1$", "50%_of_{a}^b", r"\alpha$"])
def test_names_are_shown_literally(tag: str) -> None:
    figure = plot_folded(seeds(tag, tags=[tag]), title=tag)
    (ax,) = figure.axes
    shown = [ax.yaxis.label, *legend_of(ax).get_texts(), figure._suptitle]  # type: ignore[attr-defined]
    assert [text.get_text() for text in shown] == [tag, f"{tag} (n=3)", tag]
    assert not any(text.get_parse_math() for text in shown)
    drawn(figure)


def test_line_break_in_a_name_is_escaped() -> None:
    (ax,) = plot_folded(seeds("a\nb", tags=["loss\x00\x1b[31m"])).axes
    assert ax.get_ylabel() == "loss\\x00\\x1b[31m"
    assert legend_of(ax).get_texts()[0].get_text() == "a\\nb (n=3)"


def test_nan_is_a_gap_and_an_isolated_point_a_dot() -> None:
    nan = math.nan
    loss = curve("loss", {"mean": [5, 4, nan, 3, nan], "std": [1, 1, nan, 0.5, nan]})
    (ax,) = plot_folded(fold(("", loss))).axes
    (line,) = ax.lines
    assert_array_equal(line.get_ydata(), [5, 4, nan, 3, nan])
    assert (line.get_marker(), line.get_markevery()) == ("o", [3])
    assert [segment.tolist() for segment in ax.collections[1].get_segments()] == [  # type: ignore[attr-defined]
        [[30, 2.5], [30, 3.5]]
    ]


def test_a_panel_without_a_finite_value_says_so() -> None:
    nan, inf = math.nan, math.inf
    empty, drawn = curve("a", {"mean": [nan, inf, -inf]}), curve("b", {"mean": [nan, 1.0, nan]})
    first, second = plot_folded(fold(("", empty), ("", drawn))).axes
    assert [text.get_text() for text in first.texts] == ["No finite values."]
    assert not second.texts


def test_one_run_is_a_plain_line() -> None:
    nan = math.nan
    loss = curve("loss", {"mean": [2, 1], "std": [nan, nan]}, runs=1)
    (ax,) = plot_folded(fold(("", loss))).axes
    assert ax.lines[0].get_ydata().tolist() == [2, 1]
    assert not any(path.vertices.size for path in ax.collections[0].get_paths())
    assert texts(legend_of(ax)) == ["", "1 run"]


def test_a_warning_names_the_line_of_the_caller() -> None:
    with pytest.warns(UserWarning, match="log x-axis") as caught:
        plot_folded(seeds("a"), log_x=True)
    assert caught[0].filename == __file__
    with pytest.warns(UserWarning, match="log x-axis") as caught:
        Reduced.of(seeds("a")).plot(log_x=True)
    assert caught[0].filename == __file__


def test_log_axis_starts_where_the_band_is_cut_off() -> None:
    loss = curve("loss", {"mean": [10, 1, 2], "std": [1, 2, 0.5]})
    with pytest.warns(UserWarning, match="log") as caught:
        figure = plot_folded(fold(("", loss)), log_x=True, log_y=True)
    assert [str(warning.message) for warning in caught] == [
        "1 value of 'loss' is not drawn: a log x-axis can only show values above 0.",
        "The band of 'loss' is cut off one decade below the lowest line, to limit"
        " the range of the log y-axis.",
    ]
    (ax,) = drawn(figure).axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert_allclose(ax.get_ylim()[0], 0.1)


@pytest.mark.parametrize(
    ("ends", "label", "other"),
    [
        ((0.55, 0.95), "0.6", "0.8"),
        ((2000, 9000), "3000", "6000"),
        # More than a decade, or too small for plain numbers.
        ((0.01, 1), "10^{-2}", "10^{0}"),
        ((3e-5, 9e-5), r"4\times10^{-5}", r"6\times10^{-5}"),
    ],
)
def test_log_axis_of_a_decade_or_less_has_plain_numbers(
    ends: tuple[float, float], label: str, other: str
) -> None:
    loss = curve("loss", {"mean": np.geomspace(*ends, 9)})
    (ax,) = drawn(plot_folded(fold(("", loss)), log_y=True)).axes
    labels = [text.get_text() for text in ax.get_yticklabels(which="both")]
    labels = [text.removeprefix(r"$\mathdefault{").removesuffix("}$") for text in labels]
    assert {label, other} <= set(labels)


def test_nothing_positive_on_a_log_axis_is_an_empty_panel() -> None:
    with pytest.warns(UserWarning, match="2 values"):
        drawn(plot_folded(fold(("", curve("loss", {"mean": [-1, -2]}))), log_y=True))


def test_labels_of_the_axes_are_short() -> None:
    assert "15k" in ticks(plot_folded(seeds(size=2000)), "x")
    assert set(ticks(plot_folded(seeds(size=1)), "x")) <= {"−1", "0", "1"}


def test_wall_time_is_a_date() -> None:
    loss = curve("loss", {"mean": [2, 1]}, x=[1.7e9, 1.7e9 + 7200])
    figure = plot_folded(fold(("", loss), x="wall_time"))
    assert any(":" in label for label in ticks(figure, "x"))
    assert figure.axes[0].get_xlabel() == "time"


def test_statistics_without_a_band_have_line_styles_and_names() -> None:
    loss = curve("loss", {"min": [2, 1], "max": [4, 3]})
    figure = plot_folded(fold(("a", loss), ("b", loss)))
    (ax,) = figure.axes
    assert [line.get_linestyle() for line in ax.lines] == ["-", "--", "-", "--"]
    assert texts(legend_of(figure)) == ["", "a (n=3)", "b (n=3)", "min", "max"]
    (ax,) = plot_folded(fold(("", loss))).axes
    assert texts(legend_of(ax)) == ["", "min", "max"]


def test_figure_is_drawn_on_the_callers_axes() -> None:
    mine = Figure()
    left, right = mine.subplots(1, 2)
    assert plot_folded(seeds("a", "b"), ax=right, title="right") is mine
    assert (len(left.lines), len(right.lines), right.get_title()) == (0, 2, "right")
    with pytest.raises(ValueError, match="ax can show one tag, not 2"):
        plot_folded(seeds(tags=["a", "b"]), ax=left)


def test_drawings_on_the_same_axes_differ_in_color_and_share_a_legend() -> None:
    ax = Figure().subplots()
    ax.plot([0, 10], [1, 1], label="baseline")
    for name in "ab":
        plot_folded(seeds(name), ax=ax)
    assert [line.get_color() for line in ax.lines[1:]] == list(OKABE_ITO[1:3])
    assert texts(legend_of(ax)) == ["mean ± std", "baseline", "a (n=3)", "b (n=3)"]
    assert ax.get_ylabel() == "loss"


def test_drawings_of_different_tags_have_the_tag_in_the_legend() -> None:
    ax = Figure().subplots()
    plot_folded(seeds("a", tags=["train/loss"]), ax=ax, legend=False)
    plot_folded(seeds("a", tags=["val/loss"]), ax=ax, smooth=0.5)
    assert texts(legend_of(ax)) == [
        "",
        "a (n=3), train/loss, mean ± std",
        "a (n=3), val/loss, mean ± std, smoothed 0.5",
    ]
    assert ax.get_ylabel() == ""


def test_cleared_axes_begin_with_the_first_color() -> None:
    ax = Figure().subplots()
    plot_folded(seeds("a"), ax=ax)
    ax.clear()
    plot_folded(seeds("b"), ax=ax)
    assert ax.lines[0].get_color() == OKABE_ITO[0]
    assert texts(legend_of(ax)) == ["mean ± std", "b (n=3)"]


def test_the_callers_own_legend_lists_every_drawing() -> None:
    ax = Figure().subplots()
    for name in "ab":
        plot_folded(seeds(name), ax=ax, legend=False)
    ax.figure.figure.draw_without_rendering()
    assert texts(ax.legend()) == ["", "a (n=3)", "b (n=3)"]
    pickle.dumps(ax.figure)


def test_legend_and_size_are_options() -> None:
    figure = plot_folded(seeds("a", "b"), legend=False, size=(5, 2))
    assert figure.get_size_inches().tolist() == [5, 2]
    assert figure.axes[0].get_legend() is None


def test_very_many_points_are_thinned_and_the_spike_stays() -> None:
    values = np.zeros(200_000)
    values[123_456] = 1.0
    loss = curve("loss", {"mean": values, "std": values})
    (ax,) = plot_folded(fold(("", loss))).axes
    y = np.asarray(ax.lines[0].get_ydata())
    assert len(y) < 50_000
    assert y.max() == 1.0


def test_hostile_values_can_be_drawn() -> None:
    inf = math.inf
    values = {"mean": [inf, -inf, 1e308, -1e308, 0], "std": [inf, 1, 1e308, 1, 1]}
    far = [-(2**63), -1, 0, 1, 2**63 - 1]
    for x in (None, far):
        drawn(plot_folded(fold(("", curve("loss", values, x=x)))))


def test_matplotlibs_settings_are_unchanged() -> None:
    before = dict(matplotlib.rcParams)
    drawn(plot_folded(seeds("a", "b")))
    assert dict(matplotlib.rcParams) == before


def test_callers_style_has_no_effect() -> None:
    plain = picture(plot_folded(seeds("a", "b")))
    loud = {"font.size": 30, "xtick.labelsize": 20, "text.usetex": True, "axes.facecolor": "red"}
    with matplotlib.rc_context(loud):
        assert picture(plot_folded(seeds("a", "b"))) == plain


def test_pyplot_is_not_imported() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r})\n"
        "from helpers.plot_folds import seeds; from runfold._plot.figure import plot_folded\n"
        "plot_folded(seeds())._repr_png_(); print('matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_notebook_shows_a_picture_and_a_copy_is_identical() -> None:
    figure = plot_folded(seeds("a", "b"))
    assert picture(figure).startswith(b"\x89PNG\r\n")
    assert picture(pickle.loads(pickle.dumps(figure))) == picture(figure)
