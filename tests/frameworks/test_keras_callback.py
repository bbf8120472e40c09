"""Keras with RunfoldCallback on three back ends, compared with `keras.callbacks.TensorBoard`."""

import json

import numpy as np
import pytest
from conftest import run_program
from google.protobuf import text_format
from run_points import count_runs_by, read_points, read_steps
from tensor_readings import read_tensors
from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

import runfold as rf

BACKENDS = ("tensorflow", "torch", "jax")
PARTS = ("train", "validation")
# The values of these tags depend on the speed of the machine.
RATES = ("batch_steps_per_second", "epoch_steps_per_second")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Return the result of the program on each back end."""
    folder = tmp_path_factory.mktemp("keras")
    results = {}
    for backend in BACKENDS:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KERAS_BACKEND", backend)
            results[backend] = run_program(folder / backend, "original", "keras_callback")
    return results


@pytest.fixture(scope="module")
def original(trained):
    return {
        part: read_tensors(trained["tensorflow"].folder / "logs/original" / part) for part in PARTS
    }


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained["jax"].folder / "logs")


def read_backend(trained, backend, part):
    series = read_tensors(trained[backend].folder / "logs/fit" / part)
    assert series.pop("_hparams_/session_start_info").plugin == "hparams"
    return series


def read_text(tensors):
    """Return the only string in nested lists."""
    while isinstance(tensors, list):
        (tensors,) = tensors
    return json.loads(tensors)


@pytest.mark.parametrize("part", PARTS)
def test_tensorboard_reads_the_same_from_both_callbacks_in_one_training(trained, original, part):
    logged = read_backend(trained, "tensorflow", part)
    assert sorted(logged) == sorted(original[part])
    for tag in RATES:
        if part == "train":
            ours, theirs = logged.pop(tag), original[part][tag]
            assert (ours.plugin, ours.steps) == (theirs.plugin, theirs.steps)
            assert min(ours.tensors) > 0
    assert logged == {tag: original[part][tag] for tag in logged}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("backend", ["torch", "jax"])
def test_other_back_ends_log_the_same_without_tensorflow(trained, original, backend, part):
    logged = read_backend(trained, backend, part)
    assert sorted(logged) == sorted(original[part])
    for tag, series in logged.items():
        expected = original[part][tag]
        assert (series.plugin, series.content) == (expected.plugin, expected.content), tag
        assert series.steps == expected.steps, tag
        if series.plugin == "graph_keras_model":
            ours, theirs = read_text(series.tensors), read_text(expected.tensors)
            # Back ends have different optimizer classes and defaults of `jit_compile`.
            del ours["compile_config"], theirs["compile_config"]
            assert ours == theirs
        elif series.plugin == "images":
            assert [image[:2] for image in series.tensors] == [
                image[:2] for image in expected.tensors
            ]
            np.testing.assert_allclose(
                read_pixels(series.tensors), read_pixels(expected.tensors), atol=1
            )
        elif tag not in RATES:
            np.testing.assert_allclose(series.tensors, expected.tensors, rtol=1e-5, atol=1e-6)


def read_pixels(tensors):
    """Return the pixels of all images of a tag as numbers."""
    files = [file for _, _, *files in tensors for file in files]
    return np.frombuffer(b"".join(frame[2] for file in files for frame in file), np.uint8).astype(
        int
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_projector_shows_the_embeddings_with_their_labels(trained, backend):
    logs = trained[backend].folder / "logs"
    config = read_projector(logs / "fit/train")
    assert [info.tensor_name for info in config.embeddings] == ["tokens:00000", "tokens:00002"]
    words = (trained[backend].folder / "words.txt").read_text()
    for info in config.embeddings:
        assert (logs / "fit/train" / info.metadata_path).read_text() == words
        points = np.loadtxt(logs / "fit/train" / info.tensor_path)
        assert points.shape == (10, 4)
    if backend == "tensorflow":
        (info,) = read_projector(logs / "original").embeddings
        assert info.metadata_path == "words.txt"


def read_projector(folder):
    text = (folder / "projector_config.pbtxt").read_text()
    return text_format.Parse(text, ProjectorConfig())


def test_the_runs_contain_the_configuration(runs):
    for part in PARTS:
        run = runs[f"fit/{part}"]
        assert run.status.state == "finished"
        config = run.config
        assert (config["optimizer"], config["learning_rate"]) == ("SGD", 0.01)
        assert (config["loss"], config["epochs"], config["steps"]) == ("mse", 3, 4)
        assert (config["backend"], config["model"]) == ("jax", "small")
    assert runs["again/train-2"].config["width"] == {"first": 3}


@pytest.mark.parametrize("part", PARTS)
def test_a_training_that_was_killed_twice_has_the_points_of_one_that_was_not(runs, part):
    run = runs[f"killed/{part}"]
    points = {
        tag: series for tag, series in read_points(run).items() if not tag.endswith("/histogram")
    }
    assert points == read_points(runs[f"not-killed/{part}"])
    assert run.status.state == "finished"
    if part == "train":
        assert read_steps(run, "batch_loss") == list(range(1, 21))
        # The batches of the two epochs that are not in a backup; the metrics of one are kept.
        assert run.hidden > 0
        assert read_steps(run, "epoch_loss") == list(range(5))


def test_runs_are_grouped_by_the_learning_rate(trained):
    folder = trained["jax"].folder / "logs" / "sweep"
    assert count_runs_by(folder, "learning_rate") == {0.01: 2, 0.1: 2}
    assert count_runs_by(folder, "seed") == {0: 2, 1: 2}


def test_an_exception_in_a_with_block_ends_the_runs_as_failed(runs):
    for part in PARTS:
        status = runs[f"failed/{part}"].status
        assert status.state == "failed"
        assert status.traceback.endswith("ValueError: the data is gone\n")


def test_training_whose_exception_the_program_handles_has_failed(runs):
    for part in PARTS:
        for name in ("failed-before", "failed-last"):
            status = runs[f"{name}/{part}"].status
            assert status.state == "failed"
            assert "Training did not finish." in status.traceback
        assert runs[f"failed-before/{part}-2"].status.state == "finished"


def test_an_embedding_that_the_model_does_not_use_is_not_logged(runs):
    run = runs["unused/train"]
    assert run.status.state == "finished"
    assert read_steps(run, "epoch_loss") == [0]


def test_a_stop_request_ends_training_after_the_next_batch(runs):
    assert {runs[f"stopped/{part}"].status.state for part in PARTS} == {"stopped"}
    assert read_steps(runs["stopped/train"], "batch_loss") == list(range(1, 7))
    assert read_steps(runs["stopped/train"], "epoch_loss") == [0, 1]
    assert [artifact.name for artifact in runs["stopped/train"].artifacts] == ["model.keras"]


def test_several_fits_with_one_callback_are_one_run(runs):
    train, validation = runs["again/train"], runs["again/validation"]
    # Each step is two batches.
    assert read_steps(train, "batch_loss") == [1, 2, 3, 4, 5, 6]
    assert read_steps(train, "epoch_loss") == [0, 1, 2]
    assert read_steps(validation, "epoch_loss") == [0, 1, 2]
    assert read_steps(validation, "evaluation_loss_vs_iterations") == [4, 8, 8, 12]
    assert {train.status.state, validation.status.state} == {"finished"}


def test_both_runs_get_the_same_suffix_in_a_folder_that_contains_runs(runs):
    assert read_steps(runs["again/validation-2"], "evaluation_loss_vs_iterations") == [12, 16]
    assert read_steps(runs["again/train-2"], "epoch_loss") == [0]


def test_another_model_with_the_same_callback_has_separate_runs(runs):
    for suffix, rate in (("", 0.1), ("-2", 0.01)):
        for part in ("train", "validation"):
            run = runs[f"models/{part}{suffix}"]
            assert run.config["learning_rate"] == rate
            assert read_steps(run, "epoch_loss") == [0, 1]


def test_a_run_of_runfold_run_is_used_without_subfolders(runs):
    points = read_points(runs["host"])
    assert len(points["epoch_loss"]) == len(points["epoch_val_loss"]) == 2
    assert len(points["batch_loss"]) == 8
    assert len(points["evaluation_loss_vs_iterations"]) == 2
    # A different training run took place in between.
    assert read_steps(runs["inner/train"], "epoch_loss") == [0]


def test_determineds_callback_ignores_the_folder(trained, runs):
    assert read_steps(runs["trial"], "epoch_loss") == [0]
    assert any("ignores log_dir" in line for line in trained["jax"].warnings)
    assert not (trained["jax"].folder / "ignored").exists()


def test_bad_values_do_not_affect_other_values(trained, runs):
    points = read_points(runs["bad/train"])
    assert points["before"] == [(0, 1.0), (1, 2.0)]
    assert points["batch_loss"][4:] == [(6, 0.5)]
    assert points["batch_a/b/c"] == [(10, 1.0)]
    assert points["epoch_7"] == [(1, 1.5)]
    assert np.isnan(runs["bad/train"]["epoch_nan"].values).tolist() == [True]
    assert points["epoch_late"] == [(2, 1.0)]
    validation = read_points(runs["bad/validation"])
    assert validation["epoch_tensor"] == [(1, 1.0)]
    assert validation["evaluation_nested_vs_iterations/deep"] == [(4, 1.0)]
    assert read_points(runs["uncompiled/train"]) == {"epoch_loss": [(0, 1.0)]}
    warnings = trained["jax"].warnings
    assert len([line for line in warnings if "Tag 'batch_loss'" in line]) == 1
    assert len([line for line in warnings if "profiling needs TensorFlow" in line]) == 1
