"""tianshou and mmengine with Runfold's writer."""

from differences import rename_runs, steps_only
from readings import list_differences


def test_tianshou_logger_logs_the_same_with_both_writers_and_restores(train):
    pair = train("tianshou_logger")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    steps = [step for step, _ in pair.swapped.logs["logs"]["scalar", "update/loss"]]
    assert steps == [10, 20, 30, 40, 50, 60]


def test_mmengine_backend_logs_the_same_with_both_writers_before_and_after_close(train):
    pair = train("mmengine_backend")
    assert list_differences(pair.swapped.logs, pair.original.logs) == []
    steps = [step for step, _ in pair.swapped.logs["logs"]["scalar", "loss"]]
    assert steps == list(range(8))


def test_mmengine_runner_logs_the_same_with_both_writers(train):
    pair = train("mmengine_runner")
    original, swapped = (
        steps_only(rename_runs(trained.logs, r"\d{8}_\d{6}", "time"), "time", "data_time")
        for trained in (pair.original, pair.swapped)
    )
    assert list_differences(swapped, original) == []
    assert [step for step, _ in swapped["work/time/vis_data"]["scalar", "error"]] == [1, 2]
