"""fastai with RunfoldCallback, compared with fastai's own TensorBoardCallback."""

import numpy as np
import pytest
from conftest import run_program
from run_points import count_runs_by, read_hparams, read_points, read_steps

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("fastai") / "run", "original", "fastai_callback")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def test_tensorboard_reads_what_fastais_callback_logs(trained):
    logged = {tag: p for (kind, tag), p in trained.logs["logs/fit"].items() if kind == "scalar"}
    original = {tag: p for (kind, tag), p in trained.logs["original"].items() if kind == "scalar"}
    assert {"train_loss", "valid_loss", "mae", "lr_0", "mom_0", "wd_0"} <= set(logged)
    # fastai's callback repeats the last training batch in each validation batch.
    assert logged == {tag: list(dict.fromkeys(points)) for tag, points in original.items()}
    assert [step for step, _ in logged["train_loss"]] == list(range(1, 9))
    assert [step for step, _ in logged["valid_loss"]] == [4, 8]


def test_the_learners_settings_are_hparams(runs):
    hparams = read_hparams(runs["fit"])
    assert runs["fit"].status.state == "finished"
    assert hparams["lr"] == pytest.approx(0.05)
    assert (hparams["epochs"], hparams["batch_size"], hparams["fold"]) == (2, 8, 3)
    assert (hparams["model"], hparams["parameters"]) == ("Linear", 5)
    assert (hparams["opt_func"], hparams["loss_func"]) == ("SGD", "MSELoss")
    assert runs["fit"].config["metrics"] == ["mae"]


def test_the_saved_model_is_an_artifact_if_requested(runs):
    assert [artifact.name for artifact in runs["fit"].artifacts] == ["best.pth"]
    assert not list(runs["early"].artifacts)


def test_both_parts_of_fine_tuning_are_one_run(runs):
    run = runs["fine-tuned"]
    assert [name for name in runs if name.startswith("fine-tuned")] == ["fine-tuned"]
    assert read_steps(run, "train_loss") == list(range(1, 13))
    assert read_steps(run, "valid_loss") == [4, 8, 12]
    assert run.hidden == 0
    assert run.status.state == "finished"


def test_a_killed_training_is_resumed_at_its_epoch(runs):
    run = runs["killed"]
    assert read_steps(run, "train_loss") == list(range(1, 17))
    assert read_steps(run, "valid_loss") == [4, 8, 12, 16]
    assert run.hidden > 0
    assert run.status.state == "finished"


def test_runs_are_grouped_by_the_learning_rate(trained):
    assert count_runs_by(trained.folder / "logs" / "sweep", "lr") == {0.01: 2, 0.1: 2}


def test_an_exception_ends_the_run_as_failed(runs):
    for name in ("failed", "failed-again"):
        assert runs[name].status.state == "failed"
        assert "ValueError: " in runs[name].status.traceback
        assert "the data is gone" in runs[name].status.traceback
    assert runs["interrupted"].status.state == "interrupted"


def test_a_stop_request_ends_training_after_the_batch(runs):
    assert runs["stopped"].status.state == "stopped"
    assert read_steps(runs["stopped"], "train_loss") == [1, 2, 3, 4, 5, 6]


def test_early_stopping_ends_the_run_as_finished(runs):
    run = runs["early"]
    assert run.status.state == "finished"
    assert read_steps(run, "valid_loss") == [4, 8, 12]


def test_bad_values_do_not_affect_other_values(trained, runs):
    points = read_points(runs["bad"])
    assert points["before"] == [(0, 1.0)]
    assert points["after"] == [(9, 1.0)]
    assert points["nested/deep/er"] == [(4, 1.0), (8, 1.0)]
    assert points["tensor"] == [(4, 0.5), (8, 0.5)]
    assert "none" not in points
    assert np.isnan(runs["bad"]["nan"].values).tolist() == [True, True]
    text = [line for line in trained.errors.splitlines() if "Tag 'text'" in line]
    assert len(text) == 1


def test_two_trainings_at_once_are_two_runs(trained, runs):
    assert read_steps(runs["two/a"], "train_loss") == [1, 2, 3, 4]
    assert read_steps(runs["two/b"], "train_loss") == [1, 2, 3, 4]
    assert {"mae", "mse"} <= set(read_points(runs["two/b"]))
    assert ("graph", "") in trained.logs["logs/two/b"]


def test_another_learner_with_the_same_callback_has_a_separate_run(runs):
    for name, rate in (("learners", 0.1), ("learners-2", 0.2)):
        assert read_hparams(runs[name])["lr"] == pytest.approx(rate)
        assert read_steps(runs[name], "train_loss") == [1, 2, 3, 4]
