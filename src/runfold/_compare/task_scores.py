"""Many tags as tasks of one benchmark: the scores of each group over all tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from runfold._compare.pairs import NAN, improvement, improvement_interval
from runfold._humanize import did_you_mean, escape
from runfold._tables.by_run.direction import LOWER
from runfold.errors import CannotFold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold._tables.by_run.direction import Direction

    Floats = NDArray[np.float64]

RANGE = "range"
Normalize = Literal["range"] | Mapping[str, tuple[float, float]] | None

_BLOCK = 4_000_000  # scores drawn at a time: 32 MB
_FAR_APART = 10


@dataclass(frozen=True, slots=True)
class Overall:
    """One group over all tasks: number of scores, interquartile mean and its interval."""

    group: str
    tasks: int
    n: int
    iqm: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OverallPair:
    """Group `a` compared with group `b` over all tasks.

    Attributes:
        a: the group with the better IQM.
        b: the other group.
        tasks: the number of tasks.
        difference: IQM of `a` minus IQM of `b`.
        low: lower end of the difference's interval.
        high: upper end of the difference's interval.
        improvement: mean over the tasks of the improvement in a `Pair`.
        improvement_low: lower end of the improvement's interval.
        improvement_high: upper end of the improvement's interval.
    """

    a: str
    b: str
    tasks: int
    difference: float
    low: float
    high: float
    improvement: float
    improvement_low: float
    improvement_high: float


@dataclass(frozen=True, slots=True)
class Tasks:
    """All groups and pairs across all tasks, and warnings as sentences."""

    groups: list[Overall]
    pairs: list[OverallPair]
    warnings: list[str]


def check_normalize(normalize: Normalize, tags: Sequence[str]) -> None:
    """Raise CannotFold if `normalize` is invalid or lacks the range of a tag."""
    if normalize is None or normalize == RANGE:
        return
    if not isinstance(normalize, Mapping):
        hint = did_you_mean(str(normalize), [RANGE])
        value = escape(str(normalize))
        message = f"normalize must be 'range' or a range for each tag, got '{value}'."
        raise CannotFold(f"{message} {hint}".rstrip())
    for tag in tags:
        if tag not in normalize:
            raise CannotFold(f"normalize has no range for the tag '{escape(tag)}'.")
        low, high = normalize[tag]
        if not low < high:
            raise CannotFold(
                f"normalize has an empty range for the tag '{escape(tag)}': {low} to {high}."
            )


def fold_tasks(
    scores: Mapping[str, Floats],
    directions: Sequence[Direction],
    normalize: Normalize,
    level: float,
    resamples: int,
    random: np.random.Generator,
) -> Tasks:
    """Compare groups over the tasks in which every group has scores.

    `scores` maps each group to an array with one row per run and one column per task, NaN if
    missing; `directions` has one entry per task. Normalized scores are
    `(score - low) / (high - low)`, or 1 minus that if lower is better, so that higher is
    better for all tasks. The intervals are bootstrap percentiles; see `resample_iqm`.
    """
    ends, warnings = _choose(scores, directions, normalize)
    kept = list(ends)
    if not kept:
        return Tasks([], [], warnings)
    scores = {name: rows[:, kept] for name, rows in scores.items()}
    directions = [directions[number] for number in kept]
    better = {direction.better for direction in directions}
    has_iqm = normalize is not None or len(better) == 1
    if not has_iqm:
        warnings.append(
            "The tags have no common IQM: the better direction (higher or lower) differs between"
            " them, or is known for only some of them."
            " Set normalize='range' (--normalize range) to normalize the scores."
        )
    elif normalize is None:
        sizes = {
            direction.tag: max(map(abs, ends[number]))
            for number, direction in zip(kept, directions, strict=True)
        }
        warnings += _warn_scales(sizes)
    signs = np.array([direction.sign for direction in directions])
    scaled = scores
    if normalize is not None:
        low, high = np.array(
            [ends[number][::sign] for number, sign in zip(kept, signs, strict=True)]
        ).T
        scaled = {name: (rows - low) / (high - low) for name, rows in scores.items()}
    groups, drawn = [], {}
    for name, rows in scaled.items():
        iqm, drawn[name] = NAN, np.full(resamples, NAN)
        if has_iqm:
            iqm, drawn[name] = (
                float(_iqm(rows.reshape(1, -1))[0]),
                resample_iqm(rows, resamples, random),
            )
        n = int(np.count_nonzero(~np.isnan(rows)))
        groups.append(Overall(name, len(kept), n, iqm, *_interval(drawn[name], level)))
    pairs = []
    is_lower = normalize is None and better == {LOWER}
    for a, b in combinations(groups, 2):
        # `improve` expects scores for which higher is better.
        won = improve(signs * scores[a.group], signs * scores[b.group], level)
        if (a.iqm > b.iqm if is_lower else a.iqm < b.iqm) if has_iqm else won[0] < 0.5:
            a, b = b, a
            won = 1 - won[0], 1 - won[2], 1 - won[1]
        interval = _interval(drawn[a.group] - drawn[b.group], level)
        pairs.append(OverallPair(a.group, b.group, len(kept), a.iqm - b.iqm, *interval, *won))
    return Tasks(groups, pairs, warnings)


def resample_iqm(scores: Floats, resamples: int, random: np.random.Generator) -> Floats:
    """Return the IQM of all scores for each resample of the runs.

    `scores` has one row per run and one column per task. A run is drawn with all its scores,
    because they are correlated: drawn separately, five correlated tasks would count as five
    times as many runs. If no run has two tasks, runs are drawn within each task, as in the
    rliable paper. The result is NaN if a task has only one run, because its spread is unknown.
    """
    iqms = np.full(resamples, NAN)
    is_known = ~np.isnan(scores)
    if is_known.sum(axis=0).min() < 2:
        return iqms
    strata = [scores]
    if not _is_shared(scores):
        strata = [scores[known, [task]][:, None] for task, known in enumerate(is_known.T)]
    block = max(1, _BLOCK // scores.size)
    for start in range(0, resamples, block):
        part = iqms[start : start + block]
        drawn = [
            rows[random.integers(len(rows), size=(len(part), len(rows)))].reshape(len(part), -1)
            for rows in strata
        ]
        part[:] = _iqm(np.concatenate(drawn, axis=1))
    return iqms


def improve(a: Floats, b: Floats, level: float) -> tuple[float, float, float]:
    """Return the mean improvement over tasks, and its interval.

    `a` and `b` have one row per run and one column per task. If runs have several tasks, the
    errors of the tasks are correlated, and the interval is as wide as the average interval
    of one task. If each run has one task, the interval is narrower by the square root of
    the number of tasks.
    """
    shares = []
    for of_a, of_b in zip(a.T, b.T, strict=True):
        of_a, of_b = of_a[~np.isnan(of_a)], of_b[~np.isnan(of_b)]
        won = improvement(of_a, of_b)
        shares.append((won, *improvement_interval(won, len(of_a), len(of_b), level)))
    won, low, high = np.array(shares).T
    power = 1 if _is_shared(a) or _is_shared(b) else 2
    below, above = (
        float((distance**power).sum() ** (1 / power) / len(won))
        for distance in (won - low, high - won)
    )
    mean = float(won.mean())
    return mean, mean - below, mean + above


def _is_shared(scores: Floats) -> bool:
    """Return whether any run has scores in several tasks."""
    return bool((np.count_nonzero(~np.isnan(scores), axis=1) > 1).any())


def _iqm(scores: Floats) -> Floats:
    """Return the mean of each row without its lowest and highest quarter, ignoring NaN."""
    ordered = np.sort(scores, axis=1)  # NaN is last
    counts = np.count_nonzero(~np.isnan(ordered), axis=1)[:, None]
    positions, cut = np.arange(ordered.shape[1]), counts // 4
    is_inside = (positions >= cut) & (positions < counts - cut)
    means: Floats = ordered.mean(axis=1, where=is_inside)
    return means


def _interval(resampled: Floats, level: float) -> tuple[float, float]:
    """Return the percentile interval of resampled values."""
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _choose(
    scores: Mapping[str, Floats], directions: Sequence[Direction], normalize: Normalize
) -> tuple[dict[int, tuple[float, float]], list[str]]:
    """Return the ranges of the usable tasks, by task index, and warnings about the other tasks."""
    ends: dict[int, tuple[float, float]] = {}
    warnings = []
    for number, direction in enumerate(directions):
        columns = [rows[~np.isnan(rows[:, number]), number] for rows in scores.values()]
        if not columns:  # every score of every run is NaN
            reason = "no group has a score for this tag"
        elif not all(map(len, columns)):
            reason = "a group has no score for this tag"
        else:
            both = np.concatenate(columns)
            low, high = float(both.min()), float(both.max())
            if isinstance(normalize, Mapping):
                low, high = normalize[direction.tag]
            if normalize is None or low < high:
                ends[number] = low, high
                continue
            reason = "all runs have the same score"
        warnings.append(
            f"'{escape(direction.tag)}' is left out of the comparison over all tags: {reason}."
        )
    return ends, warnings


def _warn_scales(sizes: Mapping[str, float]) -> list[str]:
    """Return a warning if one task outweighs the others."""
    if len(sizes) < 2:
        return []
    small, large = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[large] <= _FAR_APART * sizes[small]:
        return []
    return [
        f"The largest absolute score is {sizes[small]:.3g} in '{escape(small)}', but"
        f" {sizes[large]:.3g} in '{escape(large)}', so the IQM over all tags hardly depends on the"
        " smaller scores."
        " Use normalize='range' (--normalize range) to put all tags on a common scale."
    ]
