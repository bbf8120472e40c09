"""The benchmark of whole commands: the output of `runfold reduce`, and the comparison."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import reducers
from benchmarks.contest import RUNFOLD, Contender
from benchmarks.logs import LOGS, generate
from benchmarks.peers import find_reader
from benchmarks.readings import Series
from benchmarks.reducers import TB_REDUCER, compare

TINY = replace(LOGS[1], runs=3, tags=2, steps=7)
RUNS = np.random.default_rng(0).normal(1.0, 0.3, (5, 20))


def fold(runs: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "mean": runs.mean(axis=0),
        "std": runs.std(axis=0, ddof=1),
        "min": runs.min(axis=0),
        "max": runs.max(axis=0),
    }


def series(statistics: dict[str, np.ndarray]) -> Series:
    """Return the series as read back from event files: rounded to float32."""
    return {
        (name, "loss"): (np.arange(len(values)), None, values.astype(np.float32).astype(float))
        for name, values in statistics.items()
    }


def theirs(runs: np.ndarray) -> dict[str, np.ndarray]:
    """Return what tb-reducer writes."""
    folded = fold(runs)
    std = folded.pop("std")
    return folded | {"mean-std": folded["mean"] - std, "mean+std": folded["mean"] + std}


def differs(statistics: dict[str, np.ndarray]) -> str | None:
    peer = Contender(TB_REDUCER, lambda keep: pytest.fail("not to be measured"), size=5)
    return compare(peer, series(fold(RUNS)), series(statistics))


def test_the_command_folds_like_numpy(tmp_path: Path):
    folder = generate(TINY, tmp_path)
    ours = reducers.make_contest(TINY, tmp_path).contenders[0]
    assert ours.name == RUNFOLD
    assert ours.once(tmp_path / "out").cpu > 0
    written = reducers.read_folders(tmp_path / "out")
    read = find_reader(TINY, RUNFOLD).prepare()(folder).series
    for tag in {tag for _, tag in read}:
        runs = np.array([columns[2] for (_, name), columns in read.items() if name == tag])
        for statistic, values in fold(runs).items():
            assert np.allclose(written[statistic, tag][2], values, rtol=1e-6, atol=0)


def test_a_fold_can_be_measured_again_and_leaves_no_files(tmp_path: Path):
    ours = reducers.make_contest(TINY, tmp_path).contenders[0]
    before = sorted(tmp_path.rglob("*"))
    ours.once(None)
    ours.once(None)
    assert sorted(tmp_path.rglob("*")) == before


def test_the_last_bit_of_a_float32_can_differ():
    assert differs(theirs(RUNS)) is None
    next_mean = np.nextafter(fold(RUNS)["mean"].astype(np.float32), np.float32(9))
    assert differs(theirs(RUNS) | {"mean": next_mean}) is None


@pytest.mark.parametrize("statistic", ["mean", "min", "max"])
def test_more_than_the_last_bit_must_not_differ(statistic: str):
    wrong = theirs(RUNS)
    wrong[statistic] = wrong[statistic] * (1 + 1e-6)
    assert f"{statistic}: values of tag 'loss' differ" in str(differs(wrong))


@pytest.mark.parametrize("edge", ["mean-std", "mean+std"])
def test_the_edges_of_the_band_reveal_a_wrong_std(edge: str):
    wrong = theirs(RUNS)
    wrong[edge] = wrong[edge] * (1 + 1e-6)
    assert differs(wrong) == "std: values of tag 'loss' differ"


def test_a_missing_statistic_is_a_difference():
    wrong = theirs(RUNS)
    del wrong["max"]
    assert differs(wrong) == "a statistic is missing"
