"""Lightning with RunfoldLogger, compared with Lightning's own logger."""

from pathlib import Path

import pytest
from conftest import run_program

import runfold as rf

HPARAMS = {
    "lr": 0.05,
    "layers": {"width": 4, "sizes": [4, 1]},
    "name": "small",
    "is_wide": False,
}


@pytest.fixture
def open_logs(tmp_path):
    def run_and_open(mode):
        trained = run_program(tmp_path / mode, "original", "lightning_logger", mode)
        return trained, rf.open(trained.folder / "logs")

    return run_and_open


def read_scalars(run):
    """Return the points of each tag, without system metrics."""
    return {
        tag: list(zip(run[tag].steps.tolist(), run[tag].values.tolist(), strict=True))
        for tag in sorted(set(run.scalars()["tag"]))
        if not tag.startswith("system/")
    }


@pytest.mark.parametrize("mode", ["fit", "pytorch_lightning"])
def test_metrics_are_those_of_lightnings_own_logger(open_logs, mode):
    trained, runs = open_logs(mode)
    run, original = runs["runfold/version_0"], runs["lightning/version_0"]
    assert list(runs) == [original.name, run.name]
    assert read_scalars(run) == read_scalars(original)
    assert [step for step, _ in read_scalars(run)["val/loss"]] == [7, 15]
    assert run.status.state == "finished"
    assert run.config == HPARAMS
    assert run.code is not None
    assert [path.suffix for path in Path(run.path).glob("checkpoints/*")] == [".ckpt"]
    assert [line for line in trained.errors.splitlines() if "unfold" in line] == []


def test_later_stages_continue_the_run(open_logs):
    _, runs = open_logs("test")
    run, original = runs["runfold/version_0"], runs["lightning/version_0"]
    assert list(runs) == [original.name, run.name]
    assert read_scalars(run) == read_scalars(original)
    assert [step for step, _ in read_scalars(run)["test/loss"]] == [16, 16]
    assert run.hidden == 0
    assert run.status.state == "finished"
    assert run.config == HPARAMS


def test_a_run_resumed_from_a_checkpoint_keeps_all_its_points(open_logs):
    _, runs = open_logs("resume")
    (run,) = runs.values()
    assert [step for step, _ in read_scalars(run)["val/loss"]] == [7, 15, 23, 31]
    assert run.hidden == 0
    assert run.status.state == "finished"


def test_an_exception_in_fit_ends_the_run_as_failed(open_logs):
    _, runs = open_logs("raise")
    (run,) = runs.values()
    assert run.name == "lightning_logs/version_0"
    assert run.status.state == "failed"
    assert run.status.traceback.endswith("ValueError: the loss is NaN\n")


def test_ctrl_c_ends_the_run_as_interrupted(open_logs):
    _, runs = open_logs("interrupt")
    (run,) = runs.values()
    assert run.status.state == "interrupted"


def test_fast_dev_run_logs_nothing(tmp_path):
    trained = run_program(tmp_path / "dev", "original", "lightning_logger", "fast_dev_run")
    assert not (trained.folder / "logs").exists()


def test_only_rank_zero_of_two_processes_logs(open_logs):
    trained, runs = open_logs("ddp")
    (run,) = runs.values()
    assert run.status.state == "finished"
    assert [step for step, _ in read_scalars(run)["val/loss"]] == [3, 7]
    assert len(trained.event_files) == 1


def test_hparams_of_any_type_are_logged_and_bad_values_are_survived(open_logs):
    trained, runs = open_logs("hparams")
    run = runs["one"]
    assert run.config == {"lr": 0.1, "data": {"path": "data", "api_key": "***"}, "seed": 1}
    assert read_scalars(run) == {
        "hp/loss": [(0, 0.5)],
        "loss": [(1, 0.5), (0, 0.25)],
        "losses/a": [(1, 1.0)],
        "losses/b": [(1, 2.0)],
    }
    assert run.status.state == "failed"
    assert "Lightning reported the status 'aborted'" in run.status.traceback
    assert list(runs) == ["one", "one-2"]
    # Lightning prints warnings in its own format.
    bad_value, taken_folder = trained.errors.splitlines()
    assert "Tag 'loss': scalar_value cannot be str 'not a number'" in bad_value
    assert "this run goes to logs/one-2" in taken_folder
