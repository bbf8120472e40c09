"""Ray Tune with RunfoldLoggerCallback, compared with Ray's own TensorBoard logger."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest
from conftest import ENVIRONMENT, HERE
from readings import read_run
from run_points import read_points, read_steps

import runfold as rf

SECONDS = 900


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ray")
    # The path of a socket must be short, so Ray's session cannot be in pytest's folder.
    session = Path(tempfile.mkdtemp(prefix="ray"))
    try:
        assert run_program(folder, session, "kill").returncode == -signal.SIGKILL
        ended = run_program(folder, session, "train")
        assert ended.returncode == 0, ended.stderr
        (folder / "errors.txt").write_text(ended.stderr)
        yield folder
    finally:
        end_processes(folder, session)
        shutil.rmtree(session, ignore_errors=True)


def run_program(folder, session, mode):
    return subprocess.run(
        [sys.executable, HERE / "programs" / "ray_tune_trials.py", mode, session],
        cwd=folder,
        env={**os.environ, **ENVIRONMENT, "XDG_STATE_HOME": str(folder / "state")},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def end_processes(*folders):
    """End the processes in these folders. Agents of a killed session live for a minute."""
    left = []
    for process in psutil.process_iter():
        try:
            is_left = any(Path(process.cwd()).is_relative_to(folder) for folder in folders)
        except (psutil.Error, OSError):
            continue
        if is_left:
            process.kill()
            left.append(process)
    _, alive = psutil.wait_procs(left, SECONDS)
    assert not alive


@pytest.fixture(scope="module")
def described(folder):
    return json.loads((folder / "described.json").read_text())


def find_run(runs, ending):
    (run,) = [run for run in runs.values() if run.config["ending"] == ending]
    return run


def read_results(folder):
    """Return what TensorBoard reads of the results."""
    return {
        key: series for key, series in read_run(folder).items() if key[1].startswith("ray/tune/")
    }


def test_results_are_logged_as_by_rays_own_logger(folder, described):
    assert len(described["sweep"]) == 4
    for trial in described["sweep"]:
        expected = read_results(folder / "experiments" / "sweep" / trial)
        assert read_results(folder / "logs" / "sweep" / trial) == expected
        assert ("scalar", "ray/tune/nested/deep/value") in expected
        assert [step for step, _ in expected["image", "ray/tune/image"]] == [10, 20, 30]
        assert ("histogram", "ray/tune/weights") in expected


def test_runs_are_grouped_by_their_configuration(folder):
    runs = rf.open(folder / "logs")
    model = {"width": 4, "act": "builtins.len"}
    configs = [run.config for run in runs.values()]
    assert {"lr": 0.1, "seed": 2, "model": model} in configs
    assert {run.status.state for run in runs.values()} == {"finished"}
    reduced = runs.reduce("mean", by="lr", tags="ray/tune/loss")
    assert [group.key for group in reduced.groups.values()] == [{"lr": 0.1}, {"lr": 0.2}]
    assert [len(group.runs) for group in reduced.groups.values()] == [2, 2]


def test_rays_own_logger_is_replaced(folder, described):
    """The log is in the folder in which Ray stores the results."""
    for name in ("killed", "endings"):
        experiment = folder / "experiments" / name
        assert sorted(rf.open(experiment)) == sorted(described[name])
        files = list(experiment.rglob("*tfevents*"))
        assert files
        assert all(file.name.endswith(".runfold") for file in files)


def test_a_stop_request_stops_only_its_trial(folder, described):
    runs = rf.open(folder / "experiments" / "endings")
    run = find_run(runs, "stop")
    iterations, error = described["endings"][run.name]
    assert run.status.state == "stopped"
    assert error is None
    assert read_steps(run, "ray/tune/loss") == list(range(1, iterations + 1))
    assert iterations > 2
    other = find_run(runs, "finish")
    assert other.status.state == "finished"
    assert read_steps(other, "ray/tune/loss") == [1, 2]


def test_a_failed_trial_records_its_error(folder, described):
    run = find_run(rf.open(folder / "experiments" / "endings"), "fail")
    assert run.status.state == "failed"
    assert run.status.traceback.endswith("ValueError: the loss is NaN\n")
    assert "ray.exceptions.RayTaskError(ValueError)" in run.status.traceback
    assert described["endings"][run.name][1] in run.status.traceback


def test_bad_values_do_not_affect_other_values(folder):
    run = find_run(rf.open(folder / "experiments" / "endings"), "bad")
    points = read_points(run)
    assert run.status.state == "finished"
    assert str(points["ray/tune/nan"]) == "[(1, nan), (2, nan)]"
    assert points["ray/tune/changing"] == [(1, 1.0)]
    assert points["ray/tune/half"] == [(1, 0.5), (2, 0.5)]
    assert points["ray/tune/nested/a/b"] == [(1, 2.0), (2, 2.0)]
    assert points["ray/tune/nested/3"] == [(1, 4.0), (2, 4.0)]
    warnings = re.findall(r"UserWarning: Tag '(.*?)'", (folder / "errors.txt").read_text())
    assert sorted(warnings) == ["ray/tune/mixed", "ray/tune/nan", "ray/tune/object"]


def test_a_restored_experiment_continues_the_run_at_its_checkpoint(folder, described):
    (run,) = rf.open(folder / "experiments" / "killed").values()
    ((trial, (last, error)),) = described["killed"].items()
    assert (trial, error) == (run.name, None)
    assert run.status.state == "finished"
    assert read_steps(run, "ray/tune/loss") == list(range(1, last + 1))
    assert run.hidden > 0
    assert "checkpoint_000000" in [artifact.name for artifact in run.artifacts]


def test_a_trial_that_ray_tries_again_continues_its_run(folder):
    (run,) = rf.open(folder / "experiments" / "retried").values()
    assert run.status.state == "finished"
    assert read_steps(run, "ray/tune/loss") == [1, 2, 3, 4, 5, 6]
    assert run.hidden > 0


def test_trials_interrupted_by_the_end_of_the_experiment_are_stopped(folder):
    (run,) = rf.open(folder / "experiments" / "ended").values()
    assert run.status.state == "stopped"
    assert read_steps(run, "ray/tune/loss")[:3] == [1, 2, 3]


def test_a_checkpoint_that_cannot_be_downloaded_causes_a_warning(folder):
    (run,) = rf.open(folder / "experiments" / "lost").values()
    assert run.status.state == "finished"
    assert not list(run.artifacts)
    assert "'lost' was not saved as an artifact" in (folder / "errors.txt").read_text()
