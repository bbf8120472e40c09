"""LightGBM with RunfoldCallback, compared with the results that LightGBM records."""

import json

import numpy as np
import pytest
from conftest import run_program
from run_points import count_runs_by, read_hparams, read_points, read_steps

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("lightgbm") / "run", "original", "lightgbm_callback")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def test_tensorboard_reads_the_results_that_lightgbm_records(trained):
    results = json.loads((trained.folder / "results.json").read_text())
    logged = {
        tag: points for (kind, tag), points in trained.logs["logs/fit"].items() if kind == "scalar"
    }
    assert logged.pop("learning_rate") == [
        (step, repr(float(np.float32(0.1)))) for step in range(1, 6)
    ]
    assert logged == {
        f"{dataset}/{metric}": [
            (step, repr(float(np.float32(value)))) for step, value in enumerate(values, 1)
        ]
        for dataset, metrics in results.items()
        for metric, values in metrics.items()
    }
    assert sorted(logged) == ["test/l1", "test/l2", "train/l1", "train/l2"]


def test_the_parameters_are_hparams(runs):
    hparams = read_hparams(runs["fit"])
    assert runs["fit"].status.state == "finished"
    assert (hparams["learning_rate"], hparams["num_leaves"], hparams["seed"]) == (0.1, 4, 0)
    assert (hparams["num_iterations"], hparams["fold"]) == (5, 3)
    assert runs["fit"].config["metric"] == ["l1", "l2"]


def test_the_model_is_saved_if_requested(trained, runs):
    assert [artifact.name for artifact in runs["fit"].artifacts] == ["model.txt"]
    assert not list(runs["cv"].artifacts)
    (artifact,) = runs["early"].artifacts
    best_iteration = json.loads((trained.folder / "early.json").read_text())
    trees = (trained.folder / artifact.path).read_text().count("\nTree=")
    assert trees == best_iteration


def test_cross_validation_logs_means_and_deviations(trained, runs):
    scores = json.loads((trained.folder / "cv.json").read_text())
    points = read_points(runs["cv"])
    assert sorted(points) == sorted(name.replace(" ", "/", 1) for name in scores)
    for name, values in scores.items():
        logged = points[name.replace(" ", "/", 1)]
        assert [step for step, _ in logged] == [1, 2, 3]
        assert [value for _, value in logged] == pytest.approx(values, rel=1e-6)


def test_a_killed_training_is_resumed_at_its_checkpoint(runs):
    run = runs["killed"]
    assert read_steps(run, "train/l2") == list(range(1, 11))
    assert run.hidden == 3 * 5
    assert run.status.state == "finished"
    assert run["train/l2"].values[:4].tolist() == runs["fit"]["train/l2"].values[:4].tolist()


def test_runs_are_grouped_by_a_parameter(trained):
    assert count_runs_by(trained.folder / "logs" / "sweep", "learning_rate") == {0.1: 2, 0.3: 2}


def test_an_exception_in_a_with_block_ends_the_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")


def test_a_stop_request_ends_training_after_the_iteration(runs):
    assert runs["stopped"].status.state == "stopped"
    assert read_steps(runs["stopped"], "train/l2") == [1, 2, 3]


def test_early_stopping_ends_the_run_as_finished(trained, runs):
    assert runs["early"].status.state == "finished"
    best_iteration = json.loads((trained.folder / "early.json").read_text())
    assert read_steps(runs["early"], "test/l2")[-1] == best_iteration + 2


def test_a_reused_callback_starts_a_run_unless_it_continues_a_model(runs):
    states = {name: run.status.state for name, run in runs.items() if name.startswith("again")}
    assert states == {"again": "finished", "again-2": "failed", "again-3": "finished"}
    assert read_steps(runs["again-2"], "train/l2") == [1, 2, 3]
    assert read_steps(runs["again-3"], "train/l2") == [1, 2, 3, 4]
    assert runs["again-3"]["learning_rate"].values == pytest.approx([0.5, 0.25, 0.1, 0.1])


def test_estimators_name_their_validation_sets(runs):
    assert read_steps(runs["sklearn"], "training/l2") == [1, 2, 3]


def test_bad_values_do_not_affect_other_values(trained, runs):
    points = read_points(runs["bad"])
    assert points["before"] == [(0, 1.0)]
    assert points["after"] == [(9, 1.0)]
    assert points["train/tensor"] == [(2, 0.5), (4, 0.5)]
    assert points["valid/l2-mean"] == [(2, 0.5), (4, 0.5)]
    assert points["valid/l2-stdv"] == [(2, 0.25), (4, 0.25)]
    assert np.isnan(runs["bad"]["train/nan"].values).tolist() == [True, True]
    text = [line for line in trained.errors.splitlines() if "Tag 'train/text'" in line]
    assert len(text) == 1
