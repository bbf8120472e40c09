"""accelerate with RunfoldTracker, compared with accelerate's TensorBoardTracker."""

import numpy as np
import pytest
from conftest import run_program

import runfold as rf

STEPS = list(range(8))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("accelerate") / "run"
    return run_program(folder, "original", "accelerate_tracking")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


def read_steps(run, tag="loss"):
    return run[tag].steps.tolist()


def read_texts(run):
    frame = run.text()
    suffix = "/text_summary"
    return {
        tag.removesuffix(suffix): text
        for tag, text in zip(frame["tag"], frame["text"], strict=True)
        if tag.endswith(suffix)
    }


def select(series):
    """Return the scalars, images and text that TensorBoard read."""
    return {
        (kind, tag): points
        for (kind, tag), points in series.items()
        if kind in ("scalar", "image") or tag.endswith("/text_summary")
    }


def test_tensorboard_reads_what_accelerates_own_tracker_logs(trained, runs):
    expected = select(trained.logs["logs/project"])
    for key in ("train", "half"):  # torch's writer logs each of them to its own folder
        expected["scalar", f"both/{key}"] = trained.logs[f"logs/project/both_{key}"][
            "scalar", "both"
        ]
    assert select(trained.logs["logs/both"]) == expected
    kinds = {kind for kind, _ in expected}
    assert kinds == {"scalar", "image", "tensor", "metadata"}
    assert [step for step, _ in expected["scalar", "loss"]] == STEPS
    assert runs["both"].status.state == "finished"


def test_the_registered_name_logs_to_the_project_folder(runs):
    run = runs["registered"]
    frame = run.hparams()
    hparams = dict(zip(frame["hparam"], frame["value"], strict=True))
    assert read_steps(run) == STEPS
    assert run.status.state == "finished"
    assert run.config["optim"] == {"momentum": 0.9}
    assert hparams == {
        "fast": True,
        "lr": 0.05,
        "name": "small",
        "optim.momentum": 0.9,
        "steps": 8,
    }


def test_a_killed_training_is_resumed_at_its_checkpoint(runs):
    run = runs["killed"]
    assert read_steps(run) == list(range(10))
    assert run.hidden == 9  # three tags at three steps
    assert run.status.state == "finished"


def test_runs_are_grouped_by_a_value_of_the_configuration(trained):
    groups = rf.open(trained.folder / "logs" / "sweep").reduce("mean", by="lr").groups
    assert list(groups) == ["lr=0.05", "lr=0.1"]


@pytest.mark.parametrize("name", ["failed", "finally"])
def test_an_exception_ends_the_run_as_failed(runs, name):
    status = runs[name].status
    assert status.state == "failed"
    assert status.traceback.endswith("ValueError: the data is gone\n")


def test_a_stop_request_interrupts_the_loop(runs):
    assert runs["stopped"].status.state == "stopped"
    assert read_steps(runs["stopped"]) == [0, 1, 2, 3]


def test_several_processes_stop_together_and_only_the_main_one_logs(trained, runs):
    run = runs["ranks"]
    assert run.status.state == "stopped"
    assert read_steps(run) == [0, 1, 2]
    assert len([path for path in trained.event_files if path.parent.name == "ranks"]) == 1


def test_images_tables_and_artifacts_are_logged(runs):
    run = runs["media"]
    images = run.images()
    assert dict(zip(images["tag"], images["width"], strict=True)) == {"icon/0": 4, "icon/1": 2}
    texts = read_texts(run)
    assert texts == {
        "table": "| a | b |\n| --- | --- |\n| 1 | x\\|y |\n| 2 | two lines |",
        "first-row": "| a |\n| --- |\n| 1 |",
    }
    assert [artifact.name for artifact in run.artifacts] == ["model.bin"]


def test_bad_values_do_not_affect_other_values(trained, runs):
    run = runs["bad"]
    assert read_steps(run) == [0, 2, 3]  # the first before `start`, the last after `finish`
    assert read_texts(run) == {"loss": "text"}
    assert run["nested/a/b"].values.tolist() == [1.0]
    assert run["half"].values.tolist() == [0.5]
    assert np.isnan(run["nan"].values).tolist() == [True, False]
    assert run.status.state == "finished"
    assert runs["other"]["loss"].values.tolist() == [2.0]
    warnings = [line for line in trained.errors.splitlines() if "UserWarning: " in line]
    subjects = [line.partition("UserWarning: ")[2].split("'")[1] for line in warnings]
    assert subjects == ["missing.bin", "nan", "object", "array"]
