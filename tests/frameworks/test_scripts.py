"""Scripts that use the writer directly, with Runfold's in its place."""

from differences import (
    first_trial_in_the_run,
    scalars_in_the_run,
    steps_only,
    trial_folders,
)
from readings import list_differences
from trials import list_trials


def test_cleanrl_script_logs_the_same(train):
    pair = train("cleanrl_script")
    expected = steps_only(pair.original.logs, "charts/SPS")
    assert list_differences(steps_only(pair.swapped.logs, "charts/SPS"), expected) == []


def test_ray_style_hparams_are_in_the_same_run(train):
    pair = train("ray_style")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    trials = list_trials(pair.swapped.folder)
    assert trials == list_trials(pair.original.folder)
    assert [hparams["is_wide"] for hparams, _, _ in trials] == [True]


def test_examples_of_torch_log_the_same(train):
    pair = train("torch_documented")
    expected = scalars_in_the_run(
        pair.original.logs, "logs/scalars", {"run_14h": ["xsinx", "xcosx", "tanx"]}
    )
    expected = first_trial_in_the_run(expected, "logs/hparams")
    assert list_differences(without_trials(pair.swapped.logs), without_trials(expected)) == []
    # The later trials have folders of their own, by other names than torch gives them.
    assert trials_below(pair.swapped.logs) == trials_below(expected)
    trials = list_trials(pair.swapped.folder)
    assert trials == list_trials(pair.original.folder)
    assert len(trials) == 5


def without_trials(logs):
    return {run: logs[run] for run in set(logs) - set(trial_folders(logs, "logs/hparams"))}


def trials_below(logs):
    return [logs[run] for run in trial_folders(logs, "logs/hparams")]
