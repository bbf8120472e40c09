"""ignite, skorch and poutyne with Runfold's writer."""

import pytest
from differences import scalars_in_the_run, steps_only


@pytest.mark.parametrize("package", ["torch", "tensorboardX"])
def test_ignite_handlers_log_the_same(train, package):
    pair = train("ignite_handlers", package)
    assert pair.swapped.logs == pair.original.logs
    assert {kind for kind, _ in pair.swapped.logs["logs"]} >= {"scalar", "histogram", "image"}


def test_skorch_net_logs_the_same_after_fit_pickle_and_copy(train):
    pair = train("skorch_net")
    assert steps_only(pair.swapped.logs, "dur") == steps_only(pair.original.logs, "dur")
    steps = [step for step, _ in pair.swapped.logs["logs"]["scalar", "Loss/train_loss"]]
    assert steps == [1, 2, 3, 4, 5, 6, 7, 7]


def test_skorch_value_that_cannot_be_logged_is_one_warning(train):
    pair = train("skorch_note", warnings=["Tag 'note'"])
    assert pair.swapped.logs == pair.original.logs


def test_poutyne_logs_the_same(train):
    pair = train("poutyne_model")
    expected = scalars_in_the_run(pair.original.logs, "logs", {})
    assert pair.swapped.logs == expected
