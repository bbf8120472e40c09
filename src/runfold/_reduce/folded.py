"""The result of a reduction: curves of every statistic, by group of runs and tag."""

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
    """The statistics of one tag over the runs of one group; `curve["mean"]` is an array.

    Attributes:
        tag: the tag.
        runs: the names of the runs that have the tag.
        x: the x values, increasing: int64 for steps, otherwise float64.
        wall_times: float64, the mean wall time over the runs that have a value at x.
        counts: int64, the number of runs that have a value at x.
        statistics: float64 arrays by name, each as long as `x`.
    """

    tag: str
    runs: tuple[str, ...]
    x: NDArray[np.int64] | NDArray[np.float64]
    wall_times: NDArray[np.float64]
    counts: NDArray[np.int64]
    statistics: dict[str, NDArray[np.float64]]

    def __getitem__(self, name: str) -> NDArray[np.float64]:
        """Return the values of a statistic.

        Raises:
            UnknownStatistic: the statistic was not computed; the message lists similar names.
        """
        if name not in self.statistics:
            known = list(self.statistics)
            hint = did_you_mean(name, known) or f"Available: {', '.join(known)}."
            raise UnknownStatistic(f"Statistic '{escape(str(name))}' was not computed. {hint}")
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
    """Runs that were reduced together.

    Attributes:
        name: the key as text, such as `lr=0.1`; empty if all runs form one group.
        key: the values that define the group, by name, in the order of `by`.
        runs: the names of the runs.
        hparams: the hparams that all runs of the group share.
        curves: the curves by tag.
    """

    name: str
    key: dict[str, Any]
    runs: tuple[str, ...]
    hparams: dict[str, bool | float | str] = field(default_factory=dict)
    curves: dict[str, Curve] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Folded:
    """The curves of each group, and how they were computed.

    Attributes:
        groups: the groups by name, in natural order.
        statistics: the names of each curve's statistics; `ci95` is split into `ci95-low`
            and `ci95-high`.
        x: "step", "wall_time", "relative" (seconds since the run's first event), or a tag.
        align: how runs with different x values were aligned.
        nan: "skip" or "propagate".
        left_out: the data that was left out, and why.
        remarks: caveats about the numbers, as sentences.
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
        """The tags of all groups, in order of first appearance."""
        return list(dict.fromkeys(tag for group in self.groups.values() for tag in group.curves))

    @property
    def runs(self) -> list[str]:
        """The names of all runs that were reduced."""
        return [run for group in self.groups.values() for run in group.runs]

    def describe(self) -> str:
        """Return a one-line summary of what was reduced, and how."""
        runs = human_count(len(self.runs), "run")
        groups = f" in {human_count(len(self.groups), 'group')}" if len(self.groups) > 1 else ""
        tags = human_count(len(self.tags), "tag")
        same = f"same {name_places(self.x)} in all"
        alignment = f"aligned by {self.align}" if self.align != "strict" else same
        nan = {"skip": "NaN skipped", "propagate": "NaN propagated"}[self.nan]
        statistics = ", ".join(self.statistics)
        return f"{runs}{groups}, {tags}: {statistics} by {name_axis(self.x)} ({alignment}, {nan})"
