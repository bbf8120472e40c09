"""skorch with RunfoldCallback, compared with skorch's own TensorBoard callback."""

import numpy as np
import pytest
from conftest import run_program
from run_points import count_runs_by, read_hparams, read_points, read_steps

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("skorch") / "run", "original", "skorch_callback")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def test_tensorboard_reads_what_skorchs_callback_logs(trained):
    logged = {tag: p for (kind, tag), p in trained.logs["logs/fit"].items() if kind == "scalar"}
    original = {tag: p for (kind, tag), p in trained.logs["original"].items() if kind == "scalar"}
    assert sorted(original) == ["Loss/train_loss", "Loss/valid_loss", "dur"]
    # skorch's callback also logs the second `fit`, which starts again at epoch 1.
    expected = {tag: points[:6] for tag, points in original.items()}
    assert {tag: logged[tag] for tag in expected} == expected
    assert sorted(set(logged) - set(original)) == ["Batch/train_loss", "learning_rate"]
    assert [step for step, _ in logged["Loss/train_loss"]] == [1, 2, 3, 4, 5, 6]


def test_learning_rates_and_batches_are_logged(runs):
    run = runs["fit"]
    rates = [0.05, 0.05, 0.025, 0.0125, 0.0125, 0.00625]
    assert run["learning_rate"].values[:3] == pytest.approx(rates[:3])
    assert read_steps(run, "Batch/train_loss") == list(range(1, 25))


def test_fit_starts_a_run_and_partial_fit_continues_it(runs):
    assert read_steps(runs["fit-2"], "Loss/train_loss") == [1, 2, 3]
    assert runs["fit"].hidden == 0
    assert read_steps(runs["pickled"], "Loss/train_loss") == [1, 2]
    assert {runs[name].status.state for name in ("fit", "fit-2", "pickled")} == {"finished"}


def test_the_nets_parameters_are_hparams(runs):
    hparams = read_hparams(runs["fit"])
    assert (hparams["lr"], hparams["batch_size"], hparams["fold"]) == (0.05, 8, 3)
    assert hparams["module"] == "torch.nn.modules.linear.Linear"
    assert hparams["module__in_features"] == 4
    assert "callbacks" not in hparams


def test_each_clone_of_a_search_is_a_run(trained):
    folder = trained.folder / "logs" / "search"
    # Two folds for each learning rate, and the best one again on all data.
    counts = count_runs_by(folder, "lr")
    assert sorted(counts) == [0.05, 0.1]
    assert sorted(counts.values()) == [2, 3]
    runs = rf.open(folder)
    assert {run.status.state for run in runs.values()} == {"finished"}
    assert sorted(read_points(runs["trial-2"])) == [
        "Loss/train_loss",
        "Loss/valid_loss",
        "learning_rate",
    ]
    # Each clone is expected, so its folder's suffix is not reported.
    assert "search/trial" not in trained.errors


def test_a_killed_training_is_resumed_at_its_checkpoint(runs):
    run = runs["killed"]
    assert read_steps(run, "Loss/train_loss") == [1, 2, 3, 4, 5, 6, 7, 8]
    assert run.hidden == 2 * 4
    assert run.status.state == "finished"


def test_an_exception_ends_the_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")
    assert runs["failed-again"].status.state == "failed"
    assert runs["failed-again-2"].status.state == "finished"
    assert runs["failed-last"].status.state == "failed"


def test_a_stop_request_ends_training_after_the_epoch(runs):
    assert runs["stopped"].status.state == "stopped"
    assert read_steps(runs["stopped"], "Loss/train_loss") == [1, 2]


def test_ctrl_c_interrupts_a_run_and_early_stopping_finishes_it(runs):
    assert runs["interrupted"].status.state == "interrupted"
    assert read_steps(runs["interrupted"], "Loss/train_loss") == [1]
    assert runs["early"].status.state == "finished"
    # EarlyStopping ends training before the callback's method for the last epoch is called.
    assert read_steps(runs["early"], "Loss/train_loss") == [1, 2, 3]


def test_checkpoints_are_saved_if_requested(runs):
    names = sorted(artifact.name for artifact in runs["saved"].artifacts)
    assert names == [
        *("criterion.pt", "history.json", "optimizer.pt", "params.pt"),
        *(f"train_end_{name}" for name in ("criterion.pt", "history.json", "optimizer.pt")),
        "train_end_params.pt",
    ]
    assert not list(runs["fit"].artifacts)


def test_bad_values_do_not_affect_other_values(trained, runs):
    points = read_points(runs["bad"])
    assert points["before"] == [(0, 1.0)]
    assert points["after"] == [(9, 1.0)]
    assert points["nested/deep/er"] == [(1, 1.0), (2, 1.0)]
    assert points["tensor"] == [(1, 0.5), (2, 0.5)]
    assert points["changes"] == [(1, 0.5)]
    assert np.isnan(runs["bad"]["nan"].values).tolist() == [True, True]
    for tag in ("text", "changes"):
        assert len([line for line in trained.errors.splitlines() if f"Tag '{tag}'" in line]) == 1
    assert runs["bad"].status.state == "finished"


def test_two_trainings_at_once_are_two_runs(runs):
    assert read_steps(runs["two/a"], "Loss/train_loss") == [1, 2, 3]
    assert read_steps(runs["two/b"], "Loss/train_loss") == [1, 2, 3]
