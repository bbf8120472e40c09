"""How figures show that some runs of a group ended early."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.plot_folds import ended_early, seeds
from matplotlib.lines import Line2D
from numpy.testing import assert_array_equal

from runfold._plot.figure import plot_folded
from runfold._plot.panels import Stroke, make_sheet
from runfold._plot.terminal_curves import draw_curves
from runfold.errors import RunfoldError

COUNTS = [3, 3, 3, 1, 1]
NOTE = (
    "Not all runs have a value everywhere: 'loss' of lr=1 (n=1-3, fewer from step 30). These"
    " parts are dashed; fewer_runs='hide' or 'plain' (--fewer-runs) changes that."
)


def test_part_with_fewer_runs_is_dashed_marked_and_noted() -> None:
    sheet = make_sheet(ended_early(COUNTS))
    (stroke,) = sheet.panels[0].strokes
    assert_array_equal(stroke.fewer, [False, False, False, True, True])
    assert_array_equal(stroke.marks, [False, False, True, False, False])
    assert sheet.groups == {"lr=1": "lr=1 (n=1-3)"}
    assert (sheet.caption, sheet.notes) == ("mean ± std, dashed: fewer runs", [NOTE])


def test_part_with_fewer_runs_can_be_hidden_or_plain() -> None:
    hidden = make_sheet(ended_early(COUNTS), fewer_runs="hide")
    (stroke,) = hidden.panels[0].strokes
    assert_array_equal(stroke.y, [2, 1.75, 1.5, np.nan, np.nan])
    assert_array_equal(np.isnan(stroke.lower), [False, False, False, True, True])
    assert (hidden.groups, hidden.caption) == ({"lr=1": "lr=1 (n=3)"}, "mean ± std")
    assert "These parts are not drawn; fewer_runs='dash' or 'plain'" in hidden.notes[0]
    plain = make_sheet(ended_early(COUNTS), fewer_runs="plain")
    (stroke,) = plain.panels[0].strokes
    assert (stroke.fewer, stroke.marks, plain.groups) == (None, None, {"lr=1": "lr=1 (n=1-3)"})
    with pytest.raises(RunfoldError, match="Did you mean 'dash'"):
        make_sheet(ended_early(COUNTS), fewer_runs="dsh")


def test_late_start_and_gap_are_counted_and_steps_without_any_run_are_not() -> None:
    sheet = make_sheet(ended_early([1, 3, 2, 0, 3], group=""))
    assert_array_equal(sheet.panels[0].strokes[0].marks, [False, True, False, False, True])
    assert sheet.groups == {"": "1-3 runs"}
    assert "'loss' (n=1-3, fewer at 3 of 5 steps)" in sheet.notes[0]


def test_seeds_that_share_no_step_count_one_run_per_point() -> None:
    assert make_sheet(ended_early([1, 1, 1])).groups == {"lr=1": "lr=1 (n=1 of 3)"}
    assert make_sheet(ended_early([1, 2, 1], group="")).groups == {"": "1-2 of 3 runs"}


def test_marks_are_left_out_if_the_number_changes_often() -> None:
    (stroke,) = make_sheet(ended_early([3, 2] * 20)).panels[0].strokes
    assert not stroke.marks.any()
    assert stroke.fewer.sum() == 20


def test_a_curve_with_all_runs_is_drawn_plainly() -> None:
    sheet = make_sheet(seeds("a"))
    (stroke,) = sheet.panels[0].strokes
    assert (stroke.fewer, stroke.marks, sheet.notes) == (None, None, [])


def test_dashes_join_the_solid_line_in_a_figure() -> None:
    with pytest.warns(UserWarning, match="Not all runs have a value everywhere"):
        (ax,) = plot_folded(ended_early(COUNTS)).axes
    solid, dashed, marks = ax.lines
    assert_array_equal(solid.get_ydata(), [2, 1.75, 1.5, np.nan, np.nan])
    assert_array_equal(dashed.get_ydata(), [np.nan, np.nan, 1.5, 1.25, 1])
    assert (marks.get_xdata().tolist(), marks.get_marker()) == ([20], "|")
    assert (solid.get_linestyle(), dashed.get_linestyle()) == ("-", "--")
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["lr=1 (n=1-3)"]


@pytest.mark.parametrize("count", [10, 30])
def test_only_parts_with_fewer_runs_are_dashed_in_a_figure_of_many_groups(count: int) -> None:
    names = [f"g{number}" for number in range(count)]
    groups = {name: ended_early(COUNTS, group=name).groups[name] for name in names}
    folded = replace(ended_early(COUNTS), groups=groups)
    with pytest.warns(UserWarning, match="Not all runs have a value everywhere"):
        figure = plot_folded(folded)
    lines = {line.get_label(): line for line in figure.axes[0].lines if line.get_label() in names}
    assert {line.get_linestyle() for line in lines.values()} == {"-"}
    shown = figure.legends[0].findobj(Line2D)
    assert len({(line.get_color(), line.get_marker()) for line in shown}) == count


def test_log_axis_keeps_the_position_of_dashes() -> None:
    (stroke,) = make_sheet(ended_early(COUNTS), log_x=True).panels[0].strokes
    assert_array_equal(stroke.x, [10, 20, 30, 40])
    assert_array_equal(stroke.fewer, [False, False, True, True])


def test_thinning_keeps_the_position_of_the_change() -> None:
    counts = [3] * 30_000 + [2] * 31
    with pytest.warns(UserWarning, match="Not all runs"):
        (ax,) = plot_folded(ended_early(counts)).axes
    solid, dashed, marks = ax.lines
    assert marks.get_xdata().tolist() == [10 * 29_999]
    last = solid.get_xdata()[np.isfinite(solid.get_ydata())].max()
    assert last == dashed.get_xdata()[np.isfinite(dashed.get_ydata())].min() == 10 * 29_999


def test_terminal_dashes_the_line_and_keeps_isolated_points() -> None:
    x, flat = np.arange(20), np.ones(20)
    fewer = x >= 8
    (row,) = [
        line.partition("|")[2]
        for line in draw_curves([Stroke("", "", x, flat, fewer=fewer)], 23, 1, has_braille=False)
        if "*" in line
    ]
    assert row == "******** ** ** ** **"
    alone = np.where(np.isin(x, [0, 8, 14]), 1.0, np.nan)
    drawn = draw_curves([Stroke("", "", x, alone, fewer=x > 0)], 23, 1, has_braille=False)
    assert drawn[0].count("*") == 3
