"""Comparisons with a memory limit: the same numbers and sentences as without one."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from helpers.odd_runs import write_odd_runs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import runfold as rf
from runfold.errors import CannotFold, NotEnoughMemory

LIMIT = 20_000


def compare(runs: rf.Runs, **options: Any) -> object:
    try:
        with warnings.catch_warnings(action="ignore"):
            found = runs.compare(by="lr", better="lower", resamples=100, **options)
    except CannotFold as error:
        return str(error)
    return repr(
        (found.scores, found.groups, found.pairs, found.overall, found.sentence, found.warnings)
    ) + repr(found.left_out)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.integers(0, 40),
    st.sampled_from(["session", "step", "keep"]),
    st.sampled_from(["last", "best", "min", "max", "auc", 5, 1000]),
    st.sampled_from(["last", "first", "mean", "error"]),
    st.sampled_from(["loss", ["acc", "loss", "late"]]),
)
def test_comparisons_are_equal(
    tmp_path: Path, seed: int, restarts: Any, at: Any, duplicates: Any, tags: Any
) -> None:
    path = tmp_path / f"logs-{seed}"
    if not path.exists():
        write_odd_runs(path, seed)
    whole, parts = (
        compare(
            rf.open(path, restarts=restarts, limit_memory=limit),
            tags=tags,
            at=at,
            duplicates=duplicates,
        )
        for limit in (None, LIMIT)
    )
    assert parts == whole


def test_a_series_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    write_odd_runs(tmp_path, 1)
    with pytest.raises(NotEnoughMemory, match=r"--memory\) to at least \d+\."):
        rf.open(tmp_path, limit_memory=200).compare("loss", by="lr", better="lower")
