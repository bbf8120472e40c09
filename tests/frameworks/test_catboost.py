"""CatBoost with RunfoldCallback, compared with the event files that CatBoost writes."""

import json

import numpy as np
import pytest
from conftest import run_program
from run_points import count_runs_by, read_hparams, read_points, read_steps

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("catboost") / "run", "original", "catboost_callback")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def read_scalars(series):
    return {tag: points for (kind, tag), points in series.items() if kind == "scalar"}


@pytest.mark.parametrize(
    ("run", "folder", "steps"), [("fit", "original", 5), ("every-second", "every-second", 3)]
)
def test_tensorboard_reads_the_points_that_catboost_writes(trained, run, folder, steps):
    logged = read_scalars(trained.logs[f"logs/{run}"])
    # CatBoost writes each dataset to its own folder.
    originals = {"learn": f"{folder}/learn", "validation": f"{folder}/test"}
    assert logged == {
        f"{dataset}/{metric}": points
        for dataset, original in originals.items()
        for metric, points in read_scalars(trained.logs[original]).items()
    }
    assert len(logged["learn/RMSE"]) == steps


def test_tensorboard_reads_the_results_that_catboost_returns(trained):
    results = json.loads((trained.folder / "results.json").read_text())
    assert read_scalars(trained.logs["logs/fit"]) == {
        f"{dataset}/{metric}": [
            (step, repr(float(np.float32(value)))) for step, value in enumerate(values)
        ]
        for dataset, metrics in results.items()
        for metric, values in metrics.items()
    }


def test_the_models_parameters_are_hparams(runs):
    hparams = read_hparams(runs["fit"])
    assert runs["fit"].status.state == "finished"
    assert (hparams["learning_rate"], hparams["depth"], hparams["fold"]) == (0.1, 2, 3)
    assert hparams["loss_function"] == "RMSE"


def test_a_killed_training_is_resumed_at_its_snapshot(runs):
    run = runs["killed"]
    assert read_steps(run, "learn/RMSE") == list(range(10))
    assert "note" not in set(run.scalars()["tag"])
    assert run.hidden > 0
    assert run.status.state == "finished"


def test_runs_are_grouped_by_a_parameter(trained):
    assert count_runs_by(trained.folder / "logs" / "sweep", "learning_rate") == {0.1: 2, 0.3: 2}


def test_an_exception_in_a_with_block_ends_the_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert "ValueError: the data is gone" in status.traceback


def test_a_stop_request_ends_training_after_the_iteration(runs):
    assert runs["stopped"].status.state == "stopped"
    assert read_steps(runs["stopped"], "learn/RMSE") == [0, 1, 2]


def test_a_reused_callback_starts_a_run(runs):
    assert read_points(runs["again"]) == read_points(runs["again-2"])
    assert read_steps(runs["again"], "learn/RMSE")[-1] < 49
    # The first training run ended without an exception. The second one ended with the program.
    assert runs["again"].status.state == "finished"
    assert runs["again-2"].status.state == "finished"
    assert runs["failed-again"].status.state == "failed"
    assert runs["failed-again-2"].status.state == "finished"


def test_bad_values_do_not_affect_other_values(trained, runs):
    points = read_points(runs["bad"])
    assert points["before"] == [(0, 1.0)]
    assert points["after"] == [(9, 1.0)]
    assert points["learn/tensor"] == [(0, 0.5), (1, 0.5)]
    assert "learn/none" not in points
    assert np.isnan(runs["bad"]["learn/nan"].values).tolist() == [True, True]
    text = [line for line in trained.errors.splitlines() if "Tag 'learn/text'" in line]
    assert len(text) == 1
