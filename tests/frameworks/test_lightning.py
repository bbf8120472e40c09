"""Lightning's loggers with Runfold's writer."""

import pytest
from differences import scalars_in_the_run
from readings import list_differences
from trials import list_trials

RUN = "logs/lightning_logs/version_0"


def test_fit_logs_the_same(train):
    pair = train("lightning_fit")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    assert ("scalar", "train/loss_epoch") in pair.swapped.logs[RUN]
    assert ("graph", "") in pair.swapped.logs[RUN]


def test_test_and_validate_after_fit_are_kept(train):
    pair = train("lightning_fit", "test")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    assert [step for step, _ in pair.swapped.logs[RUN]["scalar", "test/loss"]] == [24]


@pytest.mark.parametrize("mode", ["default", "metrics"])
def test_saved_hyperparameters_are_the_same(train, mode):
    pair = train("lightning_hparams", mode)
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    trials = list_trials(pair.swapped.folder)
    assert trials == list_trials(pair.original.folder)
    ((hparams, metrics, _),) = trials
    assert hparams["lr"] == 0.05
    assert sorted(metrics) == {"default": ["hp_metric"], "metrics": ["hp/count", "hp/loss"]}[mode]


def test_fit_resumed_into_the_same_version_logs_the_same(train):
    pair = train("lightning_resume")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    steps = [
        step for step, _ in pair.swapped.logs["logs/lightning_logs/resumed"]["scalar", "val/loss"]
    ]
    assert steps == [7, 15, 23, 31]


def test_two_processes_log_the_same(train):
    pair = train("lightning_ddp")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    assert ("scalar", "val/loss") in pair.swapped.logs[RUN]


def test_fabric_logs_the_same(train):
    pair = train("fabric")
    expected = scalars_in_the_run(
        pair.original.logs, "logs/fabric/one", {"run-both": ["train", "half"]}
    )
    assert list_differences(pair.swapped.logs, expected) == []
    assert list_trials(pair.swapped.folder) == list_trials(pair.original.folder)
