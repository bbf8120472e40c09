"""`run[tag].plot()`: the figure of one series."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_array_equal

import runfold as rf

# The writer also warns about the NaN.
pytestmark = pytest.mark.filterwarnings("ignore:.* is NaN at step 3")


@pytest.fixture
def series(tmp_path: Path) -> rf.Series:
    with rf.SummaryWriter(str(tmp_path / "seed-1")) as writer:
        for step, value in ((0, 4.0), (2, 1.0), (1, 2.0), (3, np.nan), (4, 0.5)):
            writer.add_scalar("train/loss", value, step, walltime=1000.0 + 10 * step)
    found = rf.open(tmp_path)["seed-1"]["train/loss"]
    assert isinstance(found, rf.Series)
    return found


def line(figure: Figure) -> tuple[list[float], list[float]]:
    (ax,) = figure.axes
    (drawn,) = ax.lines
    x, y = drawn.get_data()
    return list(x), list(y)


def test_a_curve_is_drawn_over_steps_with_a_gap_for_nan(series):
    x, y = line(series.plot())
    assert_array_equal(x, [0, 1, 2, 3, 4])
    assert_array_equal(y, [4.0, 2.0, 1.0, np.nan, 0.5])


def test_axes_and_legend_name_tag_axis_and_run(series):
    (ax,) = series.plot(smooth=0.5, title="first").axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("step", "train/loss")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["seed-1"]
    assert ax.get_legend().get_title().get_text() == "smoothed 0.5"


def test_a_warning_names_the_line_of_the_caller(series):
    with pytest.warns(UserWarning, match="log x-axis") as caught:
        series.plot(log_x=True)
    assert caught[0].filename == __file__


def test_wall_time_axis_has_dates(series):
    x, _ = line(series.plot(x="wall_time"))
    assert_array_equal(np.array(x) * 86400, [1000, 1010, 1020, 1030, 1040])


def test_a_curve_can_be_drawn_on_the_callers_axes(series):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert series.plot(ax=right, log_y=True, legend=False) is figure
    assert (len(left.lines), len(right.lines)) == (0, 1)
    assert right.get_yscale() == "log"


def test_curves_of_several_runs_share_axes_and_legend(series):
    ax = Figure().subplots()
    other = rf.Series("seed-2", series.tag, series.steps, series.wall_times, series.values + 1)
    series.plot(ax=ax)
    other.plot(ax=ax)
    assert len({line.get_color() for line in ax.lines}) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["seed-1", "seed-2"]


def test_an_unknown_axis_lists_the_axes(series):
    with pytest.raises(
        rf.errors.RunfoldError, match=r"^Unknown axis 'time': x must be step or wall_time\.$"
    ):
        series.plot(x="time")


def test_the_first_series_of_a_program_can_be_drawn():
    script = """
import numpy as np
import runfold as rf
values = np.arange(2.0)
print(type(rf.Series("run", "loss", values.astype(int), values, values).plot()).__name__)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "CurveFigure\n"


def test_a_warning_names_the_line_that_draws(series):
    with pytest.warns(UserWarning, match="log") as caught:
        series.plot(log_x=True)
    assert [warning.filename for warning in caught] == [__file__]
