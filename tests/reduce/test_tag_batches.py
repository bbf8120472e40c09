"""Folds of a few tags at a time, with results that are the same to the last bit."""

from pathlib import Path
from typing import Any

import pytest
from helpers.logs import hparams, scalars, write
from helpers.memory_limits import with_enough
from helpers.odd_folds import OPTIONS, fold
from helpers.odd_runs import write_odd_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold._logdir import point_cache
from runfold.errors import NotEnoughMemory


@pytest.fixture(autouse=True)
def many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(point_cache, "_POINTS_PER_THREAD", 1)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(0, 40),
    st.sampled_from(["session", "step", "keep"]),
    st.sampled_from(OPTIONS),
    st.integers(1_000, 60_000),
)
def test_folds_are_equal(
    tmp_path: Path, seed: int, restarts: Any, options: dict[str, Any], limit: int
) -> None:
    path = tmp_path / f"logs-{seed}"
    if not path.exists():
        write_odd_runs(path, seed)
    expected = fold(rf.open(path, restarts=restarts), options)
    found = with_enough(
        lambda most: fold(rf.open(path, restarts=restarts, limit_memory=most), options), limit
    )
    assert found == expected


def test_a_tag_that_is_too_large_with_others_is_folded_alone(tmp_path: Path) -> None:
    # The steps are all different, so the matrix is much larger than the points.
    tags = "abcd"
    for run in range(20):
        content = [
            scalars(tag, *((20 * step + run * (tag == "c"), step * run) for step in range(30)))
            for tag in tags
        ]
        write(tmp_path / f"run-{run}", hparams(lr=run % 2), *content)
    runs = rf.open(tmp_path, limit_memory=215_000)
    seen = []
    original = point_cache.PointCache.holding

    def holding(cache: point_cache.PointCache, folders: Any, *others: Any) -> Any:
        seen.append({tag for folder in folders for _, own in folder for tag in own})
        return original(cache, folders, *others)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(point_cache.PointCache, "holding", holding)
        found = fold(runs, {"align": "union"})
    assert [len(tags) for tags in seen] == [4, 1]
    assert found == fold(rf.open(tmp_path), {"align": "union"})
    with pytest.raises(NotEnoughMemory, match=r"Tag 'c', with the results .* at least \d+\."):
        rf.open(tmp_path, limit_memory=170_000).reduce(align="union")


def test_a_limit_that_is_too_small_is_an_error_before_anything_is_decoded(tmp_path: Path) -> None:
    for run in "ab":
        write(tmp_path / run, scalars("loss", *((step, 1.0) for step in range(100))))
    runs = rf.open(tmp_path, limit_memory=5_000)
    with pytest.raises(NotEnoughMemory, match=r"'loss', with .* at least 16800\."):
        runs.reduce()
    assert rf.open(tmp_path, limit_memory=16_800).reduce()["loss"]["mean"].tolist() == [1.0] * 100
