"""Sacred with RunfoldObserver, and imported runs, compared with what Sacred stored in files."""

import json
import os
from datetime import UTC, datetime

import numpy as np
import pytest
from conftest import run_program
from run_points import read_hparams, read_points

import runfold as rf

MODES = ("fit", "raise", "timeout", "interrupt", "stop")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("sacred") / "run", "original", "sacred_experiment")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


@pytest.fixture(scope="module")
def imported(trained):
    return rf.open(trained.folder / "imported")


def load(trained, number, name):
    return json.loads((trained.folder / "sacred" / str(number) / f"{name}.json").read_text())


def as_seconds(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize("logdir", ["logs", "imported"])
def test_tensorboard_reads_the_metrics_that_sacred_stored(trained, logdir):
    for number in range(1, 6):
        logged = trained.logs[f"{logdir}/demo/{number}"]
        points = {
            tag: values
            for (kind, tag), values in logged.items()
            if kind == "scalar" and not tag.startswith("result")
        }
        assert points == {
            name: [
                (step, repr(float(np.float32(value))))
                for step, value in zip(metric["steps"], metric["values"], strict=True)
            ]
            for name, metric in load(trained, number, "metrics").items()
        }
        assert [step for step, _ in points["train.loss"]] == [0, 10, 20, 30]


@pytest.mark.parametrize("logdir", ["logs", "imported"])
def test_metrics_keep_their_times(trained, logdir):
    series = rf.open(trained.folder / logdir)["demo/1"]["train.loss"]
    times = load(trained, 1, "metrics")["train.loss"]["timestamps"]
    assert series.wall_times.tolist() == pytest.approx([as_seconds(time) for time in times])


@pytest.mark.parametrize("logdir", ["logs", "imported"])
def test_the_configuration_is_recorded_without_secrets(trained, logdir):
    run = rf.open(trained.folder / logdir)["demo/1"]
    config = run.config
    assert config.pop("seed") == load(trained, 1, "config")["seed"]
    assert config == {
        "lr": 0.1,
        "model": {"width": 3, "sizes": [4, 1], "start": [0.0, 0.0]},
        "api_key": "***",
        "mode": "fit",
    }
    hparams = read_hparams(run)
    assert (hparams["lr"], hparams["model.width"], hparams["api_key"]) == (0.1, 3, "***")


def test_a_run_has_the_status_that_sacred_reports(trained, runs, imported):
    states = [runs[f"demo/{number}"].status.state for number in range(1, 6)]
    assert states == ["finished", "failed", "interrupted", "interrupted", "stopped"]
    # Sacred does not know why Ctrl-C was sent.
    statuses = [load(trained, number, "run")["status"] for number in range(1, 6)]
    assert statuses == ["COMPLETED", "FAILED", "TIMEOUT", "INTERRUPTED", "INTERRUPTED"]
    states = [imported[f"demo/{number}"].status.state for number in range(1, 6)]
    assert states == ["finished", "failed", "interrupted", "interrupted", "interrupted"]
    for run in (runs["demo/2"], imported["demo/2"]):
        assert run.status.traceback.endswith("ValueError: the data is gone\n")
    assert [mark.text for mark in runs["demo/3"].marks] == ["Sacred's status is TIMEOUT."]
    entry, status = load(trained, 1, "run"), imported["demo/1"].status
    assert status.started == pytest.approx(as_seconds(entry["start_time"]))
    assert status.ended == pytest.approx(as_seconds(entry["stop_time"]))


@pytest.mark.parametrize("logdir", ["logs", "imported"])
def test_everything_else_about_a_run_is_in_its_event_file(trained, logdir):
    run = rf.open(trained.folder / logdir)["demo/1"]
    assert run.host["hostname"] == load(trained, 1, "run")["host"]["hostname"]
    assert run.packages["sacred"] == "0.8.7"
    assert "sacred_experiment.py" in run.code.script
    assert "def train(_run, lr, mode):" in run.code.script_text
    assert "sk-1234567890abcdef" not in run.code.script_text
    assert "epoch 2\n" in run.output
    assert "epoch 1" not in run.output
    artifacts = {artifact.name: artifact.size for artifact in run.artifacts}
    assert artifacts == {"weights.bin": 4, "copy.bin": 4}
    with open(os.path.join(run.path, "artifacts", "copy.bin"), "rb") as file:
        assert file.read() == b"1234"
    assert read_points(run)["result/accuracy"] == [(0, 0.75)]
    texts = {tag.partition("/text_summary")[0] for tag in run.tags["text"]}
    assert {"result/note", "sacred/info", "sacred/experiment"} <= texts
    assert ("sacred/resources" in texts) == (logdir == "logs")


def test_all_output_of_a_failed_run_is_recorded_if_requested(trained):
    run = rf.open(trained.folder / "all_output")["demo/1"]
    assert "epoch 2\n" in run.output


def test_runs_are_grouped_by_a_parameter(trained):
    folded = rf.open(trained.folder / "sweep").reduce("mean", by="lr", tags="train.loss")
    means = {name: folded[name, "train.loss"]["mean"][0] for name in folded.groups}
    assert means == {"lr=0.1": pytest.approx(0.1), "lr=0.3": pytest.approx(0.3)}


def test_a_killed_run_has_crashed_and_the_next_one_is_another_run(trained):
    run = rf.open(trained.folder / "killed")["demo/1"]
    assert run.status.state == "crashed"
    assert run["train.loss"].steps.tolist() == [0, 10, 20, 30]
    assert run.command["argv"][1:3] == ["with", "mode=kill"]
    assert run.config["mode"] == "kill"
    # Sacred still reports the run as running. A heartbeat that is a minute old marks it as crashed.
    run = rf.open(trained.folder / "imported_killed")["demo/1"]
    assert run.command["argv"] == ["sacred_experiment.py", "train", "with", "mode=kill"]
    (path,) = (trained.folder / "imported_killed" / "demo" / "1").glob("*tfevents*")
    os.utime(path, (0, 0))
    assert rf.open(trained.folder / "imported_killed")["demo/1"].status.state == "crashed"


def test_bad_values_do_not_affect_other_values(trained):
    run = rf.open(trained.folder / "bad")["demo/1"]
    points = read_points(run)
    assert run.status.state == "finished"
    assert points["last"] == [(0, 1.0)]
    assert points["train.loss"][0] == (0, pytest.approx(0.1))
    assert np.isnan(run["nan"].values).tolist() == [True]
    assert {"text", "list"}.isdisjoint(points)
    assert [artifact.name for artifact in run.artifacts] == ["outside.bin"]
    assert not (trained.folder / "bad" / "demo" / "outside.bin").exists()
    assert trained.errors.count("Tag 'text'") == 1
    # One of the artifacts does not exist.
    assert trained.errors.count("Runfold could not record Sacred's `artifact_event`") == 1


def test_calls_before_the_start_and_after_the_end_do_no_harm(trained):
    run = rf.open(trained.folder / "late")["demo/1"]
    assert run.status.state == "finished"
    assert read_points(rf.open(trained.folder / "late")["sacred"]) == {"before": [(0, 1.0)]}
    assert trained.errors.count("Runfold could not record Sacred's `log_metrics`") == 1


def test_an_experiment_continues_if_the_folder_cannot_be_written_to(trained):
    assert (trained.folder / "unwritable.txt").read_text() == "COMPLETED"
    assert trained.errors.count("The experiment continues without a log: ") == 1
