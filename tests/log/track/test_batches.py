"""Batch metrics: tags, numbering across restarts, and rates."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from helpers.batch_points import points, track
from hypothesis import given
from hypothesis import strategies as st

from runfold._log.track.batches import Loader, Meter
from runfold.errors import CannotLog


def test_batches_are_counted_and_validation_is_logged_at_the_last(tmp_path):
    with track(tmp_path) as run:
        run.batch({"loss": 4.0}, validation=True)
        run.batch({"loss": 3.0, "accuracy": 1})
        run.batch({"loss": 2.0}, size=32)
        run.batch({"loss": 2.5, "val_auc": 0.5}, validation=True)
        run.batch({"loss": 1.0}, step=10)
        run.batch({"loss": 0.5})
        assert run.batch_count == 11
        run.log({"epoch": 1.0})
    assert points(tmp_path) == {
        "batch/val_loss": [(0, 4.0), (2, 2.5)],
        "batch/loss": [(1, 3.0), (2, 2.0), (10, 1.0), (11, 0.5)],
        "batch/accuracy": [(1, 1.0)],
        "batch/val_auc": [(2, 0.5)],
        "epoch": [(0, 1.0)],  # steps of `log` are counted separately
    }
    assert run.batch_count == 11


def test_numbers_are_accepted_as_in_log(tmp_path):
    with track(tmp_path) as run:
        run.batch({"a": torch.tensor(1.5), "b": np.float32(2), "c": 3, "d": math.inf})
        with pytest.warns(UserWarning, match="Tag 'batch/a' is NaN at step 2"):
            run.batch({"a": math.nan}, size=torch.tensor(8))
    found = points(tmp_path)
    assert math.isnan(found["batch/a"].pop()[1])
    assert found == {
        "batch/a": [(1, 1.5)],
        "batch/b": [(1, 2.0)],
        "batch/c": [(1, 3.0)],
        "batch/d": [(1, math.inf)],
    }


@pytest.mark.parametrize(
    ("metrics", "options", "message"),
    [
        ({"loss": None}, {}, "Tag 'batch/loss': values cannot be NoneType None"),
        ({"loss": 1.0, "other": "x"}, {"validation": True}, "Tag 'batch/val_other'"),
        ([1.0], {}, "metrics cannot be list"),
        ({1: 1.0}, {}, "metrics cannot be int 1"),
        ({"loss": 1.0}, {"size": -1}, "size cannot be int -1: expected a number of samples"),
        ({"loss": 1.0}, {"size": "x"}, "size cannot be str 'x': it is not a number"),
        ({"loss": 1.0}, {"size": math.nan}, "size cannot be float nan"),
        ({"loss": 1.0}, {"step": 1.5}, "step cannot be float 1.5"),
    ],
)
def test_an_invalid_number_raises_and_is_not_counted(tmp_path, metrics, options, message):
    with track(tmp_path, on_error="raise") as run:
        with pytest.raises(CannotLog) as refusal:
            run.batch(metrics, **options)
        assert message in str(refusal.value)
        assert run.batch_count == 0
        run.batch({"loss": 1.0})
    assert points(tmp_path) == {"batch/loss": [(1, 1.0)]}


def test_rates_only_count_training_time():
    meter = Meter()
    meter.begin(100.0)
    meter.wait(0.1)
    assert meter.add(100.5, 32) == {}
    meter.skip(109.0)  # validation
    meter.wait(0.2)
    assert meter.add(109.5, 16) == {
        "batch/per_second": 2.0,
        "batch/samples_per_second": 48.0,
        "batch/loading_seconds": pytest.approx(0.15),
    }
    # A batch without a size or loading time.
    assert meter.add(110.0, 32) == {}
    assert meter.add(113.5, None) == {"batch/per_second": 0.5}
    assert meter.add(115.5, 8) == {"batch/per_second": 0.5, "batch/samples_per_second": 4.0}


def test_the_first_batch_without_a_start_has_no_time():
    meter = Meter()
    assert meter.add(100.0, 1) == {}
    assert meter.add(102.0, 1) == {"batch/per_second": 0.5, "batch/samples_per_second": 0.5}


@given(st.lists(st.floats(0.001, 3.0), min_size=1, max_size=50))
def test_rates_are_logged_at_most_once_per_second_and_count_every_batch(seconds):
    meter = Meter()
    meter.begin(0.0)
    now, counted, since = 0.0, 0.0, 0.0
    for duration in [*seconds, 2.0]:
        now += duration
        rates = meter.add(now, 2)
        if rates:
            assert now - since >= 1.0 - 1e-9
            counted += rates["batch/per_second"] * (now - since)
            assert rates["batch/samples_per_second"] == pytest.approx(2 * rates["batch/per_second"])
            since = now
    assert since == pytest.approx(now)
    assert counted == pytest.approx(len(seconds) + 1)


def test_the_meter_measures_the_loading_time():
    clock = iter([0.0, 0.25, 1.0, 1.5, 2.0]).__next__
    meter = Meter()
    loader = Loader(["a", "b"], meter, clock)
    assert len(loader) == 2
    rates = [meter.add(now, None) for _, now in zip(loader, (1.0, 2.0), strict=False)]
    assert rates == [
        {"batch/per_second": 1.0, "batch/loading_seconds": 0.25},
        {"batch/per_second": 1.0, "batch/loading_seconds": 0.5},
    ]


def test_a_loader_yields_its_items_in_each_epoch(tmp_path):
    data = torch.utils.data.DataLoader(torch.arange(6), batch_size=2)
    with track(tmp_path) as run:
        loader = run.batches(data)
        assert len(loader) == 3
        for _ in range(2):
            for batch in loader:
                run.batch({"mean": batch.float().mean()}, size=len(batch))
        assert list(run.batches(iter("ab"))) == ["a", "b"]
        with pytest.raises(TypeError):
            len(run.batches(iter("ab")))
    values = [0.5, 2.5, 4.5] * 2
    assert points(tmp_path) == {"batch/mean": list(zip(range(1, 7), values, strict=True))}


def test_threads_share_one_count(tmp_path):
    with track(tmp_path) as run, ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: run.batch({"number": float(number)}), range(2000)))
        assert run.batch_count == 2000
    found = points(tmp_path)["batch/number"]
    assert sorted(step for step, _ in found) == list(range(1, 2001))
    assert sorted(value for _, value in found) == list(range(2000))


def test_a_silent_run_logs_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with track(tmp_path / "run") as run:
        for batch in run.batches([1, 2]):
            run.batch({"loss": float(batch)})
    assert list((tmp_path / "run").iterdir()) == []
