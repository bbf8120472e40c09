"""Faults 35 to 41: order and restarts, with the real writers' markers."""

import numpy as np
import pytest
import tensorboardX
from helpers.faultfiles import EVENTS, append, image, points, restart, steps, version, write
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.tensorboard import SummaryWriter as TorchWriter

import runfold as rf

WRITERS = {"torch": TorchWriter, "tensorboardX": tensorboardX.SummaryWriter}


def log(writer, first, last, shift=0.0):
    """Log two scalars, a histogram and an image at each step, like a training loop."""
    for step in range(first, last):
        writer.add_scalar("loss", step + shift, step)
        writer.add_scalar("accuracy", step - shift, step)
        writer.add_histogram("weights", np.arange(4.0), step)
        writer.add_image("picture", np.full((3, 2, 2), step, np.uint8), step)


def restarted(writer_class, folder):
    """A job that died at step 9 and continued from its checkpoint at step 6, in a second file."""
    with writer_class(str(folder), filename_suffix=".1") as writer:
        log(writer, 0, 10)
    with writer_class(str(folder), purge_step=6, filename_suffix=".2") as writer:
        log(writer, 6, 12, shift=0.5)
    return folder


# Faults 35 and 36: the policies


@pytest.mark.fault(35)
def test_a_decreasing_step_is_kept_unless_the_policy_is_step(tmp_path):
    write(tmp_path / EVENTS, version(), points(0, 1, 2, 3, 4), points(2, 3, value=0.5))
    for policy in ("session", "keep"):
        runs = rf.open(tmp_path, restarts=policy)
        assert steps(runs) == [0, 1, 2, 3, 4, 2, 3]
        assert (runs["."]["loss"].hidden, runs["."].hidden, runs.hidden) == (0, 0, 0)
    runs = rf.open(tmp_path, restarts="step")
    assert steps(runs) == [0, 1, 2, 3]
    assert runs["."]["loss"].values.tolist() == [0, 1, 0.5, 0.5]
    assert (runs["."]["loss"].hidden, runs["."].hidden, runs.hidden) == (3, 3, 3)
    assert "3 hidden" in repr(runs["."]["loss"])
    assert len(runs.scalars()) == 4


@pytest.mark.fault(35)
def test_a_decreasing_step_in_a_later_file_hides_points_of_earlier_files(tmp_path):
    write(tmp_path / "1.tfevents", points(0, 1, 2, 3), image(2, b"old"))
    write(tmp_path / "2.tfevents", points(2), image(1, b"new"))
    runs = rf.open(tmp_path, restarts="step")
    assert steps(runs) == [0, 1, 2]
    assert [image.data for image in runs.images()["image"]] == [b"new"]
    assert runs.hidden == 3


@pytest.mark.fault(36)
@pytest.mark.parametrize("writer", WRITERS)
def test_purge_step_hides_points_of_the_dead_job_in_every_tag_and_kind(tmp_path, writer):
    folder = restarted(WRITERS[writer], tmp_path)
    runs = rf.open(folder)
    for tag, shift in (("loss", 0.5), ("accuracy", -0.5)):
        series = runs["."][tag]
        assert series.steps.tolist() == list(range(12))
        assert series.values.tolist() == [*range(6), *(step + shift for step in range(6, 12))]
        assert series.hidden == 4
    assert runs.histograms()["step"].tolist() == list(range(12))
    assert runs.images()["step"].tolist() == list(range(12))
    assert (runs["."].hidden, runs.hidden) == (16, 16)
    kept = rf.open(folder, restarts="keep")
    assert steps(kept) == [*range(10), *range(6, 12)]
    assert kept.hidden == 0


@pytest.mark.fault(36)
@pytest.mark.parametrize("writer", WRITERS)
def test_purge_step_shows_the_same_as_tensorboard(tmp_path, writer):
    folder = restarted(WRITERS[writer], tmp_path)
    theirs = EventAccumulator(
        str(folder), size_guidance={"scalars": 0, "histograms": 0, "images": 0}
    ).Reload()
    ours = rf.open(folder)
    for tag in theirs.Tags()["scalars"]:
        series = ours["."][tag]
        columns = (series.wall_times.tolist(), series.steps.tolist(), series.values.tolist())
        assert list(zip(*columns, strict=True)) == [
            (event.wall_time, event.step, event.value) for event in theirs.Scalars(tag)
        ]
    [picture] = theirs.Tags()["images"]
    images = ours.images(picture)
    assert images["step"].tolist() == [event.step for event in theirs.Images(picture)]
    assert [image.data for image in images["image"]] == [
        event.encoded_image_string for event in theirs.Images(picture)
    ]
    [weights] = theirs.Tags()["histograms"]
    assert ours.histograms(weights)["step"].tolist() == [
        event.step for event in theirs.Histograms(weights)
    ]


@pytest.mark.fault(36)
def test_a_marker_first_in_the_only_file_hides_nothing(tmp_path):
    with TorchWriter(str(tmp_path), purge_step=3) as writer:
        log(writer, 3, 6)
    runs = rf.open(tmp_path)
    assert (steps(runs), runs.hidden) == ([3, 4, 5], 0)


@pytest.mark.fault(36)
def test_markers_within_a_file_hide_earlier_points(tmp_path):
    write(
        tmp_path / EVENTS,
        version(),
        points(0, 1, 2, 3),
        points(3, tag="lagging"),
        image(2, b"old"),
        restart(2),
        points(2, 3, value=0.5),
        image(2, b"new"),
        restart(3),
        points(3, value=0.25),
    )
    runs = rf.open(tmp_path)
    assert runs["."]["loss"].steps.tolist() == [0, 1, 2, 3]
    assert runs["."]["loss"].values.tolist() == [0, 1, 0.5, 0.25]
    assert (runs["."]["loss"].hidden, runs["."]["lagging"].hidden) == (3, 1)
    assert len(runs["."]["lagging"]) == 0
    assert [image.data for image in runs.images()["image"]] == [b"new"]
    assert runs.hidden == 5


@pytest.mark.fault(36)
def test_a_marker_that_appears_later_hides_earlier_points(tmp_path):
    path = write(tmp_path / EVENTS, points(0, 1, 2, 3), image(3, b"old"))
    runs = rf.open(tmp_path)
    assert steps(runs) == [0, 1, 2, 3]
    append(path, restart(1))
    runs.refresh()
    assert (steps(runs), runs.hidden, len(runs.images())) == ([0], 4, 0)
    append(path, points(1, 2))
    assert runs.refresh().points == 2
    assert (steps(runs), runs.hidden) == ([0, 1, 2], 4)


@pytest.mark.fault(36)
def test_a_marker_applies_only_to_its_own_run(tmp_path):
    write(tmp_path / "a" / EVENTS, points(0, 1, 2))
    write(tmp_path / "b" / EVENTS, points(0, 1, 2), restart(1))
    runs = rf.open(tmp_path)
    assert (steps(runs, "a"), steps(runs, "b")) == ([0, 1, 2], [0])


def test_an_unknown_policy_lists_the_known_policies(tmp_path):
    with pytest.raises(ValueError, match="restarts must be one of 'session', 'step', 'keep'"):
        rf.open(tmp_path, restarts="sesion")


# Faults 37 to 41: order


@pytest.mark.fault(37)
@pytest.mark.parametrize("policy", ["session", "step", "keep"])
def test_equal_steps_are_all_kept_in_order(tmp_path, policy):
    write(tmp_path / EVENTS, *(points(step, value=value) for step, value in POINTS))
    series = rf.open(tmp_path, restarts=policy)["."]["loss"]
    assert list(zip(series.steps.tolist(), series.values.tolist(), strict=True)) == POINTS
    assert series.hidden == 0


POINTS = [(0, 0.5), (0, 0.25), (1, 1.0), (1, 1.0), (1, -1.0), (2, 0.0)]


@pytest.mark.fault(38)
@pytest.mark.parametrize("policy", ["session", "step", "keep"])
def test_a_tag_with_lagging_steps_hides_no_other_tags(tmp_path, policy):
    """Validation is logged with the epoch's first step, after the training steps."""
    write(
        tmp_path / EVENTS,
        *(
            points(10 * epoch + step) if step < 9 else points(10 * epoch, tag="validation")
            for epoch in range(5)
            for step in range(10)
        ),
    )
    runs = rf.open(tmp_path, restarts=policy)
    assert steps(runs) == [10 * epoch + step for epoch in range(5) for step in range(9)]
    assert steps(runs, tag="validation") == [0, 10, 20, 30, 40]
    assert runs.hidden == 0


@pytest.mark.fault(38)
def test_policy_step_hides_points_only_in_the_tag_with_a_decreasing_step(tmp_path):
    write(tmp_path / EVENTS, points(0, 1, 2), points(0, 1, 2, tag="other"), points(1))
    runs = rf.open(tmp_path, restarts="step")
    assert (steps(runs), steps(runs, tag="other")) == ([0, 1], [0, 1, 2])


@pytest.mark.fault(39)
@pytest.mark.parametrize("policy", ["session", "step", "keep"])
def test_a_clock_that_is_set_back_does_not_change_the_order(tmp_path, policy):
    write(tmp_path / "1.tfevents", version(), points(0, 1, time=5000), points(2, 3, time=-5000))
    write(tmp_path / "2.tfevents", version(), points(4, 5, time=-9000))
    runs = rf.open(tmp_path, restarts=policy)
    assert steps(runs) == [0, 1, 2, 3, 4, 5]
    assert not (np.diff(runs["."]["loss"].wall_times) >= 0).all()
    assert runs.hidden == 0
    assert runs.problems().empty


@pytest.mark.fault(40)
def test_two_live_files_are_both_followed(tmp_path):
    with (
        TorchWriter(str(tmp_path), filename_suffix=".1") as first,
        TorchWriter(str(tmp_path), filename_suffix=".2") as second,
    ):
        runs = rf.open(tmp_path)
        for step in range(5):
            first.add_scalar("train", step, step)
            second.add_scalar("validation", step, step)
            for writer in (first, second):
                writer.flush()
            assert runs.refresh().points == (2 if step else 0)
            assert steps(runs, tag="train") == list(range(step + 1))
            assert steps(runs, tag="validation") == list(range(step + 1))
    assert runs.hidden == 0


@pytest.mark.fault(40)
@pytest.mark.parametrize("policy", ["session", "keep"])
def test_two_live_files_with_one_tag_keep_all_points_file_by_file(tmp_path, policy):
    first = write(tmp_path / "1.tfevents", points(0, 2))
    second = write(tmp_path / "2.tfevents", points(1))
    runs = rf.open(tmp_path, restarts=policy)
    assert steps(runs) == [0, 2, 1]
    append(first, points(4))
    append(second, points(3))
    assert runs.refresh().points == 2
    assert steps(runs) == [0, 2, 4, 1, 3]


@pytest.mark.fault(41)
@pytest.mark.parametrize("policy", ["session", "keep"])
def test_an_older_file_that_appears_later_hides_nothing(tmp_path, policy):
    write(tmp_path / "2.tfevents", version(), restart(4), points(4, 5, 6))
    runs = rf.open(tmp_path, restarts=policy)
    assert steps(runs) == [4, 5, 6]
    write(tmp_path / "1.tfevents", version(), restart(0), points(0, 1, 2, 3))
    changes = runs.refresh()
    assert (changes.points, changes.reread) == (4, [])
    assert steps(runs) == [0, 1, 2, 3, 4, 5, 6]
    assert steps(rf.open(tmp_path, restarts=policy)) == steps(runs)


@pytest.mark.fault(41)
def test_an_older_file_that_appears_later_is_subject_to_newer_markers(tmp_path):
    write(tmp_path / "2.tfevents", restart(2), points(2, 3))
    runs = rf.open(tmp_path).load()
    write(tmp_path / "1.tfevents", points(0, 1, 2, 3, 4))
    assert runs.refresh().points == 5
    assert steps(runs) == [0, 1, 2, 3]
    assert runs.hidden == 3
