"""XGBoost with RunfoldCallback, compared with the results that XGBoost returns."""

import json

import numpy as np
import pytest
from conftest import run_program
from run_points import count_runs_by, read_hparams, read_points, read_steps

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("xgboost") / "run", "original", "xgboost_callback")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def test_tensorboard_reads_the_results_that_xgboost_returns(trained):
    results = json.loads((trained.folder / "results.json").read_text())
    logged = {
        tag: points for (kind, tag), points in trained.logs["logs/fit"].items() if kind == "scalar"
    }
    assert logged == {
        f"{dataset}/{metric}": [
            (step, repr(float(np.float32(value)))) for step, value in enumerate(values)
        ]
        for dataset, metrics in results.items()
        for metric, values in metrics.items()
    }
    assert sorted(logged) == ["test/mae", "test/rmse", "train/mae", "train/rmse"]


def test_the_boosters_parameters_are_hparams(runs):
    run = runs["fit"]
    hparams = read_hparams(run)
    assert run.status.state == "finished"
    assert (hparams["eta"], hparams["learning_rate"], hparams["max_depth"]) == (0.1, 0.1, 2)
    assert (hparams["booster"], hparams["objective"]) == ("gbtree", "reg:squarederror")
    assert (hparams["seed"], hparams["fold"]) == (0, 3)
    assert run.config["eval_metric"] == ["rmse", "mae"]
    assert "num_trees" not in hparams
    assert read_hparams(runs["linear"])["booster"] == "gblinear"


def test_the_model_is_saved_if_requested(runs):
    assert [artifact.name for artifact in runs["fit"].artifacts] == ["model.ubj"]
    assert not list(runs["cv"].artifacts)


def test_cross_validation_logs_means_and_deviations(trained, runs):
    scores = json.loads((trained.folder / "cv.json").read_text())
    points = read_points(runs["cv"])
    assert sorted(points) == sorted(name.replace("-", "/", 1) for name in scores)
    for name, values in scores.items():
        logged = points[name.replace("-", "/", 1)]
        assert [step for step, _ in logged] == [0, 1, 2]
        assert [value for _, value in logged] == pytest.approx(values, rel=1e-6)


def test_a_killed_training_is_resumed_at_its_checkpoint(runs):
    run = runs["killed"]
    assert read_steps(run, "train/rmse") == list(range(10))
    assert run.hidden == 3 * 4
    assert run.status.state == "finished"
    values = run["train/rmse"].values
    assert values[:5].tolist() == runs["fit"]["train/rmse"].values.tolist()


def test_runs_are_grouped_by_a_parameter(trained):
    assert count_runs_by(trained.folder / "logs" / "sweep", "learning_rate") == {0.1: 2, 0.3: 2}


def test_an_exception_in_a_with_block_ends_the_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")


def test_a_stop_request_ends_training_after_the_round(runs):
    run = runs["stopped"]
    assert run.status.state == "stopped"
    assert read_steps(run, "train/rmse") == [0, 1, 2]


def test_a_reused_callback_starts_a_run_unless_it_continues_a_model(runs):
    assert read_steps(runs["again"], "train/rmse") == [0, 1]
    assert read_steps(runs["again-2"], "train/rmse") == [0, 1, 2, 3]
    rates = runs["again-2"]["learning_rate"].values
    assert rates == pytest.approx([0.1, 0.5, 0.1, 0.1])
    assert {runs[name].status.state for name in ("again", "again-2")} == {"finished"}


def test_two_trainings_at_once_are_two_runs(runs):
    assert read_steps(runs["two/a"], "train/rmse") == [0, 1, 2]
    assert read_points(runs["two/a"]) == read_points(runs["two/b"])


def test_estimators_name_their_validation_sets(runs):
    assert read_steps(runs["sklearn"], "validation_0/rmse") == [0, 1, 2]


def test_bad_values_do_not_affect_other_values(trained, runs):
    points = read_points(runs["bad"])
    assert points["before"] == [(0, 1.0)]
    assert points["after"] == [(9, 1.0)]
    assert points["train/tensor"] == [(1, 0.5), (1, 2.0)]
    assert np.isnan(runs["bad"]["train/nan"].values).tolist() == [True]
    assert "train/none" not in points
    text = [line for line in trained.errors.splitlines() if "Tag 'train/text'" in line]
    assert len(text) == 1
