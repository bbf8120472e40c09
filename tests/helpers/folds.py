"""Folds for tests, made from given curves without reading any runs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from runfold._reduce.folded import Curve, Folded, Group

START = 1_700_000_000.0
RUNS = ("seed-1", "seed-2", "seed-3")


def curve(tag: str, x: Any, wall_times: Any = None, **statistics: Any) -> Curve:
    """Return a curve; without wall times, its points are one second apart."""
    x = np.asarray(x)
    if wall_times is None:
        wall_times = START + np.arange(len(x))
    numbers = {name: np.asarray(column, np.float64) for name, column in statistics.items()}
    return Curve(tag, RUNS, x, np.asarray(wall_times, float), np.full(len(x), 3), numbers)


def group(
    *curves: Curve,
    name: str = "",
    key: Mapping[str, Any] | None = None,
    hparams: Mapping[str, Any] | None = None,
) -> Group:
    """Return a group of runs; without a name, it is the group of all runs."""
    by_tag = {curve.tag: curve for curve in curves}
    return Group(name, dict(key or {}), RUNS, dict(hparams or {}), by_tag)


def fold(*groups: Group, x: str = "step") -> Folded:
    """Return a fold of groups whose curves all have the same statistics."""
    statistics = next(curve.statistics for group in groups for curve in group.curves.values())
    return Folded({each.name: each for each in groups}, tuple(statistics), x)


def noisy(tag: str, count: int = 50, seed: int = 0) -> Curve:
    """Return a curve with a mean and std that have more digits than float32."""
    random = np.random.default_rng(seed)
    mean, std = np.exp(-np.arange(count) / 20), random.random(count) / 3
    return curve(tag, 10 * np.arange(count), mean=mean + random.random(count) / 7, std=std)


def learning_rates(*tags: str, count: int = 50) -> Folded:
    """Return two groups of an ensemble, folded by learning rate into mean and std."""
    shared = {"hidden": 48.0, "optimizer": "adam", "nesterov": True}
    return fold(
        *(
            group(
                *(noisy(tag, count, seed) for seed, tag in enumerate(tags)),
                name=f"lr={rate}",
                key={"lr": rate},
                hparams=shared,
            )
            for rate in (0.01, 0.1)
        )
    )
