"""transformers' Trainer and accelerate's tracker with Runfold's writer."""

from differences import (
    first_trial_in_the_run,
    keep_booleans,
    scalars_in_the_run,
    steps_only,
)
from trials import list_trials

TIMES = [
    *(f"eval/{name}" for name in ("runtime", "samples_per_second", "steps_per_second")),
    *(f"train/train_{name}" for name in ("runtime", "samples_per_second", "steps_per_second")),
]


def test_trainer_logs_the_same_over_two_trainings(train):
    pair = train("transformers_trainer")
    assert steps_only(pair.swapped.logs, *TIMES) == steps_only(pair.original.logs, *TIMES)
    series = pair.swapped.logs["logs"]
    assert [step for step, _ in series["scalar", "eval/loss"]] == [8, 16, 16, 8, 16]
    assert ("tensor", "model_config/text_summary") in series


def test_accelerate_tracker_logs_the_same(train):
    pair = train("accelerate_tracker")
    run = "logs/run"
    expected = first_trial_in_the_run(pair.original.logs, run)
    expected = scalars_in_the_run(expected, run, {"both": ["train", "half"]})
    expected = keep_booleans(expected, run, "fast")
    assert pair.swapped.logs == expected
    assert list_trials(pair.swapped.folder) == list_trials(pair.original.folder)
