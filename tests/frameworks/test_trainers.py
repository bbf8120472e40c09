"""transformers' Trainer and accelerate's tracker with Runfold's writer."""

from differences import (
    first_trial_in_the_run,
    keep_booleans,
    scalars_in_the_run,
    steps_only,
    without_experiment,
)
from readings import list_differences
from trials import list_trials

TIMES = [
    *(f"eval/{name}" for name in ("runtime", "samples_per_second", "steps_per_second")),
    *(f"train/train_{name}" for name in ("runtime", "samples_per_second", "steps_per_second")),
]


def test_trainer_logs_the_same_with_both_writers_in_two_trainings(train):
    pair = train("transformers_trainer")
    expected = steps_only(pair.original.logs, *TIMES)
    assert list_differences(steps_only(pair.swapped.logs, *TIMES), expected) == []
    series = pair.swapped.logs["logs"]
    assert [step for step, _ in series["scalar", "eval/loss"]] == [8, 16, 16, 8, 16]
    assert ("tensor", "model_config/text_summary") in series


def test_accelerate_tracker_logs_the_same_with_both_writers(train):
    pair = train("accelerate_tracker")
    run = "logs/run"
    expected = first_trial_in_the_run(pair.original.logs, run)
    expected = scalars_in_the_run(expected, run, {"both": ["train", "half"]})
    expected = without_experiment(keep_booleans(expected, run, "fast"), run)
    assert list_differences(pair.swapped.logs, expected) == []
    ((hparams, metrics, _),) = list_trials(pair.swapped.folder)
    assert hparams == {"fast": True, "lr": 0.05, "name": "small", "steps": 8.0}
    assert sorted(metrics) == ["both/half", "both/train", "loss", "step"]
