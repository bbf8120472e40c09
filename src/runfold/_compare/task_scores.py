"""Many tags as tasks of one benchmark: what each group reaches over all of them."""

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
    """One group over all tasks: `n` scores, their interquartile mean and its interval."""

    group: str
    tasks: int
    n: int
    iqm: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class OverallPair:
    """Group `a` against group `b` over all tasks.

    Attributes:
        a, b: the one with the better IQM first.
        difference, low, high: IQM of a less IQM of b, and its interval.
        improvement, improvement_low, improvement_high: as of one tag; the mean over tasks.
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
    """All groups over all tasks, and in sentences what to beware of."""

    groups: list[Overall]
    pairs: list[OverallPair]
    warnings: list[str]


def check_normalize(normalize: Normalize, tags: Sequence[str]) -> None:
    """Raise CannotFold where a way to normalise is none, or lacks the range of a tag."""
    if normalize is None or normalize == RANGE:
        return
    if not isinstance(normalize, Mapping):
        hint = did_you_mean(str(normalize), [RANGE])
        message = f"normalize is 'range' or a range for each tag, not '{escape(str(normalize))}'."
        raise CannotFold(f"{message} {hint}".rstrip())
    for tag in tags:
        if tag not in normalize:
            raise CannotFold(f"normalize has no range for the tag '{escape(tag)}'.")
        low, high = normalize[tag]
        if not low < high:
            raise CannotFold(f"normalize has no range from {low} to {high} ('{escape(tag)}').")


def fold_tasks(
    scores: Mapping[str, Floats],
    directions: Sequence[Direction],
    normalize: Normalize,
    level: float,
    resamples: int,
    random: np.random.Generator,
) -> Tasks:
    """What each group reaches over the tasks in which every group has scores.

    `scores` has for each group a row a run and a column a task, NaN where there
    is none; `directions` are those of the tasks. Scores may be normalised:
    `(score - low) / (high - low)`, for a lower-is-better task less than one, so
    that more is better everywhere. The intervals are percentiles of a bootstrap,
    as `resample_iqm` says.
    """
    ends, warnings = _choose(scores, directions, normalize)
    kept = list(ends)
    if not kept:
        return Tasks([], [], warnings)
    scores = {name: rows[:, kept] for name, rows in scores.items()}
    directions = [directions[number] for number in kept]
    ways = {direction.better for direction in directions}
    has_iqm = normalize is not None or len(ways) == 1
    if not has_iqm:
        warnings.append(
            "Higher is not better for all tags, or not known to be: they have no common IQM"
            " unless normalised (normalize='range', --normalize range)."
        )
    elif normalize is None:
        sizes = {one.tag: max(map(abs, ends[n])) for n, one in zip(kept, directions, strict=True)}
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
    is_lower = normalize is None and ways == {LOWER}
    for a, b in combinations(groups, 2):
        # More is better, of what says who wins.
        won = improve(signs * scores[a.group], signs * scores[b.group], level)
        if (a.iqm > b.iqm if is_lower else a.iqm < b.iqm) if has_iqm else won[0] < 0.5:
            a, b = b, a
            won = 1 - won[0], 1 - won[2], 1 - won[1]
        less = _interval(drawn[a.group] - drawn[b.group], level)
        pairs.append(OverallPair(a.group, b.group, len(kept), a.iqm - b.iqm, *less, *won))
    return Tasks(groups, pairs, warnings)


def resample_iqm(scores: Floats, resamples: int, random: np.random.Generator) -> Floats:
    """The IQM of all scores, each time with other runs drawn; a row a run, a column a task.

    A run is drawn with all that it scored, because its tasks share its luck:
    drawn apart from each other, five tasks that go together would look like five
    times as many runs. Where no run has two tasks, runs are drawn within each task,
    as the rliable paper does. NaN where a task has one run only, which tells
    nothing of its spread.
    """
    found = np.full(resamples, NAN)
    is_known = ~np.isnan(scores)
    if is_known.sum(axis=0).min() < 2:
        return found
    strata = [scores]
    if not _is_shared(scores):
        strata = [scores[known, [task]][:, None] for task, known in enumerate(is_known.T)]
    block = max(1, _BLOCK // scores.size)
    for start in range(0, resamples, block):
        part = found[start : start + block]
        drawn = [
            rows[random.integers(len(rows), size=(len(part), len(rows)))].reshape(len(part), -1)
            for rows in strata
        ]
        part[:] = _iqm(np.concatenate(drawn, axis=1))
    return found


def improve(a: Floats, b: Floats, level: float) -> tuple[float, float, float]:
    """The mean improvement over tasks and its interval; a row a run, a column a task.

    The distance of its ends is that of the tasks: their mean where a run has
    several tasks, so that one may err as the other does, and less by the root
    of their number where runs have but one.
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
    """Whether any run has scores in several tasks."""
    return bool((np.count_nonzero(~np.isnan(scores), axis=1) > 1).any())


def _iqm(scores: Floats) -> Floats:
    """The mean of each row without its lowest and highest quarter; NaN is no score."""
    ordered = np.sort(scores, axis=1)  # NaN comes last
    counts = np.count_nonzero(~np.isnan(ordered), axis=1)[:, None]
    places, cut = np.arange(ordered.shape[1]), counts // 4
    is_inside = (places >= cut) & (places < counts - cut)
    found: Floats = ordered.mean(axis=1, where=is_inside)
    return found


def _interval(resampled: Floats, level: float) -> tuple[float, float]:
    """The middle of what was resampled: 95% of it, for example."""
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _choose(
    scores: Mapping[str, Floats], directions: Sequence[Direction], normalize: Normalize
) -> tuple[dict[int, tuple[float, float]], list[str]]:
    """The ends of the tasks that count, by their number, and what to say of the others."""
    ends: dict[int, tuple[float, float]] = {}
    warnings = []
    for number, direction in enumerate(directions):
        columns = [rows[~np.isnan(rows[:, number]), number] for rows in scores.values()]
        if not all(map(len, columns)):
            reason = "a group has no score there"
        else:
            both = np.concatenate(columns)
            low, high = float(both.min()), float(both.max())
            if isinstance(normalize, Mapping):
                low, high = normalize[direction.tag]
            if normalize is None or low < high:
                ends[number] = low, high
                continue
            reason = "all runs score the same"
        warnings.append(f"'{escape(direction.tag)}' is not counted over all tags: {reason}.")
    return ends, warnings


def _warn_scales(sizes: Mapping[str, float]) -> list[str]:
    """Say where one task would outweigh the others."""
    if len(sizes) < 2:
        return []
    small, large = min(sizes, key=sizes.__getitem__), max(sizes, key=sizes.__getitem__)
    if sizes[large] <= _FAR_APART * sizes[small]:
        return []
    return [
        f"Scores go up to {sizes[small]:.3g} in '{escape(small)}' and to {sizes[large]:.3g} in"
        f" '{escape(large)}': the IQM over all tags is hardly about the smaller ones."
        " normalize='range' (--normalize range) brings all to one scale."
    ]
