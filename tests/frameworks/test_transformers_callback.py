"""transformers with RunfoldCallback, compared with transformers' TensorBoardCallback."""

import json

import numpy as np
import pytest
from conftest import run_program

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("transformers") / "run"
    return run_program(folder, "original", "transformers_callback")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def read_steps(run, tag="train/loss"):
    return run[tag].steps.tolist()


def read_hparams(run):
    frame = run.hparams()
    return dict(zip(frame["hparam"], frame["value"], strict=True))


def test_tensorboard_reads_what_transformers_own_callback_logs(trained, runs):
    logged, own = (
        {tag: points for (kind, tag), points in trained.logs[run].items() if kind == "scalar"}
        for run in ("logs/both", "logs/own")
    )
    predicted = {tag: logged.pop(tag) for tag in sorted(logged) if tag.startswith("test/")}
    assert logged == own
    assert [step for step, _ in logged["eval/loss"]] == [0, 8, 16, 16]
    assert [step for step, _ in predicted["test/accuracy"]] == [16]
    assert runs["both"].status.state == "finished"
    assert runs["both"].hidden == 0


def test_arguments_and_the_models_configuration_are_hparams(runs):
    hparams = read_hparams(runs["both"])
    assert (hparams["num_train_epochs"], hparams["learning_rate"]) == (2, 5e-5)
    assert hparams["lr_scheduler_type"] == "linear"
    assert hparams["model_config.hidden_size"] == 8
    assert runs["both"].config["model_config"]["hidden_act"] == "gelu"
    assert not [name for name in hparams if name.endswith("_token")]


def test_report_to_logs_to_the_output_folder(trained):
    ((name, run),) = rf.open(trained.folder / "default").items()
    assert name.startswith("runs/")
    assert read_steps(run) == [2, 4, 6, 8]
    assert run.status.state == "finished"


def test_a_killed_training_continues_its_run_at_the_checkpoint(trained):
    ((name, run),) = rf.open(trained.folder / "killed").items()
    assert name == "runs/one"  # although the resumed `train` has another run_name
    assert read_steps(run) == [2, 4, 6, 8, 10, 12, 14, 16]
    assert read_steps(run, "eval/loss") == [8, 16]
    assert run.hidden == 4
    assert run.status.state == "finished"


def test_runs_are_grouped_by_a_training_argument(trained):
    sweep = rf.open(trained.folder / "logs" / "sweep")
    groups = sweep.reduce("mean", by="learning_rate").groups
    assert list(groups) == ["learning_rate=0.001", "learning_rate=0.01"]


def test_an_exception_in_a_with_block_ends_the_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")


def test_a_stop_request_ends_training_after_the_step(runs):
    run = runs["stopped"]
    assert run.status.state == "stopped"
    assert read_steps(run) == [2]
    assert read_steps(run, "eval/loss") == [3, 3]  # at the end of training, and after it


def test_all_ranks_stop_after_the_same_step_and_only_rank_zero_logs(trained, runs):
    stops = [json.loads((trained.folder / f"rank-{rank}.json").read_text()) for rank in (0, 1)]
    assert stops == [2, 2]
    assert runs["ranks"].status.state == "stopped"
    assert len([path for path in trained.event_files if path.parent.name == "ranks"]) == 1


def test_a_second_training_is_a_second_run_unless_it_resumes(runs):
    status = runs["again"].status
    assert status.state == "failed"
    assert "Training did not finish." in status.traceback
    assert read_steps(runs["again-2"]) == [2, 4, 6, 8]
    assert runs["again-2"].status.state == "finished"
    assert "again-3" not in list(runs)


def test_a_log_after_training_does_not_make_the_next_training_fail_the_run(runs):
    assert read_steps(runs["noted"], "train/note") == [8]
    assert {runs[name].status.state for name in ("noted", "noted-2")} == {"finished"}


def test_checkpoints_and_the_model_are_saved_if_requested(runs):
    names = [artifact.name for artifact in runs["again-2"].artifacts]
    assert names == ["checkpoint-4", "checkpoint-8"]
    assert [artifact.name for artifact in runs["search/number-0"].artifacts] == ["model"]
    assert not list(runs["both"].artifacts)


def test_each_trial_of_a_search_is_a_run(runs):
    trials = [runs["search/number-0"], runs["search/number-1"]]
    assert [read_steps(run) for run in trials] == [[2, 4, 6, 8]] * 2
    rates = {read_hparams(run)["learning_rate"] for run in trials}
    assert len(rates) == 2
    assert rates.isdisjoint({5e-5})


def test_bad_values_do_not_affect_other_values(trained, runs):
    run = runs["bad"]
    assert read_steps(run) == [0, 2, 4, 6, 8, 8]  # the first before training, the last after it
    assert run.config["logging_steps"] == 2  # although the program started the run itself
    assert run["train/nested/a/b"].values.tolist() == [1.0]
    assert run["train/tensor"].values.tolist() == [0.5]
    assert run["train/7"].values.tolist() == [7.0]
    assert np.isnan(run["train/nan"].values).tolist() == [True, False]
    assert run.status.state == "finished"
    warnings = [line for line in trained.errors.splitlines() if "Tag '" in line]
    assert [line.partition("Tag '")[2].partition("'")[0] for line in warnings] == [
        "train/nan",
        "train/object",
        "train/array",
    ]
