"""ignite, skorch and poutyne with Runfold's writer."""

import pytest
from differences import scalars_in_the_run, steps_only
from readings import list_differences

POUTYNE_GROUPS = {
    "epoch": ["epoch"],
    "time": ["time"],
    "loss": ["loss", "val_loss"],
    "lr": ["lr"],
    "gradient_distributions/weight": ["mean", "mean_std_dev_up", "mean_std_dev_down"],
    "other_gradient_stats/weight": ["min", "max"],
}


@pytest.mark.parametrize("package", ["torch", "tensorboardX"])
def test_ignite_handlers_log_the_same_with_both_writers(train, package):
    pair = train("ignite_handlers", package)
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    assert {kind for kind, _ in pair.swapped.logs["logs"]} >= {"scalar", "histogram", "image"}


def test_skorch_net_logs_the_same_with_both_writers_after_fit_pickle_and_copy(train):
    pair = train("skorch_net")
    expected = steps_only(pair.original.logs, "dur")
    assert list_differences(steps_only(pair.swapped.logs, "dur"), expected) == []
    steps = [step for step, _ in pair.swapped.logs["logs"]["scalar", "Loss/train_loss"]]
    assert steps == [1, 2, 3, 4, 5, 6, 7, 7]


def test_a_skorch_value_that_cannot_be_logged_causes_one_warning(train):
    pair = train("skorch_note", warnings=["Tag 'note'"])
    assert list_differences(pair.swapped.logs, pair.original.logs) == []


def test_poutyne_logs_the_same_with_both_writers(train):
    pair = train("poutyne_model")
    expected = scalars_in_the_run(pair.original.logs, "logs", POUTYNE_GROUPS)
    expected = steps_only(expected, "time", "time/time")
    logs = steps_only(pair.swapped.logs, "time", "time/time")
    assert list_differences(logs, expected) == []
