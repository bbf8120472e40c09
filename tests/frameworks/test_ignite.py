"""Ignite with RunfoldLogger, compared with Ignite's own TensorboardLogger."""

import numpy as np
import pytest
from conftest import run_program
from run_points import count_runs_by, read_hparams, read_points, read_steps

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("ignite") / "run", "original", "ignite_logger")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def test_tensorboard_reads_what_ignites_logger_logs(trained):
    logged, original = trained.logs["logs/fit"], trained.logs["original"]
    assert {key: logged.get(key) for key in original} == original
    assert {kind for kind, _ in original} >= {"scalar", "histogram"}
    added = {tag for kind, tag in set(logged) - set(original) if kind != "metadata"}
    assert {tag for tag in added if not tag.startswith("runfold/")} == {"note/text_summary"}
    assert [step for step, _ in logged["scalar", "training/loss"]] == list(range(1, 13))
    assert [step for step, _ in logged["scalar", "validation/loss"]] == [1, 2]


def test_hparams_and_the_model_are_saved(runs):
    run = runs["fit"]
    assert run.status.state == "finished"
    assert read_hparams(run) == {"lr": 0.05, "seed": 1}
    assert [artifact.name for artifact in run.artifacts] == ["model.pt"]


def test_an_unknown_name_does_not_start_a_run(runs):
    assert "unused" not in runs


def test_a_killed_training_is_resumed_at_its_checkpoint(runs):
    run = runs["killed"]
    assert read_steps(run, "training/loss") == list(range(1, 25))
    assert read_steps(run, "validation/loss") == [1, 2, 3, 4]
    assert run.hidden > 0
    assert run.status.state == "finished"


def test_runs_are_grouped_by_a_hyperparameter(trained):
    assert count_runs_by(trained.folder / "logs" / "sweep", "lr") == {0.01: 2, 0.1: 2}


@pytest.mark.parametrize("name", ["failed", "failed-second"])
def test_an_exception_ends_the_run_as_failed(runs, name):
    status = runs[name].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")


def test_an_exception_that_the_program_handles_does_not_end_the_training(runs):
    run = runs["handled"]
    assert run.status.state == "finished"
    assert read_steps(run, "training/loss") == list(range(1, 10))
    assert run.hidden == 0


def test_ctrl_c_ends_the_runs_as_interrupted(runs):
    assert runs["interrupted"].status.state == "interrupted"
    assert runs["interrupted-second"].status.state == "interrupted"


def test_a_stop_request_terminates_the_trainer_but_no_evaluator(runs):
    run = runs["stopped"]
    assert run.status.state == "stopped"
    assert read_steps(run, "training/loss") == list(range(1, 10))
    # The last point is from the evaluation after training.
    assert read_steps(run, "validation/loss") == [1, 2]


def test_bad_values_do_not_affect_other_values(runs):
    points = read_points(runs["bad"])
    assert points["before"] == [(0, 1.0)]
    assert points["after"] == [(9, 1.0)]
    assert points["out/tensor"] == [(1, 0.5), (2, 0.5)]
    assert points["out/nested/deep/er/1"] == [(1, 2.0), (2, 2.0)]
    assert np.isnan(runs["bad"]["out/nan"].values).tolist() == [True, True]
    assert not {"out/text", "out/matrix", "out/none"} & set(points)


def test_two_trainings_at_once_are_two_runs(runs):
    for name in ("two/a", "two/b"):
        assert read_steps(runs[name], "training/loss") == [1, 2, 3, 4, 5, 6]
        assert read_steps(runs[name], "validation/loss") == [1]
