"""scikit-learn's searches and estimators as runs, compared with their own results."""

import json

import numpy as np
import pytest
from conftest import run_program
from run_points import read_hparams, read_points

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("sklearn") / "run", "original", "sklearn_search")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


@pytest.fixture(scope="module")
def load(trained):
    return lambda name: json.loads((trained.folder / f"{name}.json").read_text())


def list_candidates(runs, search):
    return [name.partition("/")[2] for name in runs if name.startswith(f"{search}/")]


def test_tensorboard_reads_the_scores_in_cv_results(trained, load):
    grid = load("grid")
    for number, params in enumerate(grid["params"]):
        logged = trained.logs[f"logs/grid/candidate-{number}"]
        points = {tag: values for (kind, tag), values in logged.items() if kind == "scalar"}
        expected = {}
        for column, values in grid["results"].items():
            value = repr(float(np.float32(values[number])))
            if column.startswith("split"):
                split, _, tag = column.removeprefix("split").partition("_")
                expected.setdefault(tag, []).append((int(split), value))
            else:
                expected[column] = [(0, value)]
        assert points == expected
        assert logged["metadata", "_hparams_/session_start_info"]["hparams"] == params
    assert sorted(expected)[-2:] == ["test_score", "train_score"]


def test_the_searchs_run_has_its_settings_and_the_best_parameters(runs, load):
    run, results = runs["grid"], load("grid")["results"]
    best = int(np.argmin(results["rank_test_score"]))
    assert run.config["search"] == "GridSearchCV"
    assert run.config["estimator"] == "LogisticRegression()"
    assert run.config["param_grid"] == {"C": [0.1, 1.0], "tol": [1e-4, 1e-2]}
    assert run.config["best_params"] == load("grid")["params"][best]
    assert run.config["best_index"] == best
    assert read_points(run)["best_score"] == [(0, np.float32(max(results["mean_test_score"])))]
    assert run.status.state == "finished"


def test_a_second_search_gets_another_folder(load, runs):
    folders = ["logs/grid", "logs/LogisticRegression", "logs/LogisticRegression-2"]
    assert load("grid")["folders"] == folders
    for folder in folders:
        assert len(list_candidates(runs, folder.removeprefix("logs/"))) == 4


def test_runs_are_grouped_by_a_parameter(trained, load):
    grid = load("grid")
    folded = rf.open(trained.folder / "logs" / "grid").reduce("mean", by="C")
    scores = grid["results"]["mean_test_score"]
    for value in (0.1, 1.0):
        own = [s for s, params in zip(scores, grid["params"], strict=True) if params["C"] == value]
        mean = folded[f"C={value:g}", "mean_test_score"]["mean"]
        assert mean.tolist() == pytest.approx([np.mean(own)])


def test_estimators_are_hparams_with_their_parameters(runs):
    names = [read_hparams(runs[f"pipeline/candidate-{number}"]) for number in range(2)]
    assert names == [
        {"logisticregression": "LogisticRegression()"},
        {"logisticregression": "GradientBoostingClassifier(n_estimators=2)"},
    ]
    points = read_points(runs["pipeline/candidate-0"])
    assert [step for step, _ in points["test_f1"]] == [0, 1]
    assert [step for step, _ in points["mean_test_accuracy"]] == [0]


def test_a_candidate_of_a_halving_search_has_a_point_per_iteration(runs, load):
    results = load("halving")
    rows = list(zip(results["params"], results["iter"], strict=True))
    assert max(results["iter"]) > 0
    candidates = list_candidates(runs, "halving")
    assert len(candidates) == 4
    for name in candidates:
        run = runs[f"halving/{name}"]
        own = [
            index for index, (params, _) in enumerate(rows) if params["C"] == read_hparams(run)["C"]
        ]
        iterations = [results["iter"][index] for index in own]
        assert run["mean_test_score"].steps.tolist() == iterations
        scores = [results["mean_test_score"][index] for index in own]
        assert run["mean_test_score"].values.tolist() == scores
        assert run["n_resources"].values.tolist() == [
            results["n_resources"][index] for index in own
        ]
        assert run["test_score"].values.tolist() == [
            results[f"split{split}_test_score"][index] for index in own for split in (0, 1)
        ]
        assert run["test_score"].steps.tolist() == list(range(2 * len(own)))


def test_equal_parameters_in_a_random_search_are_two_candidates(runs):
    assert list_candidates(runs, "random") == ["candidate-0", "candidate-1"]
    assert [len(runs[f"random/candidate-{number}"]["test_score"]) for number in (0, 1)] == [2, 2]


def test_a_candidate_whose_fits_fail_has_failed(runs):
    assert [runs[f"failing/candidate-{number}"].status.state for number in (0, 1)] == [
        "finished",
        "failed",
    ]
    assert np.isnan(runs["failing/candidate-1"]["test_score"].values).all()


def test_a_killed_program_leaves_only_complete_candidates(trained, runs):
    assert list_candidates(runs, "killed") == ["candidate-0", "candidate-1"]
    assert runs["killed"].status.state == "crashed"
    assert runs["killed/candidate-1"].status.state == "finished"
    assert len(runs["killed/candidate-1"].problems()) == 0


def test_an_estimators_curves_are_series(trained, runs, load):
    points = read_points(runs["mlp"])
    curves = load("mlp")
    assert points["loss_curve"] == [(i, np.float32(v)) for i, v in enumerate(curves["loss"])]
    assert points["validation_scores"] == [
        (i, np.float32(v)) for i, v in enumerate(curves["validation"])
    ]
    assert points["f1"] == [(0, 0.5)]
    assert points["per_class/a"] == [(0, 0.25), (1, 0.75)]
    assert sorted(points) == [
        *("f1", "loss_curve", "per_class/a", "test/score", "validation_scores")
    ]
    hparams = read_hparams(runs["mlp"])
    assert (hparams["hidden_layer_sizes"], hparams["max_iter"]) == ("[4]", 6)
    ((_, image),) = trained.logs["logs/mlp"]["image", "test/confusion_matrix"]
    assert image[0][1] == (640, 480)


def test_an_estimator_with_stages_has_a_score_per_stage(runs, load):
    points, curves = read_points(runs["boosting"]), load("boosting")
    assert points["train_score"] == [(i, np.float32(v)) for i, v in enumerate(curves["train"])]
    assert points["train/staged_score"] == [
        (i, np.float32(v)) for i, v in enumerate(curves["staged"])
    ]
    assert points["train/score"] == [(0, np.float32(curves["staged"][-1]))]
    assert "bad/score" not in points
    assert [step for step, _ in read_points(runs["regressor"])["train_score"]] == [0, 1]
    assert runs["regressor"].status.state == "finished"


def test_what_cannot_be_logged_is_reported(trained, runs):
    assert trained.errors.count("Tag 'text'") == 1
    assert trained.errors.count("The scores on 'bad' were not logged") == 1
    assert trained.errors.count("The scores on 'none' were not logged") == 1
    assert "unfitted" not in runs


def test_what_is_not_a_fitted_search_or_estimator_is_refused(load):
    refusals = load("refusals")
    assert refusals[0].startswith("NotFittedError: This GridSearchCV instance is not fitted")
    assert refusals[1].startswith("NotFittedError: This LogisticRegression instance is not fitted")
    assert refusals[2:] == [
        "TypeError: expected a search with `cv_results_`, got GradientBoostingRegressor",
        "ValueError: logdir: candidates need a local folder, got 's3://bucket/logs'",
    ]
