"""The points of a series along an axis."""

import numpy as np
import pytest
from helpers.logs import scalars, values, write

from runfold._events.kinds.hparams import Experiment, Metric
from runfold._events.value_encoding import hparams_experiment
from runfold._logdir.loader import Logdir
from runfold._reduce.curve_points import Points, place
from runfold.errors import CannotFold


def placed(folder, *points, x="step", duplicates="error", tag="loss", adds=()) -> Points:
    write(folder / "a", *adds, scalars(tag, *points))
    logdir = Logdir(folder)
    logdir.load()
    log = logdir.logs["a"]
    return place(log, log.scalars[tag], x, duplicates)


def test_points_are_sorted_by_step(tmp_path):
    points = placed(tmp_path, (3, 0.3), (1, 0.1), (2, 0.2))
    assert points.x.tolist() == [1, 2, 3]
    assert points.values.tolist() == [0.1, 0.2, 0.3]
    assert points.wall_times.tolist() == [11.0, 12.0, 10.0]


@pytest.mark.fault(37)
@pytest.mark.parametrize(
    ("duplicates", "value", "wall_time"), [("first", 1.0, 10.0), ("last", 4.0, 12.0)]
)
def test_first_or_last_of_equal_steps_is_kept(tmp_path, duplicates, value, wall_time):
    points = placed(tmp_path, (5, 1.0), (7, 2.0), (5, 4.0), duplicates=duplicates)
    assert points.x.tolist() == [5, 7]
    assert (points.values[0], points.wall_times[0]) == (value, wall_time)


@pytest.mark.fault(37)
def test_mean_of_equal_steps_is_used(tmp_path):
    points = placed(tmp_path, (5, 1.0), (7, 2.0), (5, 4.0), (5, 4.0), duplicates="mean")
    assert points.x.tolist() == [5, 7]
    assert points.values.tolist() == [3.0, 2.0]


@pytest.mark.fault(37)
def test_equal_steps_raise_with_step_and_options(tmp_path):
    with pytest.raises(CannotFold) as caught:
        placed(tmp_path, (5, 1.0), (7, 2.0), (5, 4.0), (5, 3.0))
    message = str(caught.value)
    assert "Tag 'loss' in run 'a' has more than one value at step 5 (2 duplicate points" in message
    assert "'first'" in message
    assert "--duplicates" in message
    assert "--restarts step" in message


@pytest.mark.parametrize("x", ["step", "wall_time"])
def test_value_logged_twice_in_a_row_is_one_point(tmp_path, x):
    points = placed(tmp_path, (1, 0.5), (1, 0.5), (2, np.nan), (2, np.nan), (2, np.nan), x=x)
    assert points.values.tolist() == pytest.approx([0.5, np.nan], nan_ok=True)
    assert points.wall_times.tolist() == [10.0, 12.0]
    assert points.doubles == 0


def test_mean_of_equal_steps_includes_every_value(tmp_path):
    points = placed(tmp_path, (1, 1.0), (1, 1.0), (1, 4.0), duplicates="mean")
    assert points.values.tolist() == [2.0]


def declare(*tags):
    metrics = tuple(Metric("", tag, "", "", None) for tag in tags)
    return values(hparams_experiment(Experiment("", "", "", 0.0, (), metrics)))


def test_later_value_of_an_hparams_metric_is_used(tmp_path):
    series = (1, 0.1), (2, 0.2), (2, 0.2), (2, 0.3), (2, 0.4)
    points = placed(tmp_path, *series, adds=[declare("other", "loss")])
    assert points.x.tolist() == [1, 2]
    assert points.values.tolist() == [0.1, 0.4]
    assert points.doubles == 2


def test_explicit_policy_applies_to_hparams_metrics(tmp_path):
    points = placed(tmp_path, (2, 0.2), (2, 0.4), adds=[declare("loss")], duplicates="first")
    assert points.values.tolist() == [0.2]


@pytest.mark.parametrize(
    ("metric", "series"),
    [("other", [(2, 0.2), (2, 0.4)]), ("loss", [(2, 0.2), (3, 0.3), (2, 0.4)])],
)
def test_other_repeated_steps_raise(tmp_path, metric, series):
    with pytest.raises(CannotFold, match=r"more than one value at step 2 \(1 duplicate point"):
        placed(tmp_path, *series, adds=[declare(metric)])


def test_wall_time_axis_leaves_out_unknown_times(tmp_path):
    def add(buffer):
        for step, time in enumerate([10.0, np.nan, 12.0]):
            buffer.scalar("loss", step, step, time)

    write(tmp_path / "a", add)
    logdir = Logdir(tmp_path)
    logdir.load()
    log = logdir.logs["a"]
    points = place(log, log.scalars["loss"], "wall_time")
    assert points.x.tolist() == [10.0, 12.0]
    assert points.values.tolist() == [0.0, 2.0]
    assert points.lost == 1


def test_relative_time_counts_from_the_first_event_of_the_run(tmp_path):
    # The file's first event, which contains its version, is at second 1.
    points = placed(tmp_path, (0, 1.0), (1, 2.0), x="relative")
    assert points.x.tolist() == [9.0, 10.0]


def test_another_tag_can_be_the_axis(tmp_path):
    seen = scalars("samples", (0, 0.0), (10, 640.0), (20, 1280.0), (30, 1920.0))
    points = placed(tmp_path, (10, 0.5), (15, 0.4), (30, 0.3), x="samples", adds=[seen])
    assert points.x.tolist() == [640.0, 1920.0]
    assert points.values.tolist() == [0.5, 0.3]
    assert points.lost == 1


def test_decreasing_axis_tag_is_sorted(tmp_path):
    seen = scalars("samples", (0, 5.0), (1, 3.0), (2, 4.0))
    points = placed(tmp_path, (0, 0.5), (1, 0.3), (2, 0.4), x="samples", adds=[seen])
    assert points.x.tolist() == [3.0, 4.0, 5.0]
    assert points.values.tolist() == [0.3, 0.4, 0.5]


def test_point_at_an_infinite_x_is_left_out(tmp_path):
    seen = scalars("samples", (0, -np.inf), (1, 10.0), (2, np.inf), (3, np.nan))
    points = placed(tmp_path, *((step, float(step)) for step in range(4)), x="samples", adds=[seen])
    assert (points.x.tolist(), points.values.tolist(), points.lost) == ([10.0], [1.0], 3)
