"""Declarations of all statistics that Runfold implements itself.

| name | meaning |
|---|---|
| `mean`, `median`, `sum`, `min`, `max` | as usual |
| `std`, `var`, `sem` | sample statistics (ddof 1), as in pandas; NaN for one value |
| `count` | number of runs; if it is 0, all other statistics are NaN, including `sum` |
| `iqm` | interquartile mean: without the lowest and highest quarter of the runs |

`operations` adds quantiles such as `q05`, intervals such as `ci95` and NumPy's functions.

To add a statistic, declare it in STATISTICS. `-r`, its help, hints for misspelled names,
bands and intervals use this declaration. This module does not import NumPy, so that
commands can list the names quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from runfold._reduce.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStatistic:
    """The declaration of a statistic.

    Attributes:
        name: the name that users type.
        compute: returns the value at each step of a sample.
        about: description in the help, in parentheses; empty for none.
        label: label in charts, if it differs from the name.
        cut: for the center of a band, how many of n sorted values to leave out at each
            end before taking the mean. It also defines the center's bootstrap interval.
        is_spread: whether a band can be a center minus and plus this statistic.
        center: the only center that this spread fits; empty for any center.
        has_blanks: whether the statistic is NaN at steps without values.

    A step's result is the same, to the last bit, whichever other steps the sample has, because
    long curves are computed in parts.
    """

    name: str
    compute: Callable[[Sample], NDArray[np.float64]]
    about: str = ""
    label: str = ""
    cut: Callable[[int], int] | None = None
    is_spread: bool = False
    center: str = ""
    has_blanks: bool = True


def _quarter(n: int) -> int:
    return n // 4


STATISTICS = {
    statistic.name: statistic
    for statistic in (
        NamedStatistic(name="mean", compute=lambda sample: sample.means, cut=lambda n: 0),
        NamedStatistic(
            name="std",
            compute=lambda sample: sample.deviations,
            about="sample standard deviation, with divisor n - 1",
            is_spread=True,
        ),
        NamedStatistic(
            name="var", compute=lambda sample: sample.variances, about="sample variance"
        ),
        NamedStatistic(
            name="sem",
            compute=lambda sample: sample.standard_errors,
            about="standard error of the mean",
            label="std error",
            is_spread=True,
            center="mean",
        ),
        NamedStatistic(name="min", compute=lambda sample: sample.lowest),
        NamedStatistic(name="max", compute=lambda sample: sample.highest),
        NamedStatistic(
            name="median",
            compute=lambda sample: sample.quantile(50),
            cut=lambda n: (n - 1) // 2,
        ),
        NamedStatistic(name="sum", compute=lambda sample: sample.sums),
        NamedStatistic(
            name="count", compute=lambda sample: sample.counts.astype(float), has_blanks=False
        ),
        NamedStatistic(
            name="iqm",
            compute=lambda sample: sample.trimmed_mean(_quarter),
            about="interquartile mean",
            label="IQM",
            cut=_quarter,
        ),
    )
}

# The statistics that can be the line of a band, with their `cut`.
CUTS = {name: statistic.cut for name, statistic in STATISTICS.items() if statistic.cut is not None}
CENTERS = tuple(CUTS)
# The statistics that a band can add to its line and subtract from it.
SPREADS = {name: statistic.center for name, statistic in STATISTICS.items() if statistic.is_spread}
# The bands in a chart's menu, with the statistics of their edges. The edges of an
# interval depend on the center: see `band_edges`.
BANDS: dict[str, tuple[str, str]] = {
    **{name: (name, name) for name in SPREADS},
    "minmax": ("min", "max"),
    "q05-q95": ("q05", "q95"),
    "q25-q75": ("q25", "q75"),
    "ci95": ("ci95-low", "ci95-high"),
}
# The labels of lines and bands in charts.
CENTER_LABELS = {name: STATISTICS[name].label or name for name in CENTERS}
BAND_LABELS = {
    **{name: f"± {STATISTICS[name].label or name}" for name in SPREADS},
    "minmax": "min – max",
    "q05-q95": "5 – 95 %",
    "q25-q75": "25 – 75 %",
    "ci95": "95 % bootstrap",
}


def name_interval(level: str, center: str) -> str:
    """Return the name of a center's bootstrap interval, such as `ci95-iqm` for "95" and "iqm"."""
    return f"ci{level}" if center == "mean" else f"ci{level}-{center}"


def band_edges(band: str, center: str) -> tuple[str, str]:
    """Return the columns that are the edges of one of the BANDS around a center."""
    if not band.startswith("ci"):
        return BANDS[band]
    interval = name_interval(band.removeprefix("ci"), center)
    return f"{interval}-low", f"{interval}-high"


def band_operations(band: str, center: str) -> list[str]:
    """Return the operations needed for one of the BANDS around a center."""
    edges = (name.removesuffix("-low").removesuffix("-high") for name in band_edges(band, center))
    return list(dict.fromkeys((center, *edges)))


def list_centers_for(band: str) -> tuple[str, ...]:
    """Return the centers that a band can be drawn around."""
    return (SPREADS[band],) if SPREADS.get(band) else CENTERS


def describe_statistics() -> str:
    """Return a list of the values that `-r` accepts, for its help."""
    known = [
        f"{name} ({statistic.about})" if statistic.about else name
        for name, statistic in STATISTICS.items()
    ]
    others = [name_interval("95", name) for name in CENTERS if name != "mean"]
    return (
        f"{', '.join(known)}, quantiles such as q05 or q97.5, ci95 (bootstrap interval of the"
        f" mean), {' and '.join(others)} (of the named statistic), ci95-t (Student's t), or any"
        " NumPy reduction such as ptp"
    )
