"""Optuna with RunfoldCallback, compared with what Optuna knows about the trials."""

import json

import numpy as np
import pytest
from conftest import run_program
from run_points import read_hparams, read_points

import runfold as rf

STATES = {"COMPLETE": "finished", "PRUNED": "stopped", "FAIL": "failed"}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return run_program(tmp_path_factory.mktemp("optuna") / "run", "original", "optuna_study")


@pytest.fixture(scope="module")
def runs(trained):
    return rf.open(trained.folder / "logs")


@pytest.fixture(scope="module")
def load(trained):
    return lambda name: json.loads((trained.folder / f"{name}.json").read_text())


def as_float32(number):
    return float(np.float32(number))


def list_trials(runs, study):
    return [name.removeprefix(f"{study}/") for name in runs if name.startswith(f"{study}/")]


def test_tensorboard_reads_the_values_that_the_study_has(trained, load):
    trials = load("fit")
    assert [trial["state"] for trial in trials] == [
        *("COMPLETE", "COMPLETE", "PRUNED", "FAIL", "COMPLETE", "COMPLETE")
    ]
    for number, trial in enumerate(trials):
        logged = trained.logs[f"logs/fit/trial-{number}"]
        points = {tag: values for (kind, tag), values in logged.items() if kind == "scalar"}
        expected = {
            "intermediate_value": [
                (int(step), repr(as_float32(value))) for step, value in trial["reported"]
            ]
        }
        if trial["values"]:
            expected["value"] = [(0, repr(as_float32(trial["values"][0])))]
        assert points == expected
        assert logged["metadata", "_hparams_/session_start_info"]["hparams"] == trial["params"]


def test_the_studys_run_has_a_point_per_trial(runs, load):
    points = read_points(runs["fit"])
    complete = [
        (number, as_float32(trial["values"][0]))
        for number, trial in enumerate(load("fit"))
        if trial["state"] == "COMPLETE"
    ]
    values = [value for _, value in complete]
    best = [(number, min(values[: index + 1])) for index, (number, _) in enumerate(complete)]
    assert points["study/value"] == complete
    assert points["study/best_value"] == best
    assert [step for step, _ in points["study/duration"]] == list(range(6))
    assert runs["fit"].config["study"] == "fit"
    assert runs["fit"].status.state == "finished"


def test_a_trials_run_says_how_the_trial_ended(runs, load):
    for number, trial in enumerate(load("fit")):
        run = runs[f"fit/trial-{number}"]
        assert run.status.state == STATES[trial["state"]]
        assert run.status.started <= run.status.ended
        assert read_hparams(run) == trial["params"]
        assert run.config["user_attrs"] == {"note": {"deep": [1, number]}}
        assert run.config["trial"] == {"number": number, "state": trial["state"].lower()}
        assert run.config["distributions"]["lr"].startswith("FloatDistribution(")


def test_a_killed_study_is_continued_in_its_folder(runs, load):
    states = [trial["state"] for trial in load("killed")]
    assert states == [*["COMPLETE"] * 3, "RUNNING", *["COMPLETE"] * 3]
    assert list_trials(runs, "killed") == [f"trial-{number}" for number in range(7)]
    assert "killed-2" not in runs
    assert runs["killed/trial-3"].status.state == "crashed"
    assert read_points(runs["killed/trial-3"]) == {"train/loss": [(0, 1.0)]}
    assert read_points(runs["killed/trial-4"])["train/loss"] == [(0, 1.0), (1, 0.5)]
    assert runs["killed"].status.state == "finished"
    assert [step for step, _ in read_points(runs["killed"])["study/value"]] == [0, 1, 2, 4, 5, 6]
    assert runs["killed"].hidden == 0


def test_runs_are_grouped_by_a_parameter(trained):
    folded = rf.open(trained.folder / "logs" / "sweep").reduce("mean", by="lr")
    means = {name: folded[name, "value"]["mean"].tolist() for name in folded.groups}
    assert means == {"lr=0.1": pytest.approx([0.6]), "lr=0.3": pytest.approx([0.8])}


def test_an_exception_that_ends_the_study_fails_the_trial_and_the_study(runs):
    assert list_trials(runs, "failed") == [f"trial-{number}" for number in range(4)]
    for name in ("failed", "failed/trial-3"):
        status = runs[name].status
        assert status.state == "failed"
        assert status.traceback.endswith("ValueError: the data is gone\n")


def test_a_stop_request_ends_the_study_after_the_trial(runs):
    assert runs["stopped"].status.state == "stopped"
    assert list_trials(runs, "stopped") == ["trial-0", "trial-1", "trial-2"]


def test_trials_in_two_threads_are_logged_once(runs, load):
    trials = load("parallel")
    assert len(trials) == 8
    points = dict(read_points(runs["parallel"])["study/value"])
    for number, trial in enumerate(trials):
        run = runs[f"parallel/trial-{number}"]
        assert run["value"].values.tolist() == trial["values"]
        assert points[number] == as_float32(trial["values"][0])
    assert len(points) == 8


def test_processes_that_start_together_log_to_one_folder(runs, load):
    trials = load("together")
    assert [name for name in runs if name.startswith("together-")] == []
    assert list_trials(runs, "together") == [f"trial-{number}" for number in range(6)]
    for number, trial in enumerate(trials):
        assert runs[f"together/trial-{number}"]["value"].values.tolist() == trial["values"]
    steps = [step for step, _ in read_points(runs["together"])["study/value"]]
    assert sorted(steps) == list(range(6))


def test_several_objectives_have_their_names_or_numbers(runs):
    assert sorted(read_points(runs["two/trial-1"])) == ["accuracy", "loss"]
    assert sorted(read_points(runs["two"])) == ["study/accuracy", "study/duration", "study/loss"]
    assert read_points(runs["numbered/trial-0"]) == {"score_0": [(0, 1.0)], "score_1": [(0, 2.0)]}


def test_a_study_can_be_logged_later_and_only_once(runs, load):
    values = [trial["values"][0] for trial in load("later")]
    best = [max(values[: number + 1]) for number in range(3)]
    assert runs["later"]["study/best_value"].values.tolist() == pytest.approx(best, rel=1e-6)
    assert list_trials(runs, "later") == ["trial-0", "trial-1", "trial-2"]
    assert "later-2" not in runs


def test_another_study_of_the_same_name_gets_its_own_folder(runs):
    assert list_trials(runs, "again") == ["trial-0"]
    assert list_trials(runs, "again-2") == ["trial-0"]


def test_bad_values_do_not_affect_other_values(trained, runs, load):
    states = [trial["state"] for trial in load("bad")]
    assert [runs[f"bad/trial-{number}"].status.state for number in range(5)] == [
        STATES[state] for state in states
    ]
    assert states[0] == "FAIL"
    assert states[-1] == "COMPLETE"
    points = read_points(runs["bad"])
    assert points["before"] == [(0, 1.0)]
    assert points["after"] == [(9, 1.0)]
    assert runs["bad/trial-4"]["value"].values.tolist() == [0.5]
    assert np.isnan(runs["bad/trial-4"]["nan"].values).tolist() == [True]
    warnings = [line for line in trained.errors.splitlines() if "Tag 'text'" in line]
    assert len(warnings) == 1  # Python shows a warning once per line


def test_other_ranks_log_nothing(trained, runs):
    assert not [name for name in runs if name.startswith("rank")]


def test_a_folder_that_cannot_be_written_to_leaves_no_files(trained):
    assert not list(trained.folder.glob("trial-*"))
