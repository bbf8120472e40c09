"""What a fold gives: for each group of runs, and each tag, a curve of every statistic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from runfold._humanize import did_you_mean, escape, human_count
from runfold._reduce.axes import name_axis, name_places
from runfold.errors import UnknownStatistic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One tag folded over the runs of one group; `curve["mean"]` is a statistic's values.

    Attributes:
        tag: the name.
        runs: the names of the runs that have the tag.
        x: where the statistics are, increasing: int64 for steps, otherwise float64.
        wall_times: float64, the mean over the runs that have a value there.
        counts: int64, how many runs entered at each x.
        statistics: float64 values by name, each as long as `x`.
    """

    tag: str
    runs: tuple[str, ...]
    x: NDArray[np.int64] | NDArray[np.float64]
    wall_times: NDArray[np.float64]
    counts: NDArray[np.int64]
    statistics: dict[str, NDArray[np.float64]]

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """The values of a statistic. Raises UnknownStatistic with the near ones."""
        if name not in self.statistics:
            known = list(self.statistics)
            hint = did_you_mean(name, known) or f"There are {', '.join(known)}."
            raise UnknownStatistic(f"No statistic '{escape(str(name))}' was asked for. {hint}")
        return self.statistics[name]

    def __len__(self) -> int:
        return len(self.x)

    def __repr__(self) -> str:
        return (
            f"Curve('{escape(self.tag)}', {human_count(len(self.runs), 'run')},"
            f" {human_count(len(self), 'point')}: {', '.join(self.statistics)})"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Runs that were folded together.

    Attributes:
        name: after the values of its key, `lr=0.1`; empty where all runs are one group.
        key: what its runs have in common, by name, as it was asked for.
        runs: their names.
        hparams: those that all its runs share.
        curves: by tag.
    """

    name: str
    key: dict[str, Any]
    runs: tuple[str, ...]
    hparams: dict[str, bool | float | str] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """The curves of every group, and how they were made.

    Attributes:
        groups: by name, in the natural order of their names.
        statistics: the names that every curve has; `ci95` is `ci95-low` and `ci95-high`.
        x: "step", "wall_time", "relative" (seconds since the run's first event), or a tag.
        align: how runs with different x were brought together.
        nan: "skip" or "propagate".
        left_out: everything that did not enter, in words.
        remarks: what to beware of in the numbers, in sentences.
    """

    groups: dict[str, Group]
    statistics: tuple[str, ...]
    x: str = "step"
    align: str = "strict"
    nan: str = "skip"
    left_out: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def tags(self) -> list[str]:
        """The tags of any group, in the order in which they first appear."""
        return list(dict.fromkeys(tag for group in self.groups.values() for tag in group.curves))

    @property
    def runs(self) -> list[str]:
        """The runs that entered."""
        return [run for group in self.groups.values() for run in group.runs]

    def describe(self) -> str:
        """One line: what was folded, and how."""
        runs = human_count(len(self.runs), "run")
        groups = f" in {human_count(len(self.groups), 'group')}" if len(self.groups) > 1 else ""
        tags = human_count(len(self.tags), "tag")
        same = f"same {name_places(self.x)} in all"
        manner = f"aligned by {self.align}" if self.align != "strict" else same
        nan = {"skip": "NaN skipped", "propagate": "NaN propagated"}[self.nan]
        statistics = ", ".join(self.statistics)
        return f"{runs}{groups}, {tags}: {statistics} by {name_axis(self.x)} ({manner}, {nan})"
