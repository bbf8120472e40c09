"""Runfold's wrappers for Gymnasium, compared with Gymnasium's own statistics."""

import json

import pytest
from conftest import run_program
from readings import read_run
from run_points import count_runs_by, read_points

import runfold as rf

TAGS = ["length", "length_mean", "number", "return", "return_mean", "time"]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("gym") / "run", "original", "gymnasium_episodes")


@pytest.fixture(scope="module")
def logs(trained):
    return trained.folder / "logs"


def read_statistics(folder):
    """Return the points that TensorBoard reads, and the steps of the measured times."""
    scalars = {tag: points for (kind, tag), points in read_run(folder).items() if kind == "scalar"}
    steps = [step for step, _ in scalars.pop("episode/time")]
    numbers = scalars.pop("episode/number", None)
    return scalars, steps, numbers


@pytest.mark.parametrize(
    ("original", "logged"),
    [
        ("single/gymnasium", "single/runfold"),
        *(
            (f"vector/{mode}-gymnasium", f"vector/{mode}-runfold")
            for mode in ("next_step", "same_step", "disabled")
        ),
    ],
)
def test_statistics_are_those_of_gymnasiums_own_wrapper(logs, original, logged):
    expected, expected_steps, _ = read_statistics(logs / original)
    scalars, steps, numbers = read_statistics(logs / logged)
    assert scalars == expected
    assert steps == expected_steps
    assert numbers == [(step, repr(float(index))) for index, step in enumerate(steps, 1)]
    assert len(steps) > 10


def test_a_new_run_records_the_environment_and_how_it_ended(logs):
    run = rf.open(logs)["single/runfold"]
    assert run.config == {"env": "CartPole-v1", "env_kwargs": {"sutton_barto_reward": False}}
    assert run.status.state == "finished"
    assert sorted(read_points(run)) == [f"episode/{name}" for name in TAGS]


def test_videos_of_chosen_episodes_are_logged(logs):
    videos = read_run(logs / "video")["image", "episode/video"]
    assert [step for step, _ in videos] == [10, 20]
    frames = [[(size, pixels[0]) for _, size, pixels in video] for _, video in videos]
    assert frames == [[((6, 4), shade) for shade in (0, 20, 40, 60)]] * 2


def test_statistics_in_stable_baselines3_are_those_of_its_monitor(trained, logs):
    points = read_points(rf.open(logs)["sb3"])
    logged = zip(points["episode/return"], points["episode/length"], strict=True)
    expected = json.loads((trained.folder / "sb3.json").read_text())
    assert [[total, length] for (_, total), (_, length) in logged] == expected
    assert len(expected) > 2


def test_a_killed_loop_continues_at_its_checkpoint(logs):
    run = rf.open(logs)["killed"]
    steps = run["episode/number"].steps
    assert run.status.state == "finished"
    assert run.hidden > 0
    assert (steps[1:] > steps[:-1]).all()
    assert run["episode/number"].values.tolist() == list(range(1, len(steps) + 1))


def test_runs_are_grouped_by_a_hyperparameter(logs):
    assert count_runs_by(logs / "sweep", "gravity") == {5.0: 2, 9.8: 2}


def test_a_stop_request_interrupts_the_loop(logs):
    run = rf.open(logs)["stopped"]
    assert run.status.state == "stopped"
    assert "episode/return" in read_points(run)


def test_bad_rewards_do_not_affect_other_rewards(trained, logs):
    runs = rf.open(logs / "bad")
    points = read_points(runs["rewards"])
    assert str(points["episode/return"]) == "[(1, 1.0), (2, nan), (3, 2.0), (4, 3.0), (7, 4.0)]"
    assert points["episode/length"] == [(step, 1.0) for step in range(1, 8)]
    assert [step for step, _ in points["episode/return_mean"]] == [1, 2, 3, 4]
    warnings = [line for line in trained.errors.splitlines() if "UserWarning" in line]
    expected = [
        "The environment cannot be rendered: there is no display",
        "Tag 'episode/return' is NaN",
        "Tag 'episode/return_mean' is NaN",
        "episode/return: expected a number, got ndarray",
        "episode/return_mean: the values cannot be averaged",
        "episode/return: expected a number, got Tensor",
    ]
    assert [text in line for text, line in zip(expected, warnings, strict=True)] == [True] * 6


def test_wrappers_can_be_nested_and_used_after_their_end(logs):
    runs = rf.open(logs / "bad")
    inner, outer = read_points(runs["nested"]), read_points(runs["outer"])
    assert inner["inner/return"] == outer["outer/return"]
    assert runs["outer"].status.state == "finished"
    assert runs["failed"].status.state == "failed"
    assert runs["failed"].status.traceback.endswith("ValueError: the loss is NaN\n")
    assert "never" not in runs
