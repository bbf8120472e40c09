"""Hand-made folded runs, for tests of plots."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from runfold._reduce.folded import Curve, Folded, Group

Values = Mapping[str, Sequence[float]]


def curve(tag: str, values: Values, x: Sequence[float] | None = None, runs: int = 3) -> Curve:
    """Return the statistics of a tag at steps 0, 10, 20, ... or at `x`."""
    columns = {name: np.array(column, np.float64) for name, column in values.items()}
    size = len(next(iter(columns.values())))
    positions = 10 * np.arange(size) if x is None else np.array(x)
    names = tuple(f"seed-{number}" for number in range(runs))
    return Curve(tag, names, positions, 1.7e9 + positions, np.full(size, runs), columns)


def fold(*curves: tuple[str, Curve], x: str = "step") -> Folded:
    """Return groups by name, each with the curves given under that name."""
    groups: dict[str, Group] = {}
    for name, named_curve in curves:
        group = groups.setdefault(name, Group(name, {}, named_curve.runs))
        group.curves[named_curve.tag] = named_curve
    return Folded(groups, tuple(curves[0][1].statistics), x)


def seeds(*groups: str, tags: Sequence[str] = ("loss",), size: int = 20, runs: int = 3) -> Folded:
    """Return falling curves with mean and std, lower from group to group."""
    fall = np.exp(-np.linspace(0, 3, size))
    return fold(
        *(
            (name, curve(tag, {"mean": fall / (number + 1), "std": fall / 10}, runs=runs))
            for number, name in enumerate(groups or [""])
            for tag in tags
        )
    )


def ended_early(counts: Sequence[int], group: str = "lr=1", tag: str = "loss") -> Folded:
    """Return one group whose number of runs changes along the steps 0, 10, 20, ..."""
    size = len(counts)
    falling = curve(tag, {"mean": np.linspace(2, 1, size), "std": np.full(size, 0.1)})
    return fold((group, replace(falling, counts=np.array(counts))))
