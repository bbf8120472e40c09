"""RunfoldWriter, compared with clu's SummaryWriter, and as the log of JAX training loops."""

import numpy as np
import pytest
from conftest import run_program
from run_points import count_runs_by, read_points, read_steps
from tensor_readings import read_tensors

import runfold as rf


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Return the folder with the logs of clu's own writers."""
    folder = tmp_path_factory.mktemp("clu") / "original"
    return run_program(folder, "original", "clu_writers", "original").folder / "logs"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("clu") / "run", "original", "clu_writers")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


@pytest.mark.parametrize("writer", ["multi", "async"])
def test_tensorboard_reads_the_same_as_from_clus_own_writer(written, writer):
    original, logged = read_tensors(written / "original"), read_tensors(written / writer)
    # clu's own writer drops videos.
    assert logged.pop("video").plugin == "images"
    assert sorted(logged) == sorted(original)
    for tag, series in original.items():
        assert logged[tag] == series, tag
    assert original["loss"].steps == [1, 5]
    assert original["table"].plugin == "text"
    assert original["_hparams_/session_start_info"].content == {
        "rate": 0.1,
        "layers.0": 8,
        "layers.1": 4,
        "optim.name": "sgd",
        "optim.decay": "",
    }


def test_point_clouds_are_those_of_tensorboards_own_summary(written):
    logged = read_tensors(written / "points")
    assert logged == read_tensors(written / "points-original")
    assert sorted(logged) == ["cloud_COLOR", "cloud_VERTEX"]


def test_a_killed_loop_is_resumed_at_its_checkpoint(runs):
    assert read_points(runs["killed"]) == read_points(runs["not-killed"])
    assert read_steps(runs["killed"], "train/loss") == list(range(10))
    assert runs["killed"].hidden == 3
    assert runs["killed"].status.state == "finished"


def test_runs_are_grouped_by_an_hparam(trained):
    assert count_runs_by(trained.folder / "logs" / "sweep", "rate") == {0.01: 2, 0.1: 2}


def test_a_writer_closed_by_an_exception_ends_its_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")


def test_a_stop_request_interrupts_the_loop(runs):
    assert runs["stopped"].status.state == "stopped"
    assert read_steps(runs["stopped"], "train/loss") == [0, 1, 2]


def test_the_default_writer_also_logs_scalars_as_text(trained, runs):
    lines = (trained.folder / "log.txt").read_text().splitlines()
    assert lines == [
        *(
            f"[{step}] train/loss={value}"
            for step, value in read_points(runs["default/train"])["train/loss"]
        ),
        "[1] only=3",
    ]


def test_bad_values_do_not_affect_other_values(trained, runs):
    points = read_points(runs["bad"])
    assert sorted(points) == ["nan", "nested/a/b"]
    assert points["nested/a/b"] == [(0, 1.0), (1, 1.0)]
    assert np.isnan(runs["bad"]["nan"].values).tolist() == [True, True]
    tags = set(read_tensors(trained.folder / "logs" / "bad"))
    assert tags == {"nan", "nested/a/b", "part", "text/number", "video"}
    for tag in ("text", "vector", "gone", "image", "audio", "histogram", "cloud", "part"):
        assert len([line for line in trained.warnings if f"Tag '{tag}'" in line]) == 1, tag
    (part,) = read_tensors(trained.folder / "logs" / "bad")["part"].tensors
    assert sum(count for _, _, count in part) == 1


def test_two_writers_in_one_process_are_two_runs(runs):
    assert read_points(runs["two/a"]) == {"loss": [(0, 0.0), (1, 1.0), (2, 2.0)]}
    assert read_points(runs["two/b"]) == {"loss": [(0, 0.0), (1, -1.0), (2, -2.0)]}
