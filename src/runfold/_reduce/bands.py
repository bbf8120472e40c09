"""Which statistics make a line with a band around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from runfold._reduce.operations import INTERVAL, QUANTILE
from runfold._reduce.statistics import CENTRES, SPREADS, name_interval

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from runfold._reduce.folded import Curve


@dataclass(frozen=True, slots=True)
class Band:
    """A line and what lies around it: `mean` with `std`, `median` with `q25` and `q75`.

    Attributes:
        centre: the statistic of the line.
        lower, upper: the statistics of the edges; or twice the spread to be
            taken off and added.
    """

    centre: str
    lower: str
    upper: str

    @property
    def is_spread(self) -> bool:
        """Whether the edges are the centre less and plus a spread."""
        return self.lower == self.upper

    @property
    def label(self) -> str:
        """As one would write it below a figure: `mean ± std`, `median, q25 to q75`."""
        if self.is_spread:
            return f"{self.centre} ± {self.lower}"
        if self.lower.endswith("-low"):
            return f"{self.centre}, {self.lower.removesuffix('-low')}"
        return f"{self.centre}, {self.lower} to {self.upper}"

    def of(
        self, curve: Curve
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """The line and its lower and upper edge."""
        centre, lower, upper = (curve[name] for name in (self.centre, self.lower, self.upper))
        if not self.is_spread:
            return centre, lower, upper
        with np.errstate(invalid="ignore", over="ignore"):  # the mean of a run may be infinite
            return centre, centre - lower, centre + upper


def choose_band(statistics: Sequence[str]) -> Band | None:
    """The first band of `list_bands`, or None."""
    return next(list_bands(statistics), None)


def list_bands(statistics: Sequence[str]) -> Iterator[Band]:
    """Yield every band that statistics make: by centre, then by edge, in their order.

    An interval is drawn around its own centre only: `ci95-iqm` around `iqm`, `ci95`
    and `sem` around `mean`.
    """
    for centre in find_centres(statistics):
        yield from _bands(centre, statistics)


def find_centres(statistics: Sequence[str]) -> list[str]:
    """The statistics that can be the line of a band."""
    return [name for name in statistics if name in CENTRES]


def find_stray_edges(statistics: Sequence[str]) -> list[str]:
    """The edges of intervals that belong to none of the centres; empty without a centre."""
    centres = find_centres(statistics)
    return [name for name in statistics if centres and _owner(name) not in (None, *centres)]


def explain_stray_edges(statistics: Sequence[str]) -> str:
    """Why statistics make no band, and what does, in a sentence; empty where they do."""
    edges = find_stray_edges(statistics)
    if not edges or choose_band(statistics):
        return ""
    name, centre = edges[0].removesuffix("-low"), find_centres(statistics)[0]
    level = found[1] if (found := INTERVAL.fullmatch(name)) else "95"
    own = name_interval(level, centre)
    return (
        f"{name} belongs to the {_owner(edges[0])}, so it makes no band around the {centre}."
        f" Fold '{own}' for one."
    )


def match_intervals(operations: str) -> str:
    """Operations in which each plain interval is that of the first centre.

    "iqm,ci95"  ->  "iqm,ci95-iqm"
    """
    names = [name.strip() for name in operations.split(",")]
    centre = next(iter(find_centres(names)), "mean")
    if centre == "mean":
        return operations
    intervals = map(INTERVAL.fullmatch, names)
    return ",".join(
        name_interval(found[1], centre) if found and not found[2] else name
        for name, found in zip(names, intervals, strict=True)
    )


def _owner(name: str) -> str | None:
    """The centre that a statistic is an uncertainty of; None for any other statistic."""
    if centre := SPREADS.get(name):
        return centre
    found = INTERVAL.fullmatch(name.removesuffix("-low").removesuffix("-high"))
    if not found or not name.endswith(("-low", "-high")):
        return None
    return found[2] if found[2] in CENTRES else "mean"


def _bands(centre: str, statistics: Sequence[str]) -> Iterator[Band]:
    quantiles = {
        float(found[1]): name for name in statistics if (found := QUANTILE.fullmatch(name))
    }
    for name in statistics:
        if _owner(name) not in (None, centre):
            continue
        if name in SPREADS:
            yield Band(centre, name, name)
        elif name.endswith("-low") and f"{name[:-4]}-high" in statistics:
            yield Band(centre, name, f"{name[:-4]}-high")
        elif name in quantiles.values():
            yield from _between_quantiles(centre, name, quantiles)
        elif name in ("min", "max") and {"min", "max"} <= set(statistics):
            yield Band(centre, "min", "max")


def _between_quantiles(centre: str, name: str, quantiles: dict[float, str]) -> Iterator[Band]:
    """A quantile and its mirror image, q25 and q75, or else the farthest on the other side."""
    percent = next(one for one, known in quantiles.items() if known == name)
    farthest = max(quantiles) if percent < 50 else min(quantiles)
    low, high = sorted((percent, 100 - percent if 100 - percent in quantiles else farthest))
    if low < 50 < high:
        yield Band(centre, quantiles[low], quantiles[high])
