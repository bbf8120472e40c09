"""A Flax NNX loop with `rf.track`, compared with Flax's own TensorBoard writer."""

import numpy as np
import pytest
from conftest import run_program
from run_points import count_runs_by, read_points, read_steps
from tensor_readings import read_tensors

import runfold as rf


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("flax") / "run", "original", "flax_nnx")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def test_tensorboard_reads_the_same_as_from_flaxs_own_writer(tmp_path):
    ended = run_program(tmp_path / "original", "original", "flax_nnx", "original")
    logged = read_tensors(ended.folder / "logs" / "both")
    original = read_tensors(ended.folder / "logs" / "original")
    assert list(original) == ["train/loss"]
    assert logged["train/loss"] == original["train/loss"]
    assert logged["train/loss"].steps == list(range(6))


def test_a_killed_loop_is_resumed_at_its_checkpoint(runs):
    run = runs["killed"]
    assert read_points(run) == read_points(runs["not-killed"])
    assert read_steps(run, "train/loss") == list(range(6))
    assert run.hidden == 2 * 2
    assert run.status.state == "finished"
    assert [artifact.name for artifact in run.artifacts] == ["checkpoint.pkl"]


def test_a_stop_request_ends_the_loop(runs):
    assert read_steps(runs["stopped"], "train/loss") == [0, 1]
    assert runs["stopped"].status.state == "stopped"


def test_runs_are_grouped_by_an_hparam(trained):
    assert count_runs_by(trained.folder / "logs" / "sweep", "rate") == {0.01: 2, 0.1: 2}


def test_an_exception_ends_the_run_as_failed_after_bad_values(trained, runs):
    run = runs["failed"]
    assert run.status.state == "failed"
    assert run.status.traceback.endswith("ValueError: the data is gone\n")
    assert np.isnan(run["nan"].values).tolist() == [True]
    assert len([line for line in trained.warnings if "Tag 'vector'" in line]) == 1
