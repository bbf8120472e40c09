"""Several tags as tasks of one benchmark."""

import math

import numpy as np
import pytest
from scipy import stats

from runfold._compare import task_scores as tasks_module
from runfold._compare.pairs import improvement_interval
from runfold._compare.task_scores import (
    Normalize,
    Tasks,
    check_normalize,
    fold_tasks,
    improve,
    resample_iqm,
)
from runfold._tables.by_run.direction import Better, Direction
from runfold.errors import CannotFold

RANDOM = np.random.default_rng(3)
SAMPLES = {
    "acc": {"a": RANDOM.normal(0.8, 0.1, 6), "b": RANDOM.normal(0.7, 0.1, 5)},
    "reward": {"a": RANDOM.normal(1.0, 0.2, 6), "b": RANDOM.normal(0.9, 0.2, 6)},
}
HIGHER: dict[str, Better | None] = {"acc": "higher", "reward": "higher"}


def fold(
    samples: dict[str, dict[str, np.ndarray]],
    better: dict[str, Better | None],
    normalize: Normalize = None,
) -> Tasks:
    directions = [Direction(tag, better[tag]) for tag in samples]
    return fold_tasks(
        separate_runs(samples), directions, normalize, 0.95, 1000, np.random.default_rng(1)
    )


def separate_runs(samples: dict[str, dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Return groups of runs that each have a score in only one task, one row per run."""
    table = {}
    for group in next(iter(samples.values())):
        columns = [sample[group] for sample in samples.values()]
        rows = np.full((sum(map(len, columns)), len(columns)), np.nan)
        for task, start in enumerate(np.cumsum([0, *map(len, columns[:-1])])):
            rows[start : start + len(columns[task]), task] = columns[task]
        table[group] = rows
    return table


def test_iqm_includes_all_scores() -> None:
    result = fold(SAMPLES, HIGHER)
    for group in result.groups:
        scores = np.concatenate([sample[group.group] for sample in SAMPLES.values()])
        assert group.iqm == stats.trim_mean(scores, 0.25)
        assert (group.tasks, group.n) == (2, len(scores))
        assert group.low < group.iqm < group.high
    assert result.warnings == []


def test_runs_with_one_task_are_drawn_within_the_task() -> None:
    scores = [sample["b"] for sample in SAMPLES.values()]
    result = resample_iqm(separate_runs(SAMPLES)["b"], 50, np.random.default_rng(2))
    random = np.random.default_rng(2)
    drawn = [random.integers(len(task), size=(50, len(task))) for task in scores]
    expected = [
        stats.trim_mean(
            np.concatenate([task[rows[n]] for task, rows in zip(scores, drawn, strict=True)]), 0.25
        )
        for n in range(50)
    ]
    np.testing.assert_allclose(result, expected)


def test_run_is_drawn_with_all_its_tasks() -> None:
    scores = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, math.nan], [4.0, 40.0]])
    result = resample_iqm(scores, 50, np.random.default_rng(2))
    drawn = scores[np.random.default_rng(2).integers(4, size=(50, 4))].reshape(50, -1)
    expected = [stats.trim_mean(row[~np.isnan(row)], 0.25) for row in drawn]
    np.testing.assert_allclose(result, expected)


def test_correlated_tasks_do_not_narrow_the_interval() -> None:
    column = RANDOM.normal(0, 1, (8, 1))
    alone, five = (
        resample_iqm(np.tile(column, (1, tasks)), 4000, np.random.default_rng(0)).std()
        for tasks in (1, 5)
    )
    assert five == pytest.approx(alone, rel=0.1)


def test_number_of_resamples_is_the_same_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks_module, "_BLOCK", 100)
    result = resample_iqm(np.arange(18.0).reshape(9, 2), 50, np.random.default_rng(2))
    assert len(result) == 50
    assert np.isfinite(result).all()


def test_spread_of_resamples_equals_the_standard_error() -> None:
    # A quarter of three scores is less than one, so their IQM is the mean.
    scores = np.array([1.0, 5.0, 6.0])
    result = resample_iqm(scores[:, None], 40_000, np.random.default_rng(0))
    assert result.mean() == pytest.approx(scores.mean(), abs=0.05)
    assert result.std() == pytest.approx(scores.std() / math.sqrt(3), rel=0.02)


def test_improvement_is_the_mean_over_tasks() -> None:
    (pair,) = fold(SAMPLES, HIGHER).pairs
    shares = [
        float(np.mean(sample[pair.a][:, None] > sample[pair.b])) for sample in SAMPLES.values()
    ]
    assert pair.improvement == pytest.approx(np.mean(shares))
    assert pair.improvement_low <= pair.improvement <= pair.improvement_high


def test_interval_of_improvement_narrows_only_with_more_runs() -> None:
    scores = RANDOM.normal(0, 1, (2, 6))
    won, low, high = improve(scores[0][:, None], scores[1][:, None], 0.95)
    assert (low, high) == pytest.approx(improvement_interval(won, 6, 6, 0.95))
    same = improve(*(np.tile(group[:, None], (1, 4)) for group in scores), level=0.95)
    assert same == pytest.approx((won, low, high))
    others = separate_runs({str(task): dict(zip("ab", scores, strict=True)) for task in range(4)})
    assert improve(others["a"], others["b"], 0.95) == pytest.approx(
        (won, won - (won - low) / 2, won + (high - won) / 2)
    )


def test_higher_is_better_for_all_tasks_after_normalization() -> None:
    samples = {"loss": {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 5.0])}}
    samples["reward"] = {"a": np.array([30.0, 20.0]), "b": np.array([0.0, 40.0])}
    result = fold(samples, {"loss": "lower", "reward": "higher"}, "range")
    a = [1.0, 0.75, 0.75, 0.5]
    b = [0.5, 0.0, 0.0, 1.0]
    assert [group.iqm for group in result.groups] == [
        stats.trim_mean(a, 0.25),
        stats.trim_mean(b, 0.25),
    ]
    same = fold(
        samples, {"loss": "lower", "reward": "higher"}, {"loss": (1.0, 5.0), "reward": (0.0, 40.0)}
    )
    assert same == result


def test_better_group_is_first_if_lower_is_better() -> None:
    samples = {tag: {"a": np.array([3.0, 4.0]), "b": np.array([1.0, 2.0])} for tag in "xy"}
    (pair,) = fold(samples, {"x": "lower", "y": "lower"}).pairs
    assert (pair.a, pair.b, pair.difference, pair.improvement) == ("b", "a", -2.0, 1.0)


def test_tags_of_both_directions_have_no_common_iqm() -> None:
    result = fold(SAMPLES, {"acc": "lower", "reward": "higher"})
    assert all(math.isnan(group.iqm) and math.isnan(group.low) for group in result.groups)
    assert 0.5 <= result.pairs[0].improvement < 1
    assert "no common IQM: the better direction (higher or lower) differs" in result.warnings[0]


def test_tags_of_different_scale_cause_a_warning() -> None:
    samples = {**SAMPLES, "reward": {name: 20 * s for name, s in SAMPLES["reward"].items()}}
    (warning,) = fold(samples, HIGHER).warnings
    assert "the IQM over all tags hardly depends on the smaller scores" in warning
    assert "--normalize range" in warning
    assert fold(samples, HIGHER, "range").warnings == []


def test_task_without_information_is_left_out() -> None:
    flat = {"flat": {"a": np.ones(3), "b": np.ones(3)}}
    empty = {"empty": {"a": np.ones(3), "b": np.array([])}}
    better: dict[str, Better | None] = {**HIGHER, "flat": "higher", "empty": "higher"}
    result = fold({**SAMPLES, **flat, **empty}, better, "range")
    assert result.warnings == [
        "'flat' is left out of the comparison over all tags: all runs have the same score.",
        "'empty' is left out of the comparison over all tags: a group has no score for this tag.",
    ]
    assert result.groups[0].tasks == 2
    assert fold(empty, better).groups == []


def test_one_run_has_no_interval() -> None:
    samples = {tag: {"a": np.array([1.0]), "b": np.array([2.0])} for tag in "xy"}
    result = fold(samples, {"x": "higher", "y": "higher"})
    assert [group.iqm for group in result.groups] == [1.0, 2.0]
    assert all(math.isnan(group.low) for group in result.groups)
    assert math.isnan(result.pairs[0].improvement_low)


@pytest.mark.parametrize(
    ("normalize", "message"),
    [
        ("rnge", "got 'rnge'. Did you mean 'range'"),
        ({"y": (0, 1)}, "no range for the tag 'x'"),
        ({"x": (1, 1)}, "empty range for the tag 'x': 1 to 1"),
    ],
)
def test_invalid_ranges_raise(normalize: Normalize, message: str) -> None:
    with pytest.raises(CannotFold, match=message):
        check_normalize(normalize, ["x"])
