"""Stable-Baselines3 with RunfoldOutput and RunfoldCallback, compared with its own logger."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, HERE, run_program
from readings import read_run
from run_points import count_runs_by, read_points

import runfold as rf

PROGRAM = "sb3_adapter"


def read_comparable(folder):
    """Return what TensorBoard reads in a run, without Runfold's records and measured times."""
    series = {
        key: value
        for key, value in read_run(folder).items()
        if "hparams" not in key[1] and "runfold" not in key[1] and key[0] != "metadata"
    }
    series["scalar", "time/fps"] = [step for step, _ in series["scalar", "time/fps"]]
    return series


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("sb3") / "run", "original", PROGRAM, "train")


@pytest.fixture(scope="module")
def logs(trained):
    return trained.folder / "logs"


def test_everything_is_logged_as_by_sb3s_own_logger(logs):
    expected = read_comparable(logs / "sb3" / "A2C_1")
    assert {kind for kind, _ in expected} == {"scalar", "image", "histogram", "tensor"}
    assert "media/excluded" not in {tag for _, tag in expected}
    assert read_comparable(logs / "callback" / "A2C_1") == expected
    assert read_comparable(logs / "output") == expected


def test_the_callback_records_hyperparameters_model_and_status(logs):
    run = rf.open(logs / "callback")["A2C_1"]
    assert run.status.state == "finished"
    expected = {"algorithm": "A2C", "env": "CartPole-v1", "n_envs": 1, "n_steps": 16, "team": "a"}
    assert expected.items() <= run.config.items()
    assert run.config["policy"] == "ActorCriticPolicy"
    assert run.config["learning_rate"] == 7e-4
    assert [artifact.name for artifact in run.artifacts] == ["model.zip"]
    assert rf.open(logs)["output"].status.state == "finished"
    (run,) = rf.open(logs / "dqn").values()
    assert run.name == "small_1"
    assert run.config["exploration_fraction"] == 0.1
    assert "rollout/ep_rew_mean" in read_points(run)


def test_runs_are_grouped_by_a_hyperparameter(logs):
    runs = rf.open(logs / "sweep")
    assert list(runs) == ["PPO_1", "PPO_2", "PPO_3", "PPO_4"]
    assert runs["PPO_1"].config["clip_range"] == 0.2
    assert count_runs_by(logs / "sweep", "learning_rate") == {0.01: 2, 0.02: 2}


def test_learn_continues_the_run_unless_the_steps_start_again(logs):
    runs = rf.open(logs / "twice")
    steps = {name: run["time/fps"].steps.tolist() for name, run in runs.items()}
    assert steps == {"PPO_1": [16, 32, 48, 64], "PPO_2": [16, 32]}
    assert [run.hidden for run in runs.values()] == [0, 0]


def test_exceptions_end_the_run_as_failed(logs):
    runs = rf.open(logs / "endings")
    states = {name: run.status.state for name, run in runs.items()}
    assert states == {"again/A2C_1": "failed", "again/A2C_2": "finished", "with/A2C_1": "failed"}
    assert runs["with/A2C_1"].status.traceback.endswith("ValueError: the reward is NaN\n")


def test_bad_values_do_not_affect_other_values(trained, logs):
    run = rf.open(logs)["bad"]
    points = read_points(run)
    assert str(points.pop("nan")) == "[(1, nan)]"
    assert points == {
        "after": [(3, 1.0)],
        "before": [(0, 1.0)],
        "changing": [(1, 1.0)],
        "nested/a/b": [(1, 2.0)],
        "number": [(1, 2.5)],
    }
    assert run.config == {"lr": 0.1}
    assert set(run.histograms()["tag"]) == {"grad", "half"}
    assert run.status.state == "finished"
    warnings = [line for line in trained.errors.splitlines() if "UserWarning: Tag" in line]
    tags = [re.search("Tag '(.*?)'", line)[1] for line in warnings]
    tags = sorted(tag.partition("/")[0] for tag in tags if tag != "media/nan")
    assert tags == ["empty", "endless", "nan", "object"]


def test_two_trainings_at_once_are_two_runs(logs):
    runs = rf.open(logs / "two")
    assert [runs[name].status.state for name in ("A2C_1", "A2C_2")] == ["finished"] * 2
    assert runs["A2C_1"]["time/fps"].steps.tolist() == [16, 32]
    assert runs["A2C_2"]["time/fps"].steps.tolist() == [16, 32]


def test_the_run_can_be_used_before_and_after_the_training(logs):
    ((name, run),) = rf.open(logs / "early").items()
    points = read_points(run)
    assert name == "run_1"
    assert run.config["algorithm"] == "A2C"
    assert [step for step, _ in points["time/fps"]] == [16, 32]
    assert (points["before"], points["after"]) == ([(0, 1.0)], [(40, 1.0)])


def test_the_callback_logs_to_the_run_of_the_output(trained, logs):
    run = rf.open(logs)["both"]
    assert run.config["algorithm"] == "A2C"
    assert run["time/fps"].steps.tolist() == [16, 32]
    assert not (trained.folder / "runs").exists()


def test_a_stop_request_ends_the_training(logs):
    (run,) = rf.open(logs / "stop").values()
    assert run.status.state == "stopped"
    assert run["time/fps"].steps.tolist() == [16]


def test_a_killed_training_continues_from_its_checkpoint(tmp_path):
    program = HERE / "programs" / f"{PROGRAM}.py"
    command = [sys.executable, HERE / "swap.py", "original", program, "kill"]
    environment = {**os.environ, **ENVIRONMENT, "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen(
        [*command, "1000000"], cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True
    ) as child:
        for line in child.stdout:
            if line.strip() == "128":
                child.kill()
    assert list(Path(tmp_path, "checkpoints").iterdir())
    ended = subprocess.run(
        [*command, "256"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    (run,) = rf.open(tmp_path / "logs").values()
    assert run.status.state == "finished"
    first = int(ended.stdout.split()[2])
    steps = run["time/fps"].steps.tolist()
    before = [step for step in steps if step <= first]
    # The checkpoint is saved during a rollout, so it can be one rollout older than the log.
    assert before == list(range(16, before[-1] + 1, 16))
    assert before[-1] >= first - 16
    assert steps[len(before) :] == list(range(first + 16, 257, 16))
