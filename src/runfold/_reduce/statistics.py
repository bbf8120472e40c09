"""The statistics that Runfold defines itself. Each is declared once; everything else reads it here.

| name | what it is |
|---|---|
| `mean`, `median`, `sum`, `min`, `max` | as everywhere |
| `std`, `var`, `sem` | of a sample (ddof 1), as in pandas; NaN for one value |
| `count` | how many runs entered; 0 where none did, where all others are NaN, `sum` too |
| `iqm` | interquartile mean: of what is left without a quarter of the runs at each end |

`operations` adds quantiles such as `q05`, intervals such as `ci95` and NumPy's functions.

To add a statistic, declare it in STATISTICS: `-r`, its help, near matches, bands and
intervals find it there. Nothing here imports NumPy, so that a command can list the
names at once.
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
    """What is known of a statistic.

    Attributes:
        name: what users call it.
        compute: returns its value at each step of a sample.
        about: what the help says about it in parentheses, if anything.
        label: what a chart calls it, if not by its name.
        cut: for the centre of a band: how many of n sorted values to leave out at each
            end before the mean is taken. It also defines the centre's bootstrap interval.
        is_spread: whether a band is a centre less and plus it.
        centre: the only centre that it is a spread of; empty for any.
        has_blanks: whether it is NaN at steps where no value enters.
    """

    name: str
    compute: Callable[[Sample], NDArray[np.float64]]
    about: str = ""
    label: str = ""
    cut: Callable[[int], int] | None = None
    is_spread: bool = False
    centre: str = ""
    has_blanks: bool = True


def _quarter(n: int) -> int:
    return n // 4


STATISTICS = {
    one.name: one
    for one in (
        NamedStatistic(name="mean", compute=lambda sample: sample.means, cut=lambda n: 0),
        NamedStatistic(
            name="std",
            compute=lambda sample: sample.deviations,
            about="of a sample: divided by n - 1",
            is_spread=True,
        ),
        NamedStatistic(
            name="var", compute=lambda sample: sample.variances, about="of a sample, as std"
        ),
        NamedStatistic(
            name="sem",
            compute=lambda sample: sample.standard_errors,
            about="standard error of the mean",
            label="std error",
            is_spread=True,
            centre="mean",
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

# What can be the line of a band, and how much of n sorted values each leaves out per end.
CUTS = {name: one.cut for name, one in STATISTICS.items() if one.cut is not None}
CENTRES = tuple(CUTS)
# What a band may add to its line and take off it.
SPREADS = {name: one.centre for name, one in STATISTICS.items() if one.is_spread}
# The bands that a chart offers, with the statistics of their edges. The edges of an
# interval depend on the centre: see `band_edges`.
BANDS: dict[str, tuple[str, str]] = {
    **{name: (name, name) for name in SPREADS},
    "minmax": ("min", "max"),
    "q05-q95": ("q05", "q95"),
    "q25-q75": ("q25", "q75"),
    "ci95": ("ci95-low", "ci95-high"),
}
# What a chart calls its lines and bands.
CENTRE_LABELS = {name: STATISTICS[name].label or name for name in CENTRES}
BAND_LABELS = {
    **{name: f"± {STATISTICS[name].label or name}" for name in SPREADS},
    "minmax": "min – max",
    "q05-q95": "5 – 95 %",
    "q25-q75": "25 – 75 %",
    "ci95": "95 % bootstrap",
}


def name_interval(level: str, centre: str) -> str:
    """Return the bootstrap interval of a centre, such as `ci95-iqm` for "95" and "iqm"."""
    return f"ci{level}" if centre == "mean" else f"ci{level}-{centre}"


def band_edges(band: str, centre: str) -> tuple[str, str]:
    """Return the columns of a fold that are the edges of one of the BANDS around a centre."""
    if not band.startswith("ci"):
        return BANDS[band]
    interval = name_interval(band.removeprefix("ci"), centre)
    return f"{interval}-low", f"{interval}-high"


def band_operations(band: str, centre: str) -> list[str]:
    """Return the operations to fold for one of the BANDS around a centre."""
    edges = (name.removesuffix("-low").removesuffix("-high") for name in band_edges(band, centre))
    return list(dict.fromkeys((centre, *edges)))


def list_centres_for(band: str) -> tuple[str, ...]:
    """Return the centres that a band can be drawn around."""
    return (SPREADS[band],) if SPREADS.get(band) else CENTRES


def describe_statistics() -> str:
    """Return what `-r` takes, for a help text."""
    known = [f"{name} ({one.about})" if one.about else name for name, one in STATISTICS.items()]
    others = [name_interval("95", name) for name in CENTRES if name != "mean"]
    return (
        f"{', '.join(known)}, quantiles such as q05 or q97.5, ci95 (bootstrap interval of the"
        f" mean; {' and '.join(others)} of the others), ci95-t (Student's t), or any reduction of"
        " NumPy such as ptp"
    )
