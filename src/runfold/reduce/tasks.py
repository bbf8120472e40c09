"""Many tags as tasks of one benchmark: what each group reaches over all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Literal

import numpy as np

from runfold.errors import CannotFold
from runfold.reduce.direction import LOWER
from runfold.reduce.pairs import NAN, improvement, interval, resample_improvement
from runfold.text import did_you_mean, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from runfold.reduce.direction import Direction

    Floats = NDArray[np.float64]
    Samples = dict[str, Floats]  # the finite scores of each group, of one task

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
    samples: Mapping[str, Samples],
    directions: Mapping[str, Direction],
    normalize: Normalize,
    level: float,
    resamples: int,
    random: np.random.Generator,
) -> Tasks:
    """What each group reaches over the tasks, by tag, in which every group has scores.

    Scores may be normalised: `(score - low) / (high - low)`, for a lower-is-better
    task less than one, so that more is better everywhere. The intervals are
    percentiles of a bootstrap that draws runs anew within each task.
    """
    kept, ranges, warnings = _choose(samples, normalize)
    if not kept:
        return Tasks([], [], warnings)
    ways = {directions[tag].better for tag in kept}
    has_iqm = normalize is not None or len(ways) == 1
    if not has_iqm:
        warnings.append(
            "Higher is not better for all tags, or not known to be: they have no common IQM"
            " unless normalised (normalize='range', --normalize range)."
        )
    elif normalize is None:
        warnings += _warn_scales(ranges)
    scaled = [_scale(kept[tag], ranges[tag], directions[tag], normalize) for tag in kept]
    groups, drawn = [], {}
    for name in scaled[0]:
        scores = [sample[name] for sample in scaled]
        iqm, drawn[name] = NAN, np.full(resamples, NAN)
        if has_iqm:
            iqm, drawn[name] = _iqm(scores), resample_iqm(scores, resamples, random)
        n = sum(map(len, scores))
        groups.append(Overall(name, len(kept), n, iqm, *interval(drawn[name], level)))
    pairs = []
    is_lower = normalize is None and ways == {LOWER}
    for a, b in combinations(groups, 2):
        if (a.iqm > b.iqm) if is_lower else (a.iqm < b.iqm):
            a, b = b, a
        # More is better, of what says who wins.
        both = [
            (directions[tag].sign * sample[a.group], directions[tag].sign * sample[b.group])
            for tag, sample in kept.items()
        ]
        less = interval(drawn[a.group] - drawn[b.group], level)
        chance = float(np.mean([improvement(*one) for one in both]))
        chances = interval(resample_improvement(both, resamples, random), level)
        names = a.group, b.group, len(kept)
        pairs.append(OverallPair(*names, a.iqm - b.iqm, *less, chance, *chances))
    return Tasks(groups, pairs, warnings)


def resample_iqm(tasks: Sequence[Floats], resamples: int, random: np.random.Generator) -> Floats:
    """The IQM over all tasks, each time with other runs drawn within each task.

    NaN where a task has one run only, which tells nothing of its spread.
    """
    from scipy.stats import trim_mean

    found = np.full(resamples, NAN)
    if min(map(len, tasks)) < 2:
        return found
    block = max(1, _BLOCK // sum(map(len, tasks)))
    for start in range(0, resamples, block):
        part = found[start : start + block]
        drawn = [
            scores[random.integers(len(scores), size=(len(part), len(scores)))] for scores in tasks
        ]
        part[:] = trim_mean(np.concatenate(drawn, axis=1), 0.25, axis=1)
    return found


def _iqm(tasks: Sequence[Floats]) -> float:
    from scipy.stats import trim_mean

    return float(trim_mean(np.concatenate(tasks), 0.25))


def _choose(
    samples: Mapping[str, Samples], normalize: Normalize
) -> tuple[dict[str, Samples], dict[str, tuple[float, float]], list[str]]:
    """The tasks that count, their ranges, and what to say of them."""
    kept: dict[str, Samples] = {}
    ranges: dict[str, tuple[float, float]] = {}
    warnings = []
    for tag, sample in samples.items():
        if not all(map(len, sample.values())):
            reason = "a group has no score there"
        else:
            ranges[tag] = low, high = _range(sample, normalize, tag)
            if normalize is None or low < high:
                kept[tag] = sample
                continue
            reason = "all runs score the same"
        warnings.append(f"'{escape(tag)}' is not counted over all tags: {reason}.")
    return kept, ranges, warnings


def _range(sample: Samples, normalize: Normalize, tag: str) -> tuple[float, float]:
    if isinstance(normalize, Mapping):
        return normalize[tag]
    scores = np.concatenate(list(sample.values()))
    return float(scores.min()), float(scores.max())


def _scale(
    sample: Samples, ends: tuple[float, float], direction: Direction, normalize: Normalize
) -> Samples:
    if normalize is None:
        return sample
    low, high = ends if direction.sign > 0 else ends[::-1]
    return {name: (scores - low) / (high - low) for name, scores in sample.items()}


def _warn_scales(ranges: Mapping[str, tuple[float, float]]) -> list[str]:
    """Say where one task would outweigh the others."""
    sizes = {tag: max(abs(low), abs(high)) for tag, (low, high) in ranges.items()}
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
