"""Composer with RunfoldLogger, compared with its TensorboardLogger in the same trainer.

Composer 0.32.1 requires torch 2.7 or older, so it is not among the other frameworks. The tests
that train run where it is installed.
"""

import subprocess
import sys
from importlib.util import find_spec

import pytest
from conftest import run_program

import runfold as rf

needs_composer = pytest.mark.skipif(find_spec("composer") is None, reason="Composer is missing")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("composer") / "run", "original", "composer_trainer")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def test_a_missing_composer_is_a_clear_error():
    """The message names the tested version and says what to install."""
    program = "import sys; sys.modules['composer'] = None; import runfold.integrations.composer"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: Runfold's adapter for Composer could not import it (")
    assert last.endswith("Install it with `pip install mosaicml`. Tested with version 0.32.1.")


@needs_composer
def test_tensorboard_reads_the_same_as_from_composers_own_logger(trained):
    def read(run):
        return {
            tag: dict(points)
            for (kind, tag), points in trained.logs[run].items()
            if kind == "scalar" and not tag.startswith(("time/", "throughput/"))
        }

    ours = read("logs/fit")
    assert ours.pop("nested/a") == {1: "1.0"}
    assert ours == read("tensorboard/fit")
    assert "loss/train/total" in ours
    image = trained.logs["logs/fit"]["image", "image"]
    assert image == trained.logs["tensorboard/fit"]["image", "image"]
    table = trained.logs["logs/fit"]["tensor", "table/text_summary"]
    assert table == [(1, [b"| a | b |\n| --- | --- |\n| 1 | x\\|y |"])]


@needs_composer
def test_hparams_artifacts_and_status_are_recorded(trained, runs):
    run = runs["fit"]
    hparams = dict(zip(run.hparams()["hparam"], run.hparams()["value"], strict=True))
    assert (hparams["lr"], hparams["composer_version"]) == (0.05, "0.32.1")
    assert run.status.state == "finished"
    assert "checkpoints/fit/ep2-ba16-rank0.pt" in [artifact.name for artifact in run.artifacts]
    assert not list(runs["lr-0.1"].artifacts)
    assert not [line for line in trained.warnings if "Runfold" in line or "run_name" in line]


@needs_composer
def test_a_killed_training_is_resumed(runs):
    run = runs["killed"]
    assert run["loss/train/total"].steps.tolist() == list(range(24))
    assert run.status.state == "finished"


@needs_composer
def test_a_stop_request_ends_training_after_the_batch(runs):
    run = runs["stopped"]
    assert (run.status.state, run["loss/train/total"].steps.tolist()) == ("stopped", [0, 1, 2])


@needs_composer
def test_an_exception_ends_the_run_as_failed(runs):
    status = runs["failed"].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")


@needs_composer
def test_runs_are_grouped_by_a_hyperparameter(runs):
    folded = runs.reduce("mean", runs=["fit", "lr-*"], tags="loss/*", by="lr")
    assert {group.key["lr"] for group in folded.groups.values()} == {0.05, 0.1}


@needs_composer
def test_bad_images_and_missing_files_do_not_affect_other_data(trained, runs):
    assert runs["bad"]["after"].values.tolist() == [1.0]
    assert runs["bad"].status.state == "finished"
    assert "no-such-file.pt' was not saved as an artifact" in trained.errors
    assert len([line for line in trained.errors.splitlines() if "Tag 'bad'" in line]) == 1
