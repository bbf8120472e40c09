"""MMEngine with RunfoldVisBackend, compared with its TensorboardVisBackend in the same runner."""

import numpy as np
import pytest
from conftest import run_program
from run_points import read_points

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("mmengine") / "run", "original", "mmengine_adapter")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def read_scalars(reading):
    return {tag: points for (kind, tag), points in reading.items() if kind == "scalar"}


def test_tensorboard_reads_the_same_as_from_mmengines_own_backend(trained):
    """The text tags and their metadata match too."""
    for name in ("fit", "lr-0.1", "stopped"):
        (original,) = (
            reading for run, reading in trained.logs.items() if run.startswith(f"work/{name}/")
        )
        ours = trained.logs[f"logs/{name}"]
        assert read_scalars(ours) == read_scalars(original)
        assert {"loss", "lr", "error"} <= read_scalars(ours).keys()
        assert ours["tensor", "config/text_summary"] == [
            (step, [text.replace(b"sk-12345678901234567890", b"***")])
            for step, (text,) in original["tensor", "config/text_summary"]
        ]


def test_the_configuration_becomes_hparams_without_secrets(runs):
    run = runs["fit"]
    assert run.status.state == "finished"
    assert run.config == {"optimizer": {"lr": 0.05}, "api_key": "***"}


def test_a_killed_training_is_resumed(runs):
    """`resume=9` discards what was logged after the checkpoint at iteration 8."""
    run = runs["killed"]
    assert run["loss"].steps.tolist() == list(range(2, 26, 2))
    assert run["error"].steps.tolist() == [1, 2, 3]
    assert run.status.state == "finished"
    assert run["loss"].values[:4].tolist() == runs["fit"]["loss"].values[:4].tolist()


def test_runs_are_grouped_by_a_setting(runs):
    # Both training and validation log the tag `data_time`.
    folded = runs.reduce("mean", runs="lr-*", tags="loss", by="optimizer.lr")
    assert {group.key["optimizer.lr"] for group in folded.groups.values()} == {0.05, 0.1}


def test_an_exception_ends_the_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")
    assert runs["failed-last"].status.state == "failed"


def test_the_hook_stops_training_after_the_epoch(runs):
    run = runs["stopped"]
    assert run.status.state == "stopped"
    assert run["loss"].steps.tolist() == [2, 4, 6, 8]


def test_a_stop_request_without_the_hook_interrupts_training(runs):
    run = runs["interrupted"]
    assert run.status.state == "stopped"
    assert run["loss"].steps.tolist() == [2]


def test_bad_values_do_not_affect_other_values(trained, runs):
    run = runs["bad"]
    points = read_points(run)
    assert np.isnan(points.pop("nan")[0][1])
    assert points == {
        "before": [(0, 1.0)],
        "nested/a": [(1, 1.0)],
        "nested/b/c": [(1, 2.0)],
        "mixed": [(0, 1.0), (1, 0.5)],
        "after": [(9, 1.0)],
    }
    assert trained.logs["logs/bad"]["image", "image"][0][1][0][1] == (5, 4)
    assert len([line for line in trained.errors.splitlines() if "Tag 'text'" in line]) == 1


def test_two_backends_at_once_are_two_runs(runs):
    assert [runs[name]["loss"].values.tolist() for name in ("two", "two-2")] == [[1.0], [2.0]]
